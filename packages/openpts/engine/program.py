"""Steps as the native engine reads them: bytes instead of per cent, JSON with a name for each variant."""

from collections import deque
from collections.abc import Callable, Sequence
from functools import cache
from time import monotonic
from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET

from openpts import _native
from openpts.engine.contract import EngineStoppedError
from openpts.engine.options import CaptureSummary
from openpts.errors import RecordError, UsageError
from openpts.trace_schedules import file_of
from openpts.vocabulary.facts import TargetFacts
from openpts.vocabulary.replay import Played
from openpts.vocabulary.sample import (
    DRIVE_ENERGY,
    DRIVE_FREE_BLOCKS,
    DRIVE_HOST_WRITES,
    DRIVE_MEDIA_WRITES,
    NOTHING,
    Counted,
    CpuShares,
    HostStall,
    Interval,
    IoErrors,
    IoFailure,
    Measured,
    OperationSample,
    Sample,
    SlowIo,
    StepState,
    StreamSample,
)
from openpts.vocabulary.stimulus import (
    Batches,
    ByteAmount,
    Capped,
    ClosedLoop,
    DataPattern,
    DriveFills,
    Duration,
    FirstOf,
    IoCount,
    IoPriority,
    Normal,
    Pacing,
    Pareto,
    PatternData,
    Placement,
    PriorityClass,
    ReducibleData,
    Segments,
    Steady,
    Step,
    Stimulus,
    StopRule,
    Stream,
    UniqueLbas,
    VerifiedData,
    Zipf,
    Zones,
)


def active_bytes(stimulus: Stimulus, target: TargetFacts) -> tuple[int, int]:
    """First byte, and the byte after the last (PTS 2.1.1). Raises UsageError for a range that is none."""
    active = stimulus.active_range
    if not 0 <= active.start_pct < active.end_pct <= 100:
        raise UsageError(
            f"active range {active.start_pct:g}:{active.end_pct:g} is not within 0:100 per cent of the LBAs"
        )
    return active.bytes_of(target.user_capacity_bytes, target.sector_bytes)


Json = dict[str, object]
Translated = TypeVar("Translated")


def program_json(steps: Sequence[Step], target: TargetFacts) -> str:
    """The program of these steps on that target. Raises UsageError for an active range that is none."""
    translated = cache(lambda step: _step(step, target))  # tests repeat a few steps thousands of times
    return msgspec.json.encode(each_step(steps, translated)).decode()


def each_step(steps: Sequence[Step], translate: Callable[[Step], Translated]) -> list[Translated]:
    """Every step in an engine's own words. Raises UsageError that names the step which has none."""
    translated = []
    for position, step in enumerate(steps, start=1):
        try:
            translated.append(translate(step))
        except UsageError as error:
            raise UsageError(f"step {position}: {error}") from error
    return translated


def _step(step: Step, target: TargetFacts) -> Json:
    stop = _rules(step.stop, target)
    if isinstance(step.stop, FirstOf):
        stop["at_least_ns"] = step.stop.at_least_ns
    streams = [_stream(stream, target) for stream in step.streams]
    return {"streams": streams, "stop": stop, "ramp_ns": step.ramp_ns, "capture": step.capture}


def _stream(stream: Stream, target: TargetFacts) -> Json:
    if isinstance(stream.stop, Steady) or (isinstance(stream.stop, FirstOf) and stream.stop.at_least_ns):
        raise UsageError("a stream ends by time, bytes or I/Os of its own: steady state ends a step")
    replay = stream.replay
    return {
        "stimulus": _stimulus(stream.stimulus, target),
        "delay_ns": stream.delay_ns,
        "bounds": {} if stream.stop is None else _rules(stream.stop, target),
        "priority": 0 if stream.priority is None else _ioprio(stream.priority),
        "share": stream.share,
        "replay": None
        if replay is None
        else {"path": str(file_of(replay.schedule)), "mode": replay.mode, "conflicts": replay.conflicts},
    }


# linux/ioprio.h
_CLASS_SHIFT: Final = 13
IOPRIO_CLASSES: Final = {PriorityClass.REALTIME: 1, PriorityClass.BEST_EFFORT: 2, PriorityClass.IDLE: 3}


def _ioprio(priority: IoPriority) -> int:
    return IOPRIO_CLASSES[priority.priority_class] << _CLASS_SHIFT | priority.level


def _rules(stop: StopRule, target: TargetFacts) -> Json:
    found: Json = {}
    for rule in stop.rules if isinstance(stop, FirstOf) else (stop,):
        found |= _stop_rule(rule, target.user_capacity_bytes)
    return found


def _stimulus(stimulus: Stimulus, target: TargetFacts) -> Json:
    start, end = active_bytes(stimulus, target)
    return {
        "block_sizes": [
            {"bytes": size.block_size_bytes, "weight": size.weight} for size in stimulus.block_sizes
        ],
        "operations": stimulus.operations,
        "random_pct": stimulus.random_pct,
        "range_start_bytes": start,
        "range_end_bytes": end,
        "placement": _placement(stimulus.placement),
        "alignment_bytes": stimulus.alignment_bytes,
        "stride_bytes": stimulus.stride_bytes,
        "tc": stimulus.tc,
        "qd": stimulus.qd,
        "pacing": _pacing(stimulus.pacing),
        "data": _data(stimulus.data),
    } | {
        name: value
        for name, value in (("placement_handle", stimulus.placement_handle), ("atomic", stimulus.atomic))
        if value is not UNSET
    }


def _stop_rule(rule: StopRule, user_capacity_bytes: int) -> Json:
    match rule:
        case Duration(duration_ns):
            return {"duration_ns": duration_ns}
        case ByteAmount(amount_bytes):
            return {"amount_bytes": amount_bytes}
        case DriveFills(fills):
            return {"amount_bytes": round(fills * user_capacity_bytes)}
        case IoCount(ios):
            return {"ios": ios}
        case Steady():
            return {"steady": _fields(rule)}
        case FirstOf():
            raise TypeError("rules do not nest")


def _placement(placement: Placement) -> Json | str:
    match placement:
        case Zones(zones):
            return {"zones": [{"weight": zone.weight, "range_pct": zone.range_pct} for zone in zones]}
        case Segments(count, segment_bytes):
            return {"segments": {"count": count, "bytes": segment_bytes}}
        case UniqueLbas(amount_bytes):
            return {"unique_lbas": {"bytes": amount_bytes}}
        case Zipf() | Pareto() | Normal():
            return _variant(placement)
        case _:
            return "uniform"


def _pacing(pacing: Pacing) -> Json | str:
    match pacing:
        case ClosedLoop():
            return "closed_loop"
        case Batches(cap=Capped() as cap):
            return {_tag(pacing): _fields(pacing) | {"cap": _fields(cap)}}
        case _:
            return _variant(pacing)


def _data(data: DataPattern) -> Json | str:
    match data:
        case PatternData(pattern):
            return {"pattern": list(pattern)}
        case ReducibleData() | VerifiedData():
            return _variant(data)
        case _:
            return _tag(data)


def _variant(struct: msgspec.Struct) -> Json:
    return {_tag(struct): _fields(struct)}


def _tag(struct: msgspec.Struct) -> str:
    return str(struct.__struct_config__.tag)


def _fields(struct: msgspec.Struct) -> Json:
    return {name: getattr(struct, name) for name in struct.__struct_fields__}


_T = TypeVar("_T")


def _sample_of(
    step: Step,
    result: _native.StepResult,
    interval_ns: int,
    intervals: tuple[Interval, ...],
    counted: tuple[Counted, ...],
) -> Sample:
    """The sample of a step, with the intervals that came before its result."""
    return Sample(
        step=step,
        state=StepState(result.state),
        ended_by=result.ended_by,
        started_ns=result.started_ns,
        elapsed_ns=result.elapsed_ns,
        gap_ns=result.gap_ns,
        interval_ns=interval_ns,
        intervals=intervals,
        cpu=_cpu(result.cpu),
        failure=IoFailure(*result.failure[0], result.failure[1]) if result.failure else None,
        errors=tuple(
            IoErrors(operation, reason, count, tuple(offsets))
            for operation, reason, count, offsets in result.errors
        ),
        unissued=result.unissued,
        ios_by_block_size=tuple(result.ios_by_block_size),
        ios_by_zone=tuple(result.ios_by_zone),
        standstills=tuple(HostStall(*standstill) for standstill in result.standstills),
        slips=result.slips,
        streams=tuple(_stream_sample(stream) for stream in result.streams),
        carried=result.carried,
        played=_taken(result.played, tuple[Played, ...]),
        counted=counted,
        slow_ios=_taken(result.slow_ios, tuple[SlowIo, ...]),
        **_operations(result.operations),
    )


def _stream_sample(result: _native.StreamResult) -> StreamSample:
    return StreamSample(
        ended_by=result.ended_by,
        started_ns=result.started_ns,
        elapsed_ns=result.elapsed_ns,
        cpu=None,
        unissued=result.unissued,
        ios_by_block_size=tuple(result.ios_by_block_size),
        ios_by_zone=tuple(result.ios_by_zone),
        slips=result.slips,
        errors=result.errors,
        **_operations(result.operations),
    )


def _operations(results: dict[str, _native.OperationResult]) -> dict[str, Any]:
    return {"read": NOTHING, "write": NOTHING} | _taken(results, dict[str, OperationSample])


def _taken(results: object, kind: type[_T]) -> _T:
    """Converts an object of the native module to ``kind``, attribute by attribute."""
    return msgspec.convert(results, kind, from_attributes=True)


def _cpu(shares: tuple[float, float, float, int] | None) -> CpuShares | None:
    return CpuShares(*shares) if shares else None


class _DeviceCounts:
    """What simulated drives report to have drawn and written, added up over all steps.

    Media writes have a point for each interval in which they grew, the others only one for each step.
    """

    def __init__(self) -> None:
        self._totals: dict[str, float] = {}
        self._written = 0
        self._points: list[Counted] = []

    def in_interval(self, result: _native.IntervalResult, interval_ns: int) -> None:
        if result.media_write_bytes:
            self._written += result.media_write_bytes
            end_ns = result.index * interval_ns + result.elapsed_ns
            total = self._totals.get(DRIVE_MEDIA_WRITES, 0) + self._written
            self._points.append(Counted(end_ns, DRIVE_MEDIA_WRITES, total))

    def in_step(self, result: _native.StepResult) -> tuple[Counted, ...]:
        """All points of the step that has ended: the totals at its end, the first time also at its start."""
        ended: list[Counted] = []
        for name, used in (
            (DRIVE_ENERGY, result.energy_j),
            (DRIVE_MEDIA_WRITES, result.media_write_bytes),
            (DRIVE_HOST_WRITES, result.host_write_bytes),
        ):
            if used is None:
                continue
            if name not in self._totals:
                self._points.insert(0, Counted(0, name, 0))
            self._totals[name] = self._totals.get(name, 0) + used
            ended.append(Counted(result.elapsed_ns, name, self._totals[name]))
        if result.free_blocks_pct is not None:
            ended.append(Counted(result.elapsed_ns, DRIVE_FREE_BLOCKS, result.free_blocks_pct))
        within = [point for point in self._points if point.after_ns < result.elapsed_ns]
        self._points, self._written = [], 0
        return (*within, *ended)


class ProgramQueue:
    """Steps that were submitted, and the intervals of the one that runs. ``engine`` carries them out."""

    def __init__(
        self, engine: _native.Engine | _native.SimulatedEngine, target: TargetFacts, interval_ns: int
    ) -> None:
        self._engine = engine
        self._target = target
        self._interval_ns = interval_ns
        self._submitted: deque[Step] = deque()
        self._intervals: list[Interval] = []
        self._shown = 0
        self._device = _DeviceCounts()

    def submit(self, steps: Sequence[Step]) -> None:
        program = program_json(steps, self._target)
        # before the engine has them: what a signal interrupts in between has results all the same
        self._submitted.extend(steps)
        try:
            self._engine.submit(program)
        except (ValueError, _native.StoppedError) as error:
            for _ in steps:
                self._submitted.pop()
            kind = UsageError if isinstance(error, ValueError) else EngineStoppedError
            raise kind(str(error)) from error

    def check(self, steps: Sequence[Step]) -> None:
        try:
            self._engine.check(program_json(steps, self._target))
        except ValueError as error:
            raise UsageError(str(error)) from error

    def poll(self, timeout_s: float) -> Sample | None:
        deadline_s = monotonic() + timeout_s
        while True:
            try:
                report = self._engine.poll(max(0.0, deadline_s - monotonic()))
            except _native.StoppedError as error:
                raise EngineStoppedError(str(error)) from error
            match report:
                case None:
                    return None
                case _native.IntervalResult():
                    self._intervals.append(
                        Interval(
                            index=report.index,
                            elapsed_ns=report.elapsed_ns,
                            in_flight=report.in_flight,
                            errors=report.errors,
                            cpu=_cpu(report.cpu),
                            temperature_c=report.temperature_c,
                            throttled=report.throttled,
                            streams=tuple(
                                Measured(elapsed_ns=report.elapsed_ns, cpu=None, **_operations(operations))
                                for operations in report.streams
                            ),
                            **_operations(report.operations),
                        )
                    )
                    self._device.in_interval(report, self._interval_ns)
                case _native.StepResult():
                    intervals, self._intervals, self._shown = tuple(self._intervals), [], 0
                    counted = self._device.in_step(report)
                    return _sample_of(
                        self._submitted.popleft(), report, self._interval_ns, intervals, counted
                    )

    def new_intervals(self) -> tuple[Interval, ...]:
        new = tuple(self._intervals[self._shown :])
        self._shown = len(self._intervals)
        return new

    def stop(self) -> None:
        self._engine.stop()

    def finish(self) -> CaptureSummary | None:
        try:
            summary = self._engine.finish()
        except _native.UnavailableError as error:
            raise RecordError(str(error)) from error
        return None if summary is None else _taken(summary, CaptureSummary)
