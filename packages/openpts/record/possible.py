"""Refuses a record that no run can have left, though all that it says twice agrees."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import chain, pairwise
from typing import Final

from msgspec import Struct

from openpts.analysis.latency import LatencyDistribution
from openpts.errors import RecordError
from openpts.record.contradictions import is_exact
from openpts.record.health import ReadingPoint
from openpts.record.impossible import of_step
from openpts.record.order_of_steps import disorder
from openpts.record.reader import Run, StepRecord, moment_of
from openpts.units import NS_PER_S, format_duration
from openpts.vocabulary.facts import (
    FILE_CACHE,
    FILE_PURGE,
    SIMULATED_ENGINE,
    SIMULATED_LOG,
    SIMULATED_PURGE,
    SIMULATED_SOURCE,
    TargetKind,
    fact_of,
)
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.sample import (
    DRIVE_ENERGY,
    DRIVE_HOST_WRITES,
    DRIVE_MEDIA_WRITES,
    Sample,
    StepState,
    StreamSample,
)
from openpts.vocabulary.stop import Duration

_NOT_A_DRIVE: Final = "PTS-GEN-05"
_COUNTED: Final = {DRIVE_HOST_WRITES: "host_write_bytes", DRIVE_MEDIA_WRITES: "nand_write_bytes"}
"""What a simulated drive counts beside the I/O, with the name that its log has for it."""
_COMMAND_SETS: Final = ("ata-", "nvme-", "scsi-")
# So long a run, or so many of its steps, is no matter of one clock that was set.
_LEAST_CLOCKED_NS: Final = 10 * NS_PER_S
_FEWEST_SHORT_STEPS: Final = 3
_LEAST_TIMED_NS: Final = NS_PER_S
"""So much I/O takes processor time, which the kernel counts in ticks."""
_MINUTE_NS: Final = 60 * NS_PER_S
_FEWEST_BUCKETS: Final = 30
"""Two steps of a drive do not fill so many buckets of a histogram alike."""

Found = Iterator[str]


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


def _of_target(run: Run) -> Found:
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


def _not_simulated(run: Run) -> Found:
    """What no drive that exists reports, and no host leaves out."""
    yield from _of_target(run)
    names = {point.name for point in run.sampled} & {DRIVE_ENERGY, *_COUNTED}
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


def _repeated(steps: Sequence[StepRecord]) -> Found:
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


class _Attempt(Struct, frozen=True):
    started_at: datetime
    steps: tuple[StepRecord, ...]


def _clocks(run: Run) -> Found:
    """Steps are stored when they have ended: the host's clock goes as far as the engine's, or further.

    A clock that was set back in a step goes less far in that one.
    """
    for one in _attempts(run):
        moments = [one.started_at, *(run.stored_at[step.behind] for step in one.steps)]
        passed_ns = [round((b - a).total_seconds() * NS_PER_S) for a, b in pairwise(moments)]
        short = sum(
            2 * max(0, ns) < step.sample.elapsed_ns for ns, step in zip(passed_ns, one.steps, strict=True)
        )
        first, last = one.steps[0].sample, one.steps[-1].sample
        lasted_ns = last.started_ns + last.elapsed_ns - first.started_ns
        stored_ns = sum(max(0, ns) for ns in passed_ns)
        is_short = short >= _FEWEST_SHORT_STEPS and 2 * stored_ns < lasted_ns
        if is_short and lasted_ns > _LEAST_CLOCKED_NS:
            yield (
                f"its steps last {lasted_ns / NS_PER_S:,.0f} s by the engine's clock, and were stored within "
                f"{stored_ns / NS_PER_S:,.0f} s by the host's"
            )


def _attempts(run: Run) -> Iterator[_Attempt]:
    """Each with the steps that stand of it; none without one."""
    attempts = run.manifest.attempts
    ends = [*(one.steps for one in attempts[1:]), len(run.stored_at)]
    for attempt, end in zip(attempts, ends, strict=False):
        steps = tuple(step for step in run.steps if attempt.steps <= step.behind < end)
        if steps:
            yield _Attempt(moment_of(attempt.started_at), steps)


def _otherwise_counted(run: Run) -> Found:
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
