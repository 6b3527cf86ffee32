"""An engine for files on a disk in use: the native one, and programs beside it for what no engine does."""

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from openpts.analysis.latency import LatencyDistribution
from openpts.engine.contract import CapturingEngine, EngineProgress
from openpts.engine.options import CaptureSummary
from openpts.vocabulary.facts import Fact, Facts
from openpts.vocabulary.sample import (
    NOTHING,
    Counted,
    Interval,
    Measured,
    OperationSample,
    Sample,
    StreamSample,
)
from openpts.vocabulary.stimulus import Step, Stream, planned_length_ns
from openpts_check.drivers.disk_programs import Program, Timed, Worker
from openpts_check.purpose import DEVICE_READS


class DiskEngine:
    """Implements openpts.engine.contract.CapturingEngine on files: one step after the other.

    A stream with the name of one of the ``programs`` is carried out by that, at most one in a step; all
    others are those of the engine within. ``device_reads`` is what the kernel has read from the disk so far,
    None where it isn't known which disk that is.
    """

    def __init__(
        self, within: CapturingEngine, programs: Mapping[str, Program], device_reads: Callable[[], int] | None
    ) -> None:
        self._within, self._programs, self._device_reads = within, programs, device_reads
        self._workers: dict[str, Worker] = {}
        self._waiting: deque[Step] = deque()
        self._running: Step | None = None
        self._began_ns = 0
        self._reads_before = 0

    @property
    def facts(self) -> Facts:
        """See the contract."""
        own = {name: Fact(one.what, f"{one.module}, a process") for name, one in self._programs.items()}
        return {**self._within.facts, **own}

    @property
    def cpus(self) -> tuple[int, ...]:
        """See the contract."""
        return self._within.cpus

    def check(self, steps: Sequence[Step]) -> None:
        """See the contract."""
        self._within.check([self._of_engine(step) for step in steps])

    def submit(self, steps: Sequence[Step]) -> None:
        """See the contract; the next step begins when the one before was polled."""
        self.check(steps)
        self._waiting.extend(steps)
        self._start_next()

    def _start_next(self) -> None:
        if self._running is not None or not self._waiting:
            return
        self._running = step = self._waiting.popleft()
        stream = self._of_program(step)
        if stream is not None and stream.name not in self._workers:
            self._workers[stream.name] = Worker(self._programs[stream.name])
        self._reads_before = self._device_reads() if self._device_reads else 0
        self._within.submit([self._of_engine(step)])
        self._began_ns = time.monotonic_ns()
        if stream is not None:
            deadline_ns = self._began_ns + (planned_length_ns(step.stop) or 0)
            operation = self._programs[stream.name].operation(stream.stimulus)
            self._workers[stream.name].start(operation, deadline_ns)

    def poll(self, timeout_s: float) -> Sample | None:
        """See the contract. Raises RunFailedError where a program failed."""
        sample = self._within.poll(timeout_s)
        step = self._running
        if sample is None or step is None:
            return sample
        stream = self._of_program(step)
        if stream is not None and stream.name in self._workers:
            columns = self._workers[stream.name].columns()
            timed = self._programs[stream.name].timed(stream.stimulus, columns)
            sample = _with_timed(sample, step, stream, timed, self._began_ns)
        if self._device_reads is not None:
            ends = ((0, self._reads_before), (sample.elapsed_ns, self._device_reads()))
            counted = (Counted(after_ns, DEVICE_READS, value) for after_ns, value in ends)
            sample = replace(sample, counted=(*sample.counted, *counted))
        self._running = None
        self._start_next()
        return sample

    def _of_program(self, step: Step) -> Stream | None:
        return next((one for one in step.streams if one.name in self._programs), None)

    def _of_engine(self, step: Step) -> Step:
        """What is left for the engine: a gap where there is nothing but a program."""
        return replace(step, streams=tuple(one for one in step.streams if one.name not in self._programs))

    def progress(self) -> EngineProgress:
        """See the contract; without the programs, whose calls are counted at a step's end."""
        return self._within.progress()

    def new_intervals(self) -> tuple[Interval, ...]:
        """See the contract."""
        return self._within.new_intervals()

    def stop(self) -> None:
        """See the contract."""
        self._waiting.clear()
        self.close()
        self._within.stop()

    def finish(self) -> CaptureSummary | None:
        """See the contract."""
        self.close()
        return self._within.finish()

    def close(self) -> None:
        """End the programs."""
        while self._workers:
            self._workers.popitem()[1].close()


def _with_timed(sample: Sample, step: Step, stream: Stream, timed: Timed, began_ns: int) -> Sample:
    """A step's sample as if one engine had done all of it."""
    others = iter(sample.streams or _alone(sample, step))
    own = timed.operations
    elapsed_ns = round(max(sample.elapsed_ns, timed.ended_ns - began_ns))
    sample = replace(
        sample, elapsed_ns=elapsed_ns, intervals=_covering(sample, elapsed_ns, len(step.streams) - 1)
    )
    streams = tuple(_stream_of(sample, own) if one is stream else next(others) for one in step.streams)
    intervals = tuple(
        _interval_with(interval, step, stream, timed.part(*_span(sample, interval, began_ns)))
        for interval in sample.intervals
    )
    added = {name: _sum(getattr(sample, name), one) for name, one in own.items()}
    return replace(
        sample, step=step, intervals=intervals, streams=streams if len(streams) > 1 else (), **added
    )


def _covering(sample: Sample, elapsed_ns: int, others: int) -> tuple[Interval, ...]:
    """Intervals to the end of the last call: an engine has none in a gap, which a program alone is to it."""
    found, length_ns = list(sample.intervals), sample.interval_ns
    if found:
        before_ns = length_ns * (len(found) - 1)
        found[-1] = replace(
            found[-1], elapsed_ns=max(found[-1].elapsed_ns, min(length_ns, elapsed_ns - before_ns))
        )
    while (left_ns := elapsed_ns - length_ns * len(found)) > 0:
        found.append(_empty_interval(len(found), min(length_ns, left_ns), others))
    return tuple(found)


def _empty_interval(index: int, elapsed_ns: int, others: int) -> Interval:
    nothing = Measured(read=NOTHING, write=NOTHING, elapsed_ns=elapsed_ns, cpu=None)
    return Interval(
        index=index,
        elapsed_ns=elapsed_ns,
        in_flight=0,
        errors=0,
        read=NOTHING,
        write=NOTHING,
        cpu=None,
        streams=(nothing,) * others if others > 1 else (),
    )


def _alone(sample: Sample, step: Step) -> Iterable[StreamSample]:
    """The one stream beside that of the program: the engine had no other."""
    if len(step.streams) != 2:
        return
    yield replace(_stream_of(sample, sample.operations), ended_by=sample.ended_by)


def _stream_of(sample: Sample, operations: dict[str, OperationSample]) -> StreamSample:
    every: dict[str, Any] = {"read": NOTHING, "write": NOTHING} | operations
    return StreamSample(
        ended_by=None, started_ns=sample.started_ns, elapsed_ns=sample.elapsed_ns, cpu=None, **every
    )


def _span(sample: Sample, interval: Interval, began_ns: int) -> tuple[float, float]:
    """From an interval's start to its end; what was outstanding at the step's end is in the last one."""
    start_ns = began_ns + interval.index * sample.interval_ns
    is_last = interval is sample.intervals[-1]
    return start_ns, math.inf if is_last else start_ns + sample.interval_ns


def _interval_with(interval: Interval, step: Step, stream: Stream, timed: Timed) -> Interval:
    own = timed.operations
    parts = interval.streams or (interval,)
    others = iter(parts)
    streams = tuple(
        replace(parts[0], **_only(own)) if one is stream else next(others) for one in step.streams
    )
    added = {name: _sum(getattr(interval, name), one) for name, one in own.items()}
    return replace(interval, streams=streams if len(streams) > 1 else (), **added)


def _only(operations: dict[str, OperationSample]) -> dict[str, OperationSample]:
    return dict.fromkeys(("read", "write", "trim", "flush", "fsync"), NOTHING) | operations


def _sum(one: OperationSample, other: OperationSample) -> OperationSample:
    if not one.ios or not other.ios:
        return one if one.ios else other
    histograms = [part.histogram for part in (one, other) if part.histogram]
    return OperationSample(
        one.ios + other.ios,
        one.bytes + other.bytes,
        one.latency_sum_ns + other.latency_sum_ns,
        min(ns for ns in (one.latency_min_ns, other.latency_min_ns) if ns is not None),
        max(ns for ns in (one.latency_max_ns, other.latency_max_ns) if ns is not None),
        LatencyDistribution.merged(histograms).encode() if len(histograms) == 2 else b"",
    )
