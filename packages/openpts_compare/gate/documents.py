"""What `openpts gate --json` prints."""

from collections.abc import Sequence
from typing import Self

from msgspec import Struct

from openpts.analysis.ratio import ErrorRule
from openpts.vocabulary.document import Document
from openpts.vocabulary.limit import JudgedLimit, Judgement
from openpts_compare.gate.power import PowerOfLimit
from openpts_compare.limits.judge import GateResult
from openpts_compare.limits.limits_file import Allowed
from openpts_compare.runs.measured_run import MeasuredRun


class ErrorRates(Struct, frozen=True):
    """How often relative limits may be judged wrong, over all looks with up to ``most_runs``."""

    false_alarm_pct: float
    miss_pct: float
    most_runs: int
    relative_limits: int

    @classmethod
    def of(cls, rule: ErrorRule) -> Self:
        """Error rates of a rule in per cent."""
        return cls(100 * rule.false_alarm, 100 * rule.miss, rule.most_runs, rule.rows)


class GateDocument(Document, frozen=True, kw_only=True, tag="openpts.gate/1"):
    """One verdict for all limits, and each with its own; ``runs`` and ``baseline`` are their folders.

    ``allowed`` is what was judged all the same.
    """

    verdict: Judgement
    limits: tuple[JudgedLimit, ...]
    errors: ErrorRates
    runs: tuple[str, ...]
    baseline: tuple[str, ...]
    allowed: tuple[Allowed, ...] = ()
    reports: tuple[str, ...] = ()

    @classmethod
    def by(
        cls,
        result: GateResult,
        runs: Sequence[MeasuredRun],
        baseline: Sequence[MeasuredRun],
        reports: Sequence[str] = (),
    ) -> Self:
        """Document of a gate's result, with the folders of the runs that were judged."""
        return cls(
            verdict=result.verdict,
            limits=result.judged,
            errors=ErrorRates.of(result.rule),
            runs=tuple(run.folder for run in runs),
            baseline=tuple(run.folder for run in baseline),
            allowed=result.allowed,
            reports=tuple(reports),
        )


class PowerDocument(Document, frozen=True, kw_only=True, tag="openpts.gate-power/1"):
    """What `--power-analysis` finds."""

    errors: ErrorRates
    limits: tuple[PowerOfLimit, ...]
