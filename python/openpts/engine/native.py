"""The native engine: Rust threads that issue and time I/O."""

from collections import deque
from collections.abc import Sequence
from functools import cache
from time import monotonic

from openpts import _native
from openpts.engine.contract import EngineProgress, EngineStoppedError, OutstandingIo
from openpts.engine.options import CaptureSummary, CompletionWait, Demand, IoPath, NativeOptions
from openpts.engine.program import program_json
from openpts.errors import EngineUnavailableError, RecordError, UsageError
from openpts.vocabulary.facts import Fact, Facts, TargetFacts
from openpts.vocabulary.sample import (
    NOTHING,
    CpuShares,
    Interval,
    IoErrors,
    IoFailure,
    OperationSample,
    Sample,
    StepState,
)
from openpts.vocabulary.stimulus import Step

_SOURCE = "openpts._native"
# Where a thread can have but one I/O outstanding, there are as many threads as I/Os outstanding.
_STREAMS = {IoPath.SYNC: "one for each outstanding I/O: TC x QD of them"}


class NativeEngine:
    """Implements openpts.engine.contract.Engine on an open descriptor, which it duplicates."""

    def __init__(
        self,
        descriptor: int,
        target: TargetFacts,
        demand: Demand,
        seed: int,
        options: NativeOptions | None = None,
    ) -> None:
        self._target = target
        self._options = options or NativeOptions()
        self._submitted: deque[Step] = deque()
        self._intervals: list[Interval] = []
        self._shown = 0
        self._path, self._probed = self._choose_path(descriptor)
        capture = self._options.capture
        try:
            self._engine = _native.Engine(
                descriptor,
                capacity_bytes=target.user_capacity_bytes,
                sector_bytes=target.sector_bytes,
                tc=demand.tc,
                qd=demand.qd,
                block_size_bytes=demand.block_size_bytes,
                seed=seed,
                interval_ns=self._options.interval_ns,
                interval_histograms=self._options.interval_histograms,
                io_path=self._path,
                batched_wait=self._options.completion_wait is CompletionWait.BATCHED,
                cpus=list(self._options.cpus),
                most_errors=self._options.most_errors,
                capture=None if capture is None else (capture.folder, capture.lba_bytes),
            )
        except _native.UnavailableError as error:
            raise EngineUnavailableError(_unavailable(str(error))) from error

    def _choose_path(self, descriptor: int) -> tuple[IoPath, Facts]:
        """What the operator wants, or what suits the target; and what was found, for the record."""
        suited, findings = _native.probe(descriptor, sector_bytes=self._target.sector_bytes)
        facts = {name: Fact(value, "probe of the target") for name, value in findings}
        wanted = self._options.io_path
        return (IoPath(suited) if wanted is None else wanted), facts

    @property
    def facts(self) -> Facts:
        """Engine, build, path to the target and why, and what the kernel gave."""
        build = _native.build_info()
        chosen = "the target's probe" if self._options.io_path is None else "--io-path"
        waits = {
            CompletionWait.EACH: "each completion is waited for",
            CompletionWait.BATCHED: "completions are waited for in batches",
        }
        cpus = ", ".join(str(cpu) for cpu in self._options.cpus) or "not pinned"
        return {
            "engine": Fact("native", _SOURCE),
            "build": Fact(f"{build['version']} {build['profile']} {build['architecture']}", _SOURCE),
            "io_path": Fact(self._path, chosen),
            "latency": Fact("every I/O, from submission to reaping", _SOURCE),
            "completion_wait": Fact(waits[self._options.completion_wait], _SOURCE),
            "sequential_streams": Fact(_STREAMS.get(self._path, "one for each thread"), _SOURCE),
            "clock": Fact(self._engine.clock_source(), _SOURCE),
            "processors": Fact(cpus, _SOURCE),
            **_overhead(),
            **self._probed,
            **{
                name: Fact("yes" if given else "no", f"{self._path} set-up")
                for name, given in sorted(self._engine.features().items())
            },
        }

    def submit(self, steps: Sequence[Step]) -> None:
        """See the contract."""
        try:
            self._engine.submit(program_json(steps, self._target))
        except ValueError as error:
            raise UsageError(str(error)) from error
        except _native.StoppedError as error:
            raise EngineStoppedError(str(error)) from error
        self._submitted.extend(steps)

    def poll(self, timeout_s: float) -> Sample | None:
        """See the contract."""
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
                    self._intervals.append(_interval(report))
                case _native.StepResult():
                    intervals, self._intervals, self._shown = tuple(self._intervals), [], 0
                    return _sample(self._submitted.popleft(), report, self._options.interval_ns, intervals)

    def progress(self) -> EngineProgress:
        """See the contract."""
        oldest = self._engine.oldest()
        return EngineProgress(*self._engine.progress(), None if oldest is None else OutstandingIo(*oldest))

    def new_intervals(self) -> tuple[Interval, ...]:
        """See the contract."""
        new = tuple(self._intervals[self._shown :])
        self._shown = len(self._intervals)
        return new

    def stop(self) -> None:
        """See the contract."""
        self._engine.stop()

    def finish(self) -> CaptureSummary | None:
        """Stop, and complete the files of the capture, if there is one.

        Raises RecordError if not every I/O is in them.
        """
        try:
            summary = self._engine.finish()
        except _native.UnavailableError as error:
            raise RecordError(str(error)) from error
        if summary is None:
            return None
        return CaptureSummary(
            ios=summary.ios,
            discarded_ios=summary.discarded_ios,
            bytes_written=summary.bytes_written,
            files=summary.files,
            blocked_times=summary.blocked_times,
            blocked_ns=summary.blocked_ns,
        )


@cache
def _overhead() -> Facts:
    """The engine's own share of every figure; measured once in the life of a process."""
    try:
        mean_latency_ns, cpu_ns_per_io = _native.measure_overhead()
    except _native.UnavailableError as error:
        return {"own_overhead": Fact(None, f"no measurement: {error}")}
    source = "a device that does nothing"
    return {
        "own_latency": Fact(f"{mean_latency_ns:.0f} ns of each latency at QD 1", source),
        "own_cpu_time": Fact(f"{cpu_ns_per_io:.0f} ns per I/O", source),
    }


def _unavailable(reason: str) -> str:
    if not reason.startswith("io_uring can't be set up"):
        return reason
    return (
        f"{reason}. It needs Linux 5.11 or later and must be allowed: look at "
        "`sysctl kernel.io_uring_disabled` and at the seccomp profile of the container, or use --io-path sync"
    )


def _sample(
    step: Step, result: _native.StepResult, interval_ns: int, intervals: tuple[Interval, ...]
) -> Sample:
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
        **_operations(result.operations),
    )


def _interval(result: _native.IntervalResult) -> Interval:
    return Interval(
        index=result.index,
        elapsed_ns=result.elapsed_ns,
        in_flight=result.in_flight,
        errors=result.errors,
        cpu=_cpu(result.cpu),
        **_operations(result.operations),
    )


def _operations(results: dict[str, _native.OperationResult]) -> dict[str, OperationSample]:
    samples = {
        name: OperationSample(
            ios=result.ios,
            bytes=result.bytes,
            latency_sum_ns=result.latency_sum_ns,
            latency_min_ns=result.latency_min_ns,
            latency_max_ns=result.latency_max_ns,
            histogram=result.histogram,
        )
        for name, result in results.items()
    }
    return {"read": NOTHING, "write": NOTHING} | samples


def _cpu(shares: tuple[float, float, float, int] | None) -> CpuShares | None:
    return CpuShares(*shares) if shares else None
