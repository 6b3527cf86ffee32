"""Refuses a record that no run can have left, though all that it says twice agrees."""

from typing import Final

from openpts.errors import RecordError
from openpts.record.contradictions import is_exact
from openpts.record.impossible import of_step
from openpts.record.order_of_steps import disorder
from openpts.record.reader import Run
from openpts.vocabulary.sample import StepState

_NOT_A_DRIVE: Final = "PTS-GEN-05"


def refuse_impossible(run: Run) -> None:
    """Raises RecordError on the first thing that physics, the stimuli or the disclosures of all tests forbid,
    with the step in which it is.
    """
    exact, target = is_exact(run.manifest), run.manifest.target
    where = f"the record in {run.folder} contradicts itself"
    for step in run.steps if exact else ():
        for found in of_step(step.sample, target):
            raise RecordError(f"{where} in {step.place}: {found}")
    for place, found in disorder(run.steps, exact=exact and target.scale == 1):
        raise RecordError(f"{where} in {place}: {found}")
    if wrong := _undisclosed(run) or (_too_many_errors(run) if exact else None):
        raise RecordError(f"{where}: {wrong}")


def _undisclosed(run: Run) -> str | None:
    """What the ledger of any such run says, whatever its test, and this one does not."""
    manifest = run.manifest
    rules = {entry.rule_id for entry in run.ledger}
    if not run.steps:
        return None
    if manifest.target.simulation is not None and _NOT_A_DRIVE not in rules:
        return f"its drive is a simulated one, and its ledger has no entry on {_NOT_A_DRIVE}"
    if (manifest.shortened or manifest.conditions.time_scale < 1) and not rules:
        return "it was shortened, and its ledger has no entry"
    return None


def _too_many_errors(run: Run) -> str | None:
    """An attempt goes on over as many errors as were allowed: the next one fails its step."""
    manifest = run.manifest
    if manifest.ordered is None:
        return None
    over_reads = manifest.conditions.goes_on_over_read_errors
    counted = sum(
        errors.count
        for step in run.steps
        if step.sample.state is StepState.COMPLETE
        for errors in step.sample.errors
        if not (over_reads and errors.operation == "read")
    )
    # a drive on a scale fails in the place of as many I/Os as one of it stands for
    allowed = manifest.ordered.most_errors * len(manifest.attempts) * manifest.target.scale
    return f"{counted:,} I/Os failed in it, and {allowed:,} were allowed" if counted > allowed else None
