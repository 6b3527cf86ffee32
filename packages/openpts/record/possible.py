"""Refuses a record that no run can have left, though all that it says twice agrees."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import Final

import msgspec

from openpts.analysis.latency import LatencyDistribution
from openpts.errors import RecordError
from openpts.record.contradictions import is_exact
from openpts.record.health import ReadingPoint
from openpts.record.reader import Run, StepRecord, moment_of
from openpts.units import NS_PER_S, format_duration
from openpts.vocabulary.facts import (
    FILE_CACHE,
    FILE_PURGE,
    SIMULATED_ENGINE,
    SIMULATED_LOG,
    SIMULATED_PURGE,
    SIMULATED_SOURCE,
    TargetFacts,
    TargetKind,
    fact_of,
)
from openpts.vocabulary.sample import (
    DRIVE_ENERGY,
    DRIVE_FREE_BLOCKS,
    DRIVE_HOST_WRITES,
    DRIVE_MEDIA_WRITES,
    Phase,
    Sample,
    StepState,
    StreamSample,
)
from openpts.vocabulary.stimulus import (
    ByteAmount,
    ClosedLoop,
    DriveFills,
    Duration,
    FirstOf,
    IoCount,
    Step,
    Stimulus,
    StopRule,
    Stream,
    Zones,
    planned_length_ns,
)

# Arrivals of a Poisson process in a step stray that far by chance in fewer than one of 10^15 steps.
_STANDARD_ERRORS: Final = 8
# The three shares of a host's time are rounded one by one.
_CPU_SLACK_PCT: Final = 0.01

Findings = Iterator[str]


def _of_stream(part: Sample | StreamSample, stream: Stream, scale: int, ramp_ns: int) -> Findings:
    """What the demand, the pacing and the mix of a stream forbid its result."""
    if stream.replay is not None:
        return
    if (rate := stream.stimulus.planned_ios_per_s) is None:
        yield from _of_loop(part, stream.stimulus, scale, ramp_ns)
    else:
        planned = rate * (part.elapsed_ns + ramp_ns) / NS_PER_S
        burst = getattr(stream.stimulus.pacing, "ios", 0)
        most = (
            planned
            + _STANDARD_ERRORS * math.sqrt(planned * scale)
            + scale * (stream.stimulus.toio + burst + 1)
        )
        if (done := sum(one.ios for one in part.operations.values())) > most:
            yield f"it counts {done:,} I/Os in {part.elapsed_ns:,} ns, and {planned:,.0f} were planned"
    yield from _of_mix(part, stream.stimulus, scale)


def _of_loop(part: Sample | StreamSample, stimulus: Stimulus, scale: int, ramp_ns: int) -> Findings:
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


def _of_mix(part: Sample | StreamSample, stimulus: Stimulus, scale: int) -> Findings:
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
) -> Findings:
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


def of_step(sample: Sample, target: TargetFacts) -> Findings:
    """What a step's stimuli, and the rules that ended it and its streams, forbid its result."""
    streams, step = sample.step.streams, sample.step
    parts: tuple[Sample | StreamSample, ...] = sample.streams or (sample,) * len(streams[:1])
    for stream, part in zip(streams, parts, strict=False):
        found = _of_stream(part, stream, target.scale, step.ramp_ns)
        yield from (_named(text, stream, sample) for text in found)
    for cpu in filter(None, (sample.cpu, *(interval.cpu for interval in sample.intervals))):
        if (busy := cpu.user_pct + cpu.sys_pct + cpu.iowait_pct) > 100 + _CPU_SLACK_PCT:
            yield f"the host's processors had {busy:.6g} % of their time"
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


def _of_part(part: StreamSample, stream: Stream, sample: Sample, target: TargetFacts) -> Findings:
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
) -> Findings:
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
) -> Findings:
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
        # on a scale I/Os that are outstanding when the amount is reached are not counted
        if done >= required - (more if target.scale > 1 else 0) and not is_over:
            return
        missed.append(f"{done:,} of {required:,}")
    yield f"it ended with its amount, and has done {' and '.join(missed) or 'none'}"


def _of_interval_lengths(sample: Sample, scale: int) -> Findings:
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


def _of_errors(sample: Sample) -> Findings:
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


PlacedFindings = Iterator[tuple[object, str]]


def disorder(steps: Sequence[StepRecord], *, exact: bool) -> PlacedFindings:
    """Each contradiction, with the place of the step in which it is; ``exact``: times are not nominal."""
    yield from _missing(steps)
    yield from _renamed(steps)
    if exact:
        for before, after in pairwise(steps):
            if found := _of_pair(before.sample, after.sample, adjacent=after.behind == before.behind + 1):
                yield after.place, found


def _missing(steps: Sequence[StepRecord]) -> PlacedFindings:
    """Steps of one number of a phase have positions from 0 on: what was repeated took its own place again."""
    positions: dict[tuple[object, ...], int] = defaultdict(int)
    for step in steps:
        place = step.place
        key = (place.cycle, place.phase, place.number)
        if place.position != positions[key]:
            yield place, f"the step before it, at position {positions[key]}, is missing"
            return
        positions[key] += 1


def _renamed(steps: Sequence[StepRecord]) -> PlacedFindings:
    """A test names its streams in one order, whatever they do in a step."""
    orders: dict[frozenset[str], tuple[str, ...]] = {}
    for step in steps:
        names = tuple(stream.name for stream in step.sample.step.streams)
        if (other := orders.setdefault(frozenset(names), names)) != names and len(other) == len(names):
            yield step.place, f"its streams are {', '.join(names)}, and in other steps {', '.join(other)}"


def _of_pair(before: Sample, after: Sample, *, adjacent: bool) -> str | None:
    """Steps come one after another; between plain ones lies exactly the gap, between others no more than it.

    Where I/Os are planned the time of a step may end behind its last answer, from which a gap counts, and may
    begin before its first submission; with a ramp-up it begins that long after it.
    """
    distance_ns = after.started_ns - before.started_ns - before.elapsed_ns
    if distance_ns < 0:
        return f"started_ns is {after.started_ns:,}, before the end of the step before it"
    pair = (before, after)
    sound = all(one.state is StepState.COMPLETE and not one.errors for one in pair)
    if not adjacent or not sound or after.gap_ns is None:
        return None
    plain = all(is_plain_loop(one.step) and not one.step.ramp_ns for one in pair)
    if after.gap_ns < distance_ns - after.step.ramp_ns or (plain and after.gap_ns != distance_ns):
        return f"gap_ns is {after.gap_ns:,}, and the step before it ended {distance_ns:,} ns earlier"
    return None


_NOT_A_DRIVE: Final = "PTS-GEN-05"
_COUNTED: Final = {DRIVE_HOST_WRITES: "host_write_bytes", DRIVE_MEDIA_WRITES: "nand_write_bytes"}
"""What a simulated drive counts beside the I/O, with the name that its log has for it."""
_COMMAND_SETS: Final = ("ata-", "nvme-", "scsi-")
# So long a run, or so many of its steps, is no matter of one clock that was set.
_LEAST_CLOCKED_NS: Final = 10 * NS_PER_S
_FEWEST_SHORT_STEPS: Final = 3
_LEAST_TIMED_NS: Final = NS_PER_S  # so much I/O takes processor time, which the kernel counts in ticks
_MINUTE_NS: Final = 60 * NS_PER_S
_FEWEST_BUCKETS: Final = 30  # two steps of a drive do not fill so many buckets of a histogram alike


def refuse_impossible(run: Run) -> None:
    """Raises RecordError on the first thing that physics, the stimuli, the kind of the target or the
    disclosures of all tests forbid, with the step in which it is.
    """
    exact, target = is_exact(run.manifest), run.manifest.target
    where = f"the record in {run.folder} contradicts itself"
    for step in run.steps if exact else ():
        for found in of_step(step.sample, target):
            raise RecordError(f"{where} in {step.place}: {found}")
    for place, found in disorder(run.steps, exact=exact and target.scale == 1):
        raise RecordError(f"{where} in {place}: {found}")
    if run.manifest.imported is not None:
        wrong = _undisclosed(run)
    else:
        of_kind = _not_simulated(run) if target.simulation is None else _otherwise_counted(run)
        of_all = filter(None, (_undisclosed(run), _not_as_long(run)))
        wrong = next(chain(of_kind, of_all), None)
    if wrong or (wrong := _too_many_errors(run) if exact else None):
        raise RecordError(f"{where}: {wrong}")


def _of_target(run: Run) -> Findings:
    """Of a cache, a purge, an engine and a log that a target which exists can't have."""
    manifest = run.manifest
    kind, name = manifest.target.kind, manifest.target.name
    is_file, what = kind is TargetKind.FILE, "a file" if kind is TargetKind.FILE else "a drive"
    if kind is TargetKind.SIMULATED:
        yield "its target is a simulated drive without its parameters"
    for report in manifest.write_caches:
        if report.source == SIMULATED_SOURCE or (report.actual == FILE_CACHE) != is_file:
            yield f"its target is {what}, whose write cache can't be {report.actual!r} by {report.source}"
    for purge in (one for one in manifest.purges if one.ran):
        command_set = next((one for one in _COMMAND_SETS if purge.name.startswith(one)), None)
        is_other = command_set is not None and (command_set == "nvme-") != name.startswith("nvme")
        if purge.method == SIMULATED_PURGE or (purge.name == FILE_PURGE) != is_file or is_other:
            yield f"its target is {what}, {name}, which has no {purge.method!r}"
    if fact_of(manifest.engine, "engine") == SIMULATED_ENGINE:
        yield f"its target is {what}, and its engine that of simulated drives"
    if any(one.reading.source == SIMULATED_LOG for one in run.health):
        yield f"its target is {what}, whose log can't be {SIMULATED_LOG!r}"


def _not_simulated(run: Run) -> Findings:
    """What no drive that exists reports, and no host leaves out."""
    yield from _of_target(run)
    names = {point.name for point in run.sampled} & {DRIVE_ENERGY, DRIVE_FREE_BLOCKS, *_COUNTED}
    if any(one.temperature_c is not None for step in run.steps for one in step.sample.intervals):
        names.add("temperature_c with each interval")
    if names:
        yield f"its drive exists, and it has {min(names)}, which only simulated drives report"
    yield from _clocks(run)
    if not is_exact(run.manifest):
        return
    worked = [step for step in run.steps if step.sample.ios]
    lasted_ns = sum(step.sample.elapsed_ns for step in worked)
    # a kernel may not count, which its telemetry says; the operator may leave telemetry out
    reads = fact_of(run.manifest.telemetry, "processors") is not None or not (
        {"processors", "telemetry"} & run.manifest.telemetry.keys()
    )
    if reads and lasted_ns > _LEAST_TIMED_NS and all(step.sample.cpu is None for step in worked):
        yield f"its drive exists, and I/O of {lasted_ns:,} ns took none of the processors' time"
    for step in worked:
        if step.sample.state is StepState.COMPLETE and (missing := _without_slips(step.sample)):
            yield f"{step.place}: {missing}"
    yield from _repeated(run.steps)


def _without_slips(sample: Sample) -> str:
    """A host is later than planned, if only by nanoseconds."""
    parts: tuple[Sample | StreamSample, ...] = sample.streams or (sample,)
    for stream, part in zip(sample.step.streams, parts, strict=False):
        is_planned = stream.stimulus.planned_ios_per_s is not None and stream.replay is None
        if is_planned and part.ios and not part.slips:
            return f"its drive exists, and none of {part.ios:,} planned I/Os says how late it was submitted"
    return ""


def _repeated(steps: Sequence[StepRecord]) -> Findings:
    """Steps, and rounds of several, that measured the same, I/O by I/O."""
    rounds: dict[str, list[StepRecord]] = defaultdict(list)
    for step in steps:
        rounds[str(step.place).rpartition(", step")[0]].append(step)
    parts = [(str(step.place), [step]) for step in steps]
    parts += [(name, several) for name, several in rounds.items() if len(several) > 1]
    first: dict[tuple[bytes, ...], str] = {}
    for name, measured in parts:
        histograms = tuple(one.histogram for step in measured for one in step.sample.operations.values())
        other = first.setdefault(histograms, name)
        if other == name:
            continue
        encoded = filter(None, histograms)
        filled = sum(sum(1 for _ in LatencyDistribution.merged([one]).buckets()) for one in encoded)
        if filled >= _FEWEST_BUCKETS:
            yield f"{name} has the histograms of {other}, in all of {filled:,} buckets"


def _clocks(run: Run) -> Findings:
    """Steps are stored when they have ended: the host's clock goes as far as the engine's, or further.

    A clock that was set back in a step goes less far in that one.
    """
    attempts = run.manifest.attempts
    ends = [*(one.steps for one in attempts[1:]), len(run.stored_at)]
    for attempt, end in zip(attempts, ends, strict=False):
        steps = [step for step in run.steps if attempt.steps <= step.behind < end]
        if not steps:
            continue
        moments = [moment_of(attempt.started_at), *(run.stored_at[step.behind] for step in steps)]
        passed_ns = [round((b - a).total_seconds() * NS_PER_S) for a, b in pairwise(moments)]
        pairs = zip(passed_ns, steps, strict=True)
        short = sum(2 * max(0, ns) < step.sample.elapsed_ns for ns, step in pairs)
        first, last = steps[0].sample, steps[-1].sample
        lasted_ns = last.started_ns + last.elapsed_ns - first.started_ns
        stored_ns = sum(max(0, ns) for ns in passed_ns)
        is_short = short >= _FEWEST_SHORT_STEPS and 2 * stored_ns < lasted_ns
        if is_short and lasted_ns > _LEAST_CLOCKED_NS:
            yield (
                f"its steps last {lasted_ns / NS_PER_S:,.0f} s by the engine's clock, and were stored within "
                f"{stored_ns / NS_PER_S:,.0f} s by the host's"
            )


def _otherwise_counted(run: Run) -> Findings:
    """What a simulated drive counts from one reading of its log to the next, it counts in steps as well."""
    for before, after in pairwise(run.health):
        occasions = {before.occasion, after.occasion}
        if occasions & {ReadingPoint.RESUMED, ReadingPoint.SET_ASIDE} or before.cycle != after.cycle:
            continue
        for counted, logged in _COUNTED.items():
            series = run.telemetry_series.get(counted)
            first, last = (one.reading.values.get(logged) for one in (before, after))
            if series is None or first is None or last is None:
                continue
            ends = [0.0 if one.t_ns is None else series.at(one.t_ns) for one in (before, after)]
            if last - first != (went := ends[1] - ends[0]):
                yield (
                    f"by its log the drive's {logged} went {last - first:,.0f} further, and by {counted} "
                    f"{went:,.0f}"
                )


def _undisclosed(run: Run) -> str | None:
    """What the ledger of any such run says, whatever its test, and this one does not."""
    manifest = run.manifest
    rules = {entry.rule_id for entry in run.ledger}
    if not run.steps:
        return None
    if manifest.target.simulation is not None and _NOT_A_DRIVE not in rules:
        return f"its drive is a simulated one, and its ledger has no entry on {_NOT_A_DRIVE}"
    is_file = manifest.target.kind is TargetKind.FILE and manifest.imported is None
    if is_file and _NOT_A_DRIVE not in rules:
        return f"its target is a file, and its ledger has no entry on {_NOT_A_DRIVE}"
    if (manifest.shortened or manifest.conditions.time_scale < 1) and not rules:
        return "it was shortened, and its ledger has no entry"
    if manifest.conditions.time_scale < 1 and not manifest.shortened:
        return "its times are scaled down, and it is not marked as shortened"
    return None


def _not_as_long(run: Run) -> str | None:
    """A minute of the specification's tests lasts one, and so do their rounds, unless that is disclosed."""
    conditions = run.manifest.conditions
    if run.manifest.shortened or not conditions.of_specification or not run.steps:
        return None
    if conditions.minute_ns < _MINUTE_NS:
        return f"its minute lasts {conditions.minute_ns:,} ns, and it is not marked as shortened"
    for step in run.steps:
        stop = step.sample.step.stop
        if step.place.phase is not Phase.ROUND or not isinstance(stop, Duration):
            continue
        if stop.duration_ns < conditions.minute_ns:
            return (
                f"{step.place} was to last {format_duration(stop.duration_ns)}, and its rounds last "
                f"{format_duration(conditions.minute_ns)} a step: it is not marked as shortened"
            )
    return None


def _too_many_errors(run: Run) -> str | None:
    """An attempt continues over as many errors as were allowed: the next one fails its step."""
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
