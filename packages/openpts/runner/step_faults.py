"""What can go wrong in a step: an I/O hangs or fails, openpts does not run, or the step lasts too long."""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from openpts.analysis.host_limits import Lateness, busy_pct, late_streams, processors_full, threads_busy_pct
from openpts.engine.contract import OutstandingIo
from openpts.units import NS_PER_S, NS_PER_US, format_block_size, format_duration
from openpts.vocabulary.replay import ReplayMode
from openpts.vocabulary.sample import IoErrors, IoFailure, Sample, StepPlace, StepState, StreamSample
from openpts.vocabulary.stimulus import ended_late, planned_length_ns
from openpts.vocabulary.verdict import Deviation, StepDeviation

HANG_NS: Final = 5 * NS_PER_S
_CAPPED_SHARE: Final = 0.01


class HangWatch(Struct):
    """Sees the oldest outstanding I/O again and again, and says when it is worth a word.

    That is when it gets as old as ``HANG_NS``, and then at each doubling of that age. It is one hang as long
    as anything is that old: a drive that answers all of a deep queue late is reported once, not for each I/O.
    """

    _due_ns: int = HANG_NS

    def news(self, oldest: OutstandingIo | None) -> OutstandingIo | None:
        """The hung I/O if its age is due to be reported; None otherwise."""
        if oldest is None or oldest.age_ns < HANG_NS:
            self._due_ns = HANG_NS
            return None
        if oldest.age_ns < self._due_ns:
            return None
        while self._due_ns <= oldest.age_ns:
            self._due_ns *= 2
        return oldest


def error_deviations(place: StepPlace, sample: Sample) -> tuple[StepDeviation, ...]:
    """The ledger entry of a step over whose errors the run continued; none for a clean or a failed one."""
    if not sample.errors or sample.state is StepState.FAILED:
        return ()
    return (
        step_deviation(
            place,
            required="every I/O of a step answered without an error",
            used=f"{place} ({sample.step}): {'; '.join(errors_text(errors) for errors in sample.errors)}",
            effect="what failed counts in no figure, but took the drive's time",
            extent=sum(errors.count for errors in sample.errors),
        ),
    )


def failure_text(sample: Sample, sector_bytes: int) -> str:
    """Why a step is not complete."""
    failure = sample.failure
    if failure is None:
        return f"the engine stopped in {sample.step}"
    return f"{_io_text(failure, sector_bytes)} failed in {sample.step}: {failure.reason}"


def failed_io_text(failure: IoFailure) -> str:
    """Which I/O failed, and why."""
    return f"{failure.operation} at byte {failure.offset_bytes}: {failure.reason}"


def _io_text(failure: IoFailure, sector_bytes: int) -> str:
    if not failure.length_bytes:
        return failure.operation
    return (
        f"{failure.operation} of {failure.length_bytes} B at byte {failure.offset_bytes} "
        f"(LBA {failure.offset_bytes // sector_bytes})"
    )


def errors_text(errors: IoErrors) -> str:
    """How many failed alike, why, and where the first of them were."""
    text = f"{errors.count:,} x {errors.operation} failed: {errors.reason}"
    offsets = ", ".join(str(offset) for offset in errors.first_offsets_bytes)
    return f"{text}, first at byte {offsets}" if offsets else text


def hang_text(io: OutstandingIo) -> str:
    """What has not been answered, and for how long."""
    place = f" of {format_block_size(io.length_bytes)} at byte {io.offset_bytes}" if io.length_bytes else ""
    return f"{io.operation}{place} has not been answered for {io.age_ns // NS_PER_S:,} s"


def standstill_text(sample: Sample) -> str:
    """Sentence on how long openpts did not run during a step."""
    return f"openpts itself did not run for {format_duration(sample.standstill_ns)}"


def host_texts(sample: Sample) -> tuple[str, ...]:
    """How the host limited a step: a text for each stream that was late, and one for full processors."""
    several = len(sample.step.streams) > 1
    late = []
    for number, found in late_streams(sample):
        name = sample.step.streams[number].name or f"stream {number + 1}"
        late.append(f"{name}: {late_text(found)}" if several else late_text(found))
    if not processors_full(sample):
        return tuple(late)
    shares = ((busy_pct(sample), "the host's processors"), (threads_busy_pct(sample), "the step's threads"))
    busy = ", ".join(f"{whose} {share:.1f} % busy" for share, whose in shares if share is not None)
    return (*late, f"no processor time was left: {busy}")


class SaturatedStream(Struct, frozen=True):
    """A stream whose queue was full for so much of its load that this was no open loop, in words."""

    share: float
    text: str
    is_replay: bool


def capped_streams(sample: Sample) -> Iterator[SaturatedStream]:
    """Streams of a step with planned I/Os that were never issued, or that waited when they were due."""
    if sample.step.is_idle:
        return
    parts: Sequence[Sample | StreamSample] = sample.streams or (sample,)
    for number, (stream, part) in enumerate(zip(sample.step.streams, parts, strict=True)):
        share, how = 0.0, ""
        if part.unissued:
            share, how = part.unissued / (part.ios + part.unissued), "of the planned I/Os were not issued"
        for played in sample.played:
            if played.stream == number and stream.replay and stream.replay.mode is not ReplayMode.AFAP:
                share = played.waited_ns.get("depth", 0) / (played.last_answer_ns or 1)
                how = "of the time I/Os that were due were not issued"
        if share > _CAPPED_SHARE:
            name = f"{stream.name}: " if sample.streams and stream.name else ""
            text = f"{name}{100 * share:.1f} % {how}, as QD was full (TC x QD = {stream.stimulus.toio:,})"
            yield SaturatedStream(share, f"{text}: this was no open loop", stream.replay is not None)


def late_text(late: Lateness) -> str:
    """The share of late I/Os, by which bound, and how late."""
    p99_ns = late.slips.percentile_ns(99) or 0
    return (
        f"{100 * late.late_share:.3g} % of the planned I/Os submitted more than "
        f"{late.bound_ns / NS_PER_US:,.0f} us late, 1 % by {p99_ns / NS_PER_US:,.0f} us or more"
    )


def what_to_do(*, repeated: bool) -> str:
    """What becomes of a step that was disturbed, or what is to be done about it."""
    if repeated:
        return "the steps are repeated when all of them have ended"
    return (
        "it is not used for steady state, and can't be repeated within this test: keep the machine awake and "
        "openpts running, and run the test again"
    )


def disturbance_deviations(place: StepPlace, sample: Sample, *, repeated: bool) -> tuple[StepDeviation, ...]:
    """The ledger entry of a step that is disturbed; none for one that is not."""
    if sample.standstills:
        effect = "the device was idle meanwhile" if repeated else "the time is in its figures"
        effect = f"{effect}; {what_to_do(repeated=repeated)}"
        return (_disturbed(place, sample, standstill_text(sample), effect, sample.standstill_ns),)
    if late := late_streams(sample):
        effect = "what the host was late by is in the latencies: they are not the drive's alone"
        largest = max(found.late_share for _, found in late)
        return (_disturbed(place, sample, "; ".join(host_texts(sample)), effect, largest),)
    planned_ns = planned_length_ns(sample.step.stop)
    if sample.state is not StepState.COMPLETE or sample.step.is_idle or planned_ns is None:
        return ()
    if not ended_late(sample.elapsed_ns, planned_ns):
        return ()
    lengths = f"{format_duration(sample.elapsed_ns)} instead of {format_duration(planned_ns)}"
    effect = "what was outstanding when its time was over counts with the time that it took"
    return (_disturbed(place, sample, f"lasted {lengths}", effect, sample.elapsed_ns / planned_ns),)


def _disturbed(place: StepPlace, sample: Sample, what: str, effect: str, extent: float) -> StepDeviation:
    return step_deviation(
        place,
        required="steps that last as long as they are to, in which nothing but the device takes time",
        used=f"{place} ({sample.step}): {what}",
        effect=effect,
        extent=extent,
    )


def step_deviation(
    place: StepPlace, *, required: str, used: str, effect: str, extent: float
) -> StepDeviation:
    """A step in which something went wrong that no rule but that of disclosure is about."""
    return StepDeviation(place, Deviation("PTS-GEN-01", "1.1", required, used, effect, steps=1), extent)
