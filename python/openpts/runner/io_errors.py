"""I/Os that failed without ending the run: their ledger entry, and what can be said of them in a line."""

from openpts.vocabulary.deviation import Deviation
from openpts.vocabulary.part import StepPlace
from openpts.vocabulary.sample import IoErrors, IoFailure, Sample, StepState


def error_deviations(place: StepPlace, sample: Sample) -> tuple[Deviation, ...]:
    """The ledger entry of a step over whose errors the run went on; none for a clean or a failed one."""
    if not sample.errors or sample.state is StepState.FAILED:
        return ()
    return (
        Deviation(
            rule_id="PTS-GEN-01",
            clause="1.1",
            required="every I/O of a step answered without an error",
            used=f"{place} ({sample.step}): {'; '.join(errors_text(errors) for errors in sample.errors)}",
            effect="what failed counts in no figure, but took the drive's time",
        ),
    )


def failure_text(sample: Sample) -> str:
    """Why a step is not complete."""
    failure = sample.failure
    if failure is None:
        return f"the engine stopped in {sample.step}"
    return f"{_io_text(failure)} failed in {sample.step}: {failure.reason}"


def _io_text(failure: IoFailure) -> str:
    if not failure.length_bytes:
        return failure.operation
    return f"{failure.operation} of {failure.length_bytes} B at byte {failure.offset_bytes}"


def errors_text(errors: IoErrors) -> str:
    """How many failed alike, why, and where the first of them were."""
    text = f"{errors.count:,} x {errors.operation} failed: {errors.reason}"
    offsets = ", ".join(str(offset) for offset in errors.first_offsets_bytes)
    return f"{text}, first at byte {offsets}" if offsets else text
