"""An engine for files on a disk in use: the native one, beside which commits are appended by a process."""

import math
import os
import select
import subprocess
import sys
import time
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Self

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.latency import LatencyDistribution, encode_counts
from openpts.engine.contract import CapturingEngine, EngineProgress
from openpts.engine.options import CaptureSummary
from openpts.errors import RunFailedError
from openpts.units import MIB
from openpts.vocabulary.facts import Fact, Facts
from openpts.vocabulary.sample import NOTHING, Counted, Interval, OperationSample, Sample, StreamSample
from openpts.vocabulary.stimulus import Step
from openpts.vocabulary.stop import planned_length_ns
from openpts_check.drivers import appender
from openpts_check.purpose import APPEND_BYTES, COMMITS
from openpts_check.witness import DEVICE_READS

SEGMENT_BYTES: Final = 64 * MIB
"""Of the log: that of etcd's."""

_START_LIMIT_S: Final = 20.0
_ANSWER_LIMIT_S: Final = 60.0


class Commits(Struct, frozen=True):
    """Commits in a step: starts on the host's clock, times of write and fdatasync, all in ns.

    A commit counts as the page that its step has for it.
    """

    starts_ns: Sequence[int]
    writes_ns: Sequence[int]
    syncs_ns: Sequence[int]
    page_bytes: int

    def part(self, from_ns: float, to_ns: float) -> Self:
        """The commits that completed in [from, to)."""
        chosen = [
            at
            for at, start in enumerate(self.starts_ns)
            if from_ns <= start + self.writes_ns[at] + self.syncs_ns[at] < to_ns
        ]
        return replace(
            self,
            starts_ns=[self.starts_ns[at] for at in chosen],
            writes_ns=[self.writes_ns[at] for at in chosen],
            syncs_ns=[self.syncs_ns[at] for at in chosen],
        )

    @property
    def ended_ns(self) -> int:
        """When the last one was durable; 0 without one."""
        return self.starts_ns[-1] + self.writes_ns[-1] + self.syncs_ns[-1] if self.starts_ns else 0

    @property
    def operations(self) -> dict[str, OperationSample]:
        """As an engine has them."""
        return {"write": _operation(self.writes_ns, self.page_bytes), "flush": _operation(self.syncs_ns, 0)}


def _operation(latencies_ns: Sequence[int], bytes_each: int) -> OperationSample:
    if not latencies_ns:
        return NOTHING
    count = len(latencies_ns)
    histogram = encode_counts((latency_ns, 1) for latency_ns in latencies_ns)
    return OperationSample(
        count, count * bytes_each, sum(latencies_ns), min(latencies_ns), max(latencies_ns), histogram
    )


class Appender:
    """The process that appends to an open file; started once, and ended with ``close``."""

    def __init__(self, fd: int, page_bytes: int) -> None:
        self._page_bytes = page_bytes
        words = [str(fd), str(APPEND_BYTES), str(SEGMENT_BYTES), str(os.getpid())]
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", appender.__name__, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(fd,),
            process_group=0,  # Ctrl-C is for the runner
        )
        if self._line(_START_LIMIT_S) != appender.READY:
            raise self._failure()

    def start(self, deadline_ns: int) -> None:
        """Append until a moment of the host's monotonic clock."""
        assert self._process.stdin is not None  # noqa: S101 it is a pipe
        try:
            self._process.stdin.write(b"%d\n" % deadline_ns)
            self._process.stdin.flush()
        except OSError:
            raise self._failure() from None

    def commits(self) -> Commits:
        """What was appended since ``start``. Raises RunFailedError where an append failed."""
        assert self._process.stdout is not None  # noqa: S101 it is a pipe
        line = self._line(_ANSWER_LIMIT_S)
        if not line.strip().isdigit():
            raise self._failure()
        count = int(line)
        columns = []
        for _ in range(3):
            column = array("q")
            column.frombytes(self._process.stdout.read(8 * count))
            columns.append(column)
        starts_ns, writes_ns, syncs_ns = columns
        return Commits(starts_ns, writes_ns, syncs_ns, self._page_bytes)

    def close(self) -> None:
        """End it; what it still does to the file is over then."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    def _line(self, limit_s: float) -> bytes:
        assert self._process.stdout is not None  # noqa: S101 it is a pipe
        ready, _, _ = select.select([self._process.stdout], [], [], limit_s)
        return self._process.stdout.readline() if ready else b""

    def _failure(self) -> RunFailedError:
        self._process.kill()
        _, said = self._process.communicate()
        lines = said.decode(errors="replace").strip().splitlines()
        return RunFailedError(f"the commits ended: {lines[-1] if lines else 'their process gave no answer'}")


class AppendingEngine:
    """Implements openpts.engine.contract.CapturingEngine on files: one step after the other.

    Streams that are named ``COMMITS`` are appends to the file open as ``log_fd``, all others are those of the
    engine within. ``device_reads`` is what the kernel has read from the disk so far, None where it isn't
    known which disk that is.
    """

    def __init__(self, within: CapturingEngine, log_fd: int, device_reads: Callable[[], int] | None) -> None:
        self._within, self._log_fd, self._device_reads = within, log_fd, device_reads
        self._waiting: deque[Step] = deque()
        self._running: Step | None = None
        self._appender: Appender | None = None
        self._began_ns = 0
        self._reads_before = 0

    @property
    def facts(self) -> Facts:
        """See the contract."""
        how = Fact(f"appends of {APPEND_BYTES:,} bytes with fdatasync, by a process of its own", __name__)
        return {**self._within.facts, "commits": how}

    @property
    def cpus(self) -> tuple[int, ...]:
        """See the contract."""
        return self._within.cpus

    def check(self, steps: Sequence[Step]) -> None:
        """See the contract."""
        self._within.check([_without_commits(step) for step in steps])

    def submit(self, steps: Sequence[Step]) -> None:
        """See the contract; the next step begins when the one before was polled."""
        self.check(steps)
        self._waiting.extend(steps)
        self._start_next()

    def _start_next(self) -> None:
        if self._running is not None or not self._waiting:
            return
        self._running = step = self._waiting.popleft()
        if _appends_in(step) and self._appender is None:
            self._appender = Appender(self._log_fd, _page_bytes(step))
        self._reads_before = self._device_reads() if self._device_reads else 0
        self._within.submit([_without_commits(step)])
        self._began_ns = time.monotonic_ns()
        if self._appender is not None and _appends_in(step):
            self._appender.start(self._began_ns + (planned_length_ns(step.stop) or 0))

    def poll(self, timeout_s: float) -> Sample | None:
        """See the contract. Raises RunFailedError where an append failed."""
        sample = self._within.poll(timeout_s)
        step = self._running
        if sample is None or step is None:
            return sample
        if self._appender is not None and _appends_in(step) and sample.step.stop == step.stop:
            sample = _with_commits(sample, step, self._appender.commits(), self._began_ns)
        if self._device_reads is not None:
            sample = replace(
                sample,
                counted=(
                    *sample.counted,
                    Counted(0, DEVICE_READS, self._reads_before),
                    Counted(sample.elapsed_ns, DEVICE_READS, self._device_reads()),
                ),
            )
        self._running = None
        self._start_next()
        return sample

    def progress(self) -> EngineProgress:
        """See the contract; without the commits, which are counted at a step's end."""
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
        """End the process that appends."""
        if self._appender is not None:
            self._appender.close()
            self._appender = None


def _appends_in(step: Step) -> bool:
    return any(stream.name == COMMITS for stream in step.streams)


def _page_bytes(step: Step) -> int:
    return next(one.stimulus.block_size_bytes for one in step.streams if one.name == COMMITS)


def _without_commits(step: Step) -> Step:
    """What is left for the engine: a gap where there is nothing but commits."""
    return replace(step, streams=tuple(one for one in step.streams if one.name != COMMITS))


def _with_commits(sample: Sample, step: Step, commits: Commits, began_ns: int) -> Sample:
    """A step's sample as if one engine had done all of it."""
    others = iter(sample.streams or _alone(sample, step))
    own = commits.operations
    streams = tuple(
        _stream_of(sample, own) if stream.name == COMMITS else next(others) for stream in step.streams
    )
    sample = replace(
        sample,
        intervals=sample.intervals or _empty_intervals(sample),
        elapsed_ns=max(sample.elapsed_ns, commits.ended_ns - began_ns),
    )
    intervals = tuple(
        _interval_with(interval, step, commits.part(*_span(sample, interval, began_ns)))
        for interval in sample.intervals
    )
    added = {name: _sum(getattr(sample, name), one) for name, one in own.items()}
    return replace(
        sample, step=step, intervals=intervals, streams=streams if len(streams) > 1 else (), **added
    )


def _empty_intervals(sample: Sample) -> tuple[Interval, ...]:
    """An engine counts none in a gap, which commits alone are to it."""
    return tuple(
        Interval(
            index=index,
            elapsed_ns=sample.interval_ns,
            in_flight=0,
            errors=0,
            read=NOTHING,
            write=NOTHING,
            cpu=None,
        )
        for index in range(sample.elapsed_ns // sample.interval_ns)
    )


def _alone(sample: Sample, step: Step) -> Iterable[StreamSample]:
    """The one stream beside the commits: the engine had no other."""
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


def _interval_with(interval: Interval, step: Step, commits: Commits) -> Interval:
    own = commits.operations
    parts = interval.streams or (interval,)
    others = iter(parts)
    streams = tuple(
        replace(parts[0], **_only(own)) if stream.name == COMMITS else next(others) for stream in step.streams
    )
    added = {name: _sum(getattr(interval, name), one) for name, one in own.items()}
    return replace(interval, streams=streams if len(streams) > 1 else (), **added)


def _only(operations: dict[str, OperationSample]) -> dict[str, OperationSample]:
    return dict.fromkeys(("read", "trim", "fsync"), NOTHING) | operations


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
