"""What the measured figures of a run show to deviate, as its own test finds it."""

from openpts.procedures.registry import procedure_of
from openpts.record.reader import Run
from openpts.vocabulary.verdict import Deviation


def findings(run: Run) -> tuple[Deviation, ...]:
    """Entries for the ledger."""
    return procedure_of(run.manifest.conditions.test).findings(run)
