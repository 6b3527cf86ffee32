"""Whether a drive kept the limits of a finished run: what scripts learn from the exit code."""

from collections.abc import Sequence
from pathlib import Path

from openpts.errors import LimitError
from openpts.procedures.kit.procedure import Procedure
from openpts.record.reader import read_run
from openpts.vocabulary.limit import Judgement, LimitVerdict

Limits = Sequence[tuple[str, LimitVerdict]]
"""Verdicts, each with the name of what it was measured in."""


def limits_of(test: Procedure, folder: Path) -> Limits:
    """The verdicts of a run; none of a test without limits."""
    return test.report(read_run(folder)).limits if test.has_limits else ()


def end_with_failures(limits: Limits, folder: Path) -> None:
    """Raise LimitError if a limit was not kept."""
    if failed := sum(verdict.judgement is Judgement.FAIL for _, verdict in limits):
        raise LimitError(f"the drive failed {failed} of {len(limits)} limits; see the report on {folder}")
