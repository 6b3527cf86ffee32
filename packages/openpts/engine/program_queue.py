"""What the engines of the Rust module have in common: programs go in, results come out in their order."""

from collections import deque
from collections.abc import Sequence
from time import monotonic
from typing import Any, TypeVar

import msgspec

from openpts import _native
from openpts.engine.contract import EngineStoppedError
from openpts.engine.options import CaptureSummary
from openpts.engine.program import program_json
from openpts.errors import RecordError, UsageError
from openpts.vocabulary.facts import TargetFacts
from openpts.vocabulary.replay import Played
from openpts.vocabulary.sample import (
    DRIVE_ENERGY,
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
from openpts.vocabulary.stimulus import Step

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


def _interval_of(result: _native.IntervalResult) -> Interval:
    """One interval of the step that runs."""
    return Interval(
        index=result.index,
        elapsed_ns=result.elapsed_ns,
        in_flight=result.in_flight,
        errors=result.errors,
        cpu=_cpu(result.cpu),
        temperature_c=result.temperature_c,
        throttled=result.throttled,
        streams=tuple(
            Measured(elapsed_ns=result.elapsed_ns, cpu=None, **_operations(operations))
            for operations in result.streams
        ),
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
        """As the contract of engines has it."""
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
        """As the contract of engines has it."""
        try:
            self._engine.check(program_json(steps, self._target))
        except ValueError as error:
            raise UsageError(str(error)) from error

    def poll(self, timeout_s: float) -> Sample | None:
        """As the contract of engines has it."""
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
                    self._intervals.append(_interval_of(report))
                    self._device.in_interval(report, self._interval_ns)
                case _native.StepResult():
                    intervals, self._intervals, self._shown = tuple(self._intervals), [], 0
                    counted = self._device.in_step(report)
                    return _sample_of(
                        self._submitted.popleft(), report, self._interval_ns, intervals, counted
                    )

    def new_intervals(self) -> tuple[Interval, ...]:
        """As the contract of engines has it."""
        new = tuple(self._intervals[self._shown :])
        self._shown = len(self._intervals)
        return new

    def stop(self) -> None:
        """As the contract of engines has it."""
        self._engine.stop()

    def finish(self) -> CaptureSummary | None:
        """As the contract of capturing engines has it."""
        try:
            summary = self._engine.finish()
        except _native.UnavailableError as error:
            raise RecordError(str(error)) from error
        return None if summary is None else _taken(summary, CaptureSummary)
