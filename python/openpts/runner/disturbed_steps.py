"""Steps whose figures are not the device's alone: openpts itself stood still, or they took too long."""

from openpts.units import format_duration
from openpts.vocabulary.deviation import Deviation
from openpts.vocabulary.part import StepPlace
from openpts.vocabulary.sample import Sample, StepState
from openpts.vocabulary.stop import ended_late, planned_length_ns


def standstill_text(sample: Sample) -> str:
    """That openpts did not run, and for how long."""
    return f"openpts itself did not run for {format_duration(sample.standstill_ns)}"


def what_to_do(*, repeated: bool) -> str:
    """What becomes of a step that was disturbed, or what is to be done about it."""
    if repeated:
        return "the steps are repeated when all of them have ended"
    return (
        "it is not used for steady state, and can't be repeated within this test: keep the machine awake and "
        "openpts running, and run the test again"
    )


def disturbance_deviations(place: StepPlace, sample: Sample, *, repeated: bool) -> tuple[Deviation, ...]:
    """The ledger entry of a step that is disturbed; none for one that is not."""
    if sample.standstills:
        effect = "the device was idle meanwhile" if repeated else "the time is in its figures"
        return (_entry(place, sample, standstill_text(sample), f"{effect}; {what_to_do(repeated=repeated)}"),)
    planned_ns = planned_length_ns(sample.step.stop)
    if sample.state is not StepState.COMPLETE or sample.step.stimulus is None or planned_ns is None:
        return ()
    if not ended_late(sample.elapsed_ns, planned_ns):
        return ()
    lengths = f"{format_duration(sample.elapsed_ns)} instead of {format_duration(planned_ns)}"
    effect = "what was outstanding when its time was over counts with the time that it took"
    return (_entry(place, sample, f"lasted {lengths}", effect),)


def _entry(place: StepPlace, sample: Sample, what: str, effect: str) -> Deviation:
    return Deviation(
        rule_id="PTS-GEN-01",
        clause="1.1",
        required="steps that last as long as they are to, in which nothing but the device takes time",
        used=f"{place} ({sample.step}): {what}",
        effect=effect,
    )
