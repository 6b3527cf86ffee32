"""What no drive and no engine can have done, though all sums agree: too much at once, too short, another mix.

All of it is for engines that count exactly. The slack that a figure has is that of its measurement, and is
named where it is given.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from openpts.units import NS_PER_S
from openpts.vocabulary.facts import TargetFacts
from openpts.vocabulary.placement import Zones
from openpts.vocabulary.sample import Sample, StepState, StreamSample
from openpts.vocabulary.stimulus import ClosedLoop, Step, Stimulus, Stream
from openpts.vocabulary.stop import (
    ByteAmount,
    DriveFills,
    Duration,
    FirstOf,
    IoCount,
    StopRule,
    planned_length_ns,
)

# Arrivals of a Poisson process in a step stray that far by chance in fewer than one of 10^15 steps.
_STANDARD_ERRORS: Final = 8
# The three shares of a host's time are rounded one by one.
_CPU_SLACK_PCT: Final = 0.01

Found = Iterator[str]


def _of_stream(part: Sample | StreamSample, stream: Stream, scale: int, ramp_ns: int) -> Found:
    """What the demand, the pacing and the mix of a stream forbid its result."""
    if stream.replay is not None:
        return
    if (rate := stream.stimulus.planned_ios_per_s) is None:
        yield from _of_loop(part, stream.stimulus, scale, ramp_ns)
    else:
        yield from _of_plan(part, stream, rate, scale, ramp_ns)
    yield from _of_mix(part, stream.stimulus, scale)


def _of_loop(part: Sample | StreamSample, stimulus: Stimulus, scale: int, ramp_ns: int) -> Found:
    """Little's law: response times together are the time that I/Os were outstanding, TC x QD at the most.

    A response time and the step's length are whole nanoseconds: together they are off by one for each I/O.
    What was submitted in a ramp-up and answered after it counts with all of its response time. A simulated
    drive on a scale ends its steps on time, with I/Os that are answered up to one response time later, which
    the scale stretches.
    """
    operations = part.operations.values()
    ios, total_ns = sum(one.ios for one in operations), sum(one.latency_sum_ns for one in operations)
    slowest_ns = max((one.latency_max_ns or 0) for one in operations)
    tail_ns = slowest_ns * ((ramp_ns > 0) + (scale if scale > 1 else 0))
    if total_ns > stimulus.toio * (part.elapsed_ns + tail_ns) + ios:
        mean = total_ns / part.elapsed_ns if part.elapsed_ns else math.inf
        yield (
            f"its response times make {mean:.4g} I/Os outstanding on average in {part.elapsed_ns:,} ns, "
            f"and its stimulus allows {stimulus.toio:,} (TC x QD)"
        )
    if part.unissued or part.slips:
        yield "it plans no I/O, and has planned ones that were late or not issued"


def _of_plan(part: Sample | StreamSample, stream: Stream, rate: float, scale: int, ramp_ns: int) -> Found:
    """No more I/Os complete than are planned; those of a ramp-up may have found room only after it."""
    planned = rate * (part.elapsed_ns + ramp_ns) / NS_PER_S
    burst = getattr(stream.stimulus.pacing, "ios", 0)
    most = (
        planned + _STANDARD_ERRORS * math.sqrt(planned * scale) + scale * (stream.stimulus.toio + burst + 1)
    )
    if (done := sum(one.ios for one in part.operations.values())) > most:
        yield f"it counts {done:,} I/Os in {part.elapsed_ns:,} ns, and {planned:,.0f} were planned"


def _of_mix(part: Sample | StreamSample, stimulus: Stimulus, scale: int) -> Found:
    """Operations, sizes and zones are dealt from shuffled decks, which have each as often as it weighs."""
    names, weights = stimulus.operations.__struct_fields__, msgspec.structs.astuple(stimulus.operations)
    counts = [part.operations[name].ios for name in names]
    yield from _of_deck("operations", counts, weights, stimulus, scale)
    sizes = [size.weight for size in stimulus.block_sizes]
    yield from _of_deck("ios_by_block_size", part.ios_by_block_size, sizes, stimulus, scale)
    if isinstance(stimulus.placement, Zones) and stimulus.random_pct == 100:
        zones = [zone.weight for zone in stimulus.placement.zones]
        yield from _of_deck("ios_by_zone", part.ios_by_zone, zones, stimulus, scale)


def _of_deck(
    what: str, counts: Sequence[int], weights: Sequence[int], stimulus: Stimulus, scale: int
) -> Found:
    """Each thread has a deck; where every system call waits there are TC x QD threads.

    A part of a deck of n cards is off by n/4 at the most, and a step has two: where its ramp-up ends, and
    its end. What was outstanding at either moment was dealt, and is not counted.
    """
    if not counts:
        return
    total, of_weights, cards = sum(counts), sum(weights), sum(weights) // math.gcd(*weights)
    slack = scale * stimulus.toio * (cards / 2 + 2)
    for count, weight in zip(counts, weights, strict=True):
        if (count and not weight) or abs(count - total * weight / of_weights) > slack:
            yield f"{what} has {count:,} of {total:,} I/Os where its stimulus has {weight} of {of_weights}"


def of_step(sample: Sample, target: TargetFacts) -> Found:
    """What a step's stimuli, and the rules that ended it and its streams, forbid its result."""
    streams, step = sample.step.streams, sample.step
    parts: tuple[Sample | StreamSample, ...] = sample.streams or (sample,) * len(streams[:1])
    for stream, part in zip(streams, parts, strict=False):
        found = _of_stream(part, stream, target.scale, step.ramp_ns)
        yield from (_named(text, stream, sample) for text in found)
    yield from _of_host(sample)
    yield from _of_errors(sample)
    outstanding = max((interval.in_flight for interval in sample.intervals), default=0)
    if outstanding > step.toio:
        yield f"an interval ends with {outstanding:,} I/Os outstanding, of {step.toio:,} (TC x QD)"
    if sample.state is StepState.COMPLETE:
        if all(stream.stop is None for stream in streams):  # else it may have ended by one of theirs
            yield from _of_end(sample, step.stop, step.stimuli, target)
        for stream, part in zip(streams, sample.streams, strict=False):
            yield from (_named(text, stream, sample) for text in _of_part(part, stream, sample, target))
        yield from _of_interval_lengths(sample, target.scale)


def _named(text: str, stream: Stream, sample: Sample) -> str:
    return (
        f"stream {stream.name or sample.step.streams.index(stream) + 1}: {text}" if sample.streams else text
    )


def _of_part(part: StreamSample, stream: Stream, sample: Sample, target: TargetFacts) -> Found:
    end_ns = sample.started_ns + sample.elapsed_ns
    if part.started_ns < sample.started_ns or part.started_ns + part.elapsed_ns > end_ns:
        yield "it was not all within its step"
    yield from _of_end(part, _stop_of(stream, sample), (stream.stimulus,), target)


def _stop_of(stream: Stream, sample: Sample) -> StopRule | None:
    """The rule that a stream ends by; None where its step's is one that other streams have a part in."""
    if stream.replay is not None:  # what of a trace was dropped is in no count
        return None
    if stream.stop is not None:
        return stream.stop
    stop = sample.step.stop
    return Duration(stop.duration_ns - stream.delay_ns) if isinstance(stop, Duration) else None


def _of_end(
    part: Sample | StreamSample, stop: StopRule | None, stimuli: Sequence[Stimulus], target: TargetFacts
) -> Found:
    """What its time has ended lasts that long or longer; what an amount has ended has reached it."""
    if stop is None or part.ended_by is None:
        return
    if part.ended_by == "duration":
        planned_ns = planned_length_ns(stop)
        if planned_ns is not None and part.elapsed_ns < planned_ns:
            yield f"elapsed_ns is {part.elapsed_ns:,}, and it ended after {planned_ns:,}"
    elif part.ended_by == "amount" and not part.errors:  # what failed used some of it up
        yield from _of_amount(part, stop, stimuli, target)


def _of_amount(
    part: Sample | StreamSample, stop: StopRule, stimuli: Sequence[Stimulus], target: TargetFacts
) -> Found:
    ios = sum(one.ios for one in part.operations.values())
    outstanding = target.scale * sum(stimulus.toio for stimulus in stimuli)
    largest = max((stimulus.block_size_bytes for stimulus in stimuli), default=0)
    missed = []
    for rule in stop.rules if isinstance(stop, FirstOf) else (stop,):
        match rule:
            case ByteAmount(amount_bytes):
                done, required, more = part.bytes, amount_bytes, outstanding * largest
            case DriveFills(fills):
                done, required = part.bytes, int(fills * target.user_capacity_bytes)
                more = outstanding * largest
            case IoCount(required):
                done, more = ios, outstanding
            case _:
                continue
        is_over = rule is stop and done > required + more  # others wait for the least time of a FirstOf
        if done >= required - _left_out(more, target.scale) and not is_over:
            return
        missed.append(f"{done:,} of {required:,}")
    yield f"it ended with its amount, and has done {' and '.join(missed) or 'none'}"


def _left_out(outstanding: int, scale: int) -> int:
    """What of an amount a drive on a scale does not count: I/Os that are outstanding when it is reached."""
    return outstanding if scale > 1 else 0


def _of_interval_lengths(sample: Sample, scale: int) -> Found:
    """Intervals go from when a step is let go, which is in its gap, to its last answer.

    Where nothing is planned that is the end of the step: with a ramp-up, to within one response time. On a
    scale what is outstanding at the end does not count, however long its answer takes. A simulated drive may
    answer in no time, such as trims: the interval of such a step has the length of any.
    """
    if not sample.intervals:
        if any(one.ios for one in sample.operations.values()):
            yield "it counts I/Os and has no intervals"
        return
    length_ns, gap_ns = sum(interval.elapsed_ns for interval in sample.intervals), sample.gap_ns
    latest_ns = max((one.latency_max_ns or 0) for one in sample.operations.values())
    may_be_short = scale > 1 or not is_plain_loop(sample.step)
    is_short = not may_be_short and length_ns + latest_ns + 1 < sample.elapsed_ns
    is_long = gap_ns is not None and sample.elapsed_ns > 0 and length_ns > sample.elapsed_ns + gap_ns + 1
    if is_short or is_long:
        yield f"elapsed_ns is {sample.elapsed_ns:,}, and its intervals last {length_ns:,}"


def is_plain_loop(step: Step) -> bool:
    """Whether all streams begin and end with their step, and submit as soon as another I/O is answered."""
    return all(
        isinstance(stream.stimulus.pacing, ClosedLoop)
        and not stream.delay_ns
        and stream.stop is None
        and stream.replay is None
        for stream in step.streams
    )


def _of_host(sample: Sample) -> Found:
    for cpu in filter(None, (sample.cpu, *(interval.cpu for interval in sample.intervals))):
        if (busy := cpu.user_pct + cpu.sys_pct + cpu.iowait_pct) > 100 + _CPU_SLACK_PCT:
            yield f"the host's processors had {busy:.6g} % of their time"


def _of_errors(sample: Sample) -> Found:
    """Each I/O that failed is counted, in its stream and, in a complete step, in its interval."""
    errors = sum(one.count for one in sample.errors)
    if bool(errors) != (sample.failure is not None):
        yield f"it has {errors:,} errors, and {'a' if sample.failure else 'no'} first one"
    if sample.state is not StepState.COMPLETE:
        return
    if sample.intervals and errors != (of_parts := sum(one.errors for one in sample.intervals)):
        yield f"it has {errors:,} errors, and its intervals {of_parts:,}"
    if sample.streams and errors != (of_parts := sum(one.errors for one in sample.streams)):
        yield f"it has {errors:,} errors, and its streams {of_parts:,}"
