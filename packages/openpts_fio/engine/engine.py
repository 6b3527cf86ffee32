"""The fio engine: a fio process for each step, as a second opinion on what the native engine measures."""

import fcntl
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Sequence
from itertools import count
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from time import monotonic_ns
from typing import Final, Self

from msgspec import Struct
from msgspec.structs import replace

from openpts import _native
from openpts.engine.contract import EngineProgress, EngineStoppedError
from openpts.engine.program import each_step
from openpts.errors import EngineUnavailableError, UsageError
from openpts.ownership import owned_descriptors
from openpts.system_files import SystemRoots, printable, read_lines
from openpts.units import NS_PER_MS, NS_PER_S
from openpts.vocabulary.facts import Fact, Facts, TargetFacts
from openpts.vocabulary.sample import (
    CpuShares,
    HostStall,
    Interval,
    IoFailure,
    Sample,
    StepState,
    StreamSample,
)
from openpts.vocabulary.stimulus import Duration, Step, Stream
from openpts_fio.engine.job import FioPath, JobSetting, job_file
from openpts_fio.engine.results import FioResult, FioStream, NoResultError, parse_result
from openpts_fio.engine.stream_options import time_limit_ns
from openpts_fio.figures import operations_of

_TIMEOUT_S: Final = 10
_VERSION: Final = re.compile(r"fio-(\d+)\.(\d+)")
# the first with bins of total latencies in JSON+ beside registered files and buffers of io_uring
_OLDEST: Final = (3, 19)


class FioProgram(Struct, frozen=True):
    """An fio that serves; ``version`` as it prints it, such as ``fio-3.33``."""

    path: str
    version: str


def find_fio(search_path: str | None = None) -> FioProgram:
    """The fio on the search path (default: that of the process). Raises EngineUnavailableError."""
    path = shutil.which("fio", path=search_path)
    if path is None:
        raise EngineUnavailableError(
            "the program fio is not installed: install the package fio of the distribution, "
            "for example with `apt install fio` or `dnf install fio`"
        )
    try:
        answer = subprocess.run(
            [path, "--version"],
            capture_output=True,
            check=True,
            encoding="utf-8",
            errors="replace",
            env={**os.environ, "LC_ALL": "C"},
            timeout=_TIMEOUT_S,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise EngineUnavailableError(f"{path} --version failed: {printable(str(error))}") from error
    version = printable(answer.stdout)
    found = _VERSION.match(version)
    if found is None:
        raise EngineUnavailableError(f"{path} reports {version!r}, which is not a version of fio")
    if (int(found[1]), int(found[2])) < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        raise EngineUnavailableError(
            f"{path} is {version}: fio-{oldest} or later is needed, for total latencies in its JSON+ "
            "and for registered files and buffers"
        )
    return FioProgram(path, version)


class FioProcess:
    """Runs a job; made ahead, so that another thread can end what has not even begun."""

    def __init__(self, program: FioProgram, descriptor: int, *, read_only: bool) -> None:
        self._command = [program.path, "--output-format=json+", *(["--readonly"] if read_only else []), "-"]
        self._descriptor = descriptor
        self._lock = Lock()
        self._process: subprocess.Popen[str] | None = None
        self.interrupted = False
        """Whether openpts asked fio to end early."""

    def run(self, job: str) -> subprocess.CompletedProcess[str] | None:
        """Run to the end; None if it was interrupted before it began. Raises OSError if it can't start."""
        with self._lock:
            if self.interrupted:
                return None
            # A session of its own: Ctrl-C at the terminal is for openpts, which ends fio itself.
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                env={"LC_ALL": "C"},
                # it continues if we are killed, and with it our claim of its target
                pass_fds=[self._descriptor, *owned_descriptors()],
                start_new_session=True,
            )
        stdout, stderr = self._process.communicate(job)
        return subprocess.CompletedProcess(self._command, self._process.returncode, stdout, stderr)

    def interrupt(self) -> None:
        """Have fio end its jobs; it still prints what it measured.

        Not by SIGINT, which fio ignores before it has come up if its parent does.
        """
        with self._lock:
            self.interrupted = True
            if self._process is not None and self._process.poll() is None:
                self._process.send_signal(signal.SIGTERM)


class HostCpu(Struct, frozen=True):
    """Counters of /proc/stat at one moment, in clock ticks."""

    user: int
    system: int
    iowait: int
    total: int

    @classmethod
    def now(cls, roots: SystemRoots) -> Self | None:
        """Processor time of all CPUs so far, in ticks; None where the kernel shows none."""
        lines = read_lines(roots.proc / "stat")
        fields = lines[0].split() if lines else []
        if len(fields) < 9 or fields[0] != "cpu" or not all(field.isdecimal() for field in fields[1:9]):
            return None
        user, nice, system, idle, iowait, irq, softirq, steal = map(int, fields[1:9])
        total = user + nice + system + idle + iowait + irq + softirq + steal
        return cls(user + nice, system + irq + softirq, iowait, total)

    def shares_since(self, earlier: Self, process_ns: int) -> CpuShares | None:
        """Per cent of all processors' capacity since then; None if no tick has passed."""
        ticks = self.total - earlier.total
        if ticks <= 0:
            return None
        return CpuShares(
            user_pct=100 * (self.user - earlier.user) / ticks,
            sys_pct=100 * (self.system - earlier.system) / ticks,
            iowait_pct=max(0.0, 100 * (self.iowait - earlier.iowait) / ticks),
            process_ns=process_ns,
        )


def _no_result(step: Step, elapsed_ns: int = 0, failure: IoFailure | None = None) -> FioResult:
    """Result without any I/O: of an idle gap, or of a step for which fio left no result."""
    streams = tuple(FioStream({}, 0, 0, 0) for _ in step.streams)
    return FioResult({}, elapsed_ns, 0, failure, (), streams)


_Queued = tuple[Step, str | None]
"""A step waiting for fio, with its job file; None for an idle gap."""


class FioEngine:
    """Implements openpts.engine.contract.Engine on an open descriptor, which it duplicates.

    fio opens the target again through the descriptor that it inherits, so that it is the same file or
    drive; a claim of the guard's lasts for as long as fio runs. A target that was opened for reading is
    read with ``--readonly``.
    """

    def __init__(
        self,
        descriptor: int,
        target: TargetFacts,
        seed: int,
        path: FioPath = FioPath.IO_URING,
        program: FioProgram | None = None,
        *,
        cpu: int | None = None,
    ) -> None:
        self._program = program or find_fio()
        self._target = target
        self._descriptor = os.dup(descriptor)
        flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
        self._read_only = flags & os.O_ACCMODE == os.O_RDONLY
        filename = f"/proc/self/fd/{self._descriptor}"
        self._setting = JobSetting(filename, bool(flags & os.O_DIRECT), path, seed, cpu)
        self._watched_time = _native.WatchedTime()
        self._submitted = 0
        self._waiting: SimpleQueue[_Queued | None] = SimpleQueue()
        self._finished: SimpleQueue[Sample | None] = SimpleQueue()
        self._stopped = Event()
        self._ended = False
        self._lock = Lock()
        self._running: FioProcess | None = None
        self._progress = EngineProgress(0, 0, 0, 0)
        self._step_began_ns: int | None = None
        self._thread = Thread(target=self._work, name="fio engine", daemon=True)
        self._thread.start()

    @property
    def facts(self) -> Facts:
        """Engine, version and path, and how each figure of fio's is measured."""
        source = self._program.path
        return {
            "engine": Fact(self._program.version, source),
            "io_path": Fact(self._setting.path, "ioengine of the job"),
            "processors": Fact("not pinned" if self._setting.cpu is None else str(self._setting.cpu), source),
            "direct_io": Fact("yes" if self._setting.direct else "no", "the open target"),
            "latency": Fact("every I/O, fio's lat: from before the submission to reaping", source),
            "histogram": Fact("64 buckets per octave, within 0.78 %; extremes and mean are exact", source),
            "elapsed": Fact("longest run time of a thread, in whole milliseconds", source),
            "mix": Fact("by chance for each I/O, not exact over a deck", source),
            "random_offsets": Fact("tausworthe64, another seed for each step and thread", source),
            "sequences": Fact("start again with each step", source),
            "between_steps": Fact("a process ends and another starts: about 300 ms without I/O", source),
            "processor_shares": Fact(
                "over the life of the process, its start and end included", "/proc/stat"
            ),
        }

    def check(self, steps: Sequence[Step]) -> None:
        """See the contract. Refuses by name what fio cannot express."""
        self._queued(steps)

    def submit(self, steps: Sequence[Step]) -> None:
        """See the contract. Refuses by name what fio cannot express, before any of the steps runs."""
        queued = self._queued(steps)
        with self._lock:
            if self._stopped.is_set():
                raise EngineStoppedError("the engine was stopped")
            self._submitted += len(queued)
            for one in queued:
                self._waiting.put(one)

    def poll(self, timeout_s: float) -> Sample | None:
        """See the contract."""
        if self._ended:
            raise EngineStoppedError("the engine was stopped")
        try:
            sample = self._finished.get(timeout=timeout_s) if timeout_s > 0 else self._finished.get_nowait()
        except Empty:
            return None
        if sample is None:
            self._ended = True
            raise EngineStoppedError("the engine was stopped")
        return sample

    def progress(self) -> EngineProgress:
        """See the contract; fio's I/Os are known, and counted, when their step has ended."""
        progress, began_ns = self._progress, self._step_began_ns
        elapsed_ns = 0 if began_ns is None else monotonic_ns() - began_ns
        return EngineProgress(progress.steps_begun, elapsed_ns, progress.ios, progress.bytes)

    def new_intervals(self) -> tuple[Interval, ...]:
        """None: fio is asked for the whole step only."""
        return ()

    def stop(self) -> None:
        """See the contract."""
        with self._lock:
            self._stopped.set()
            running = self._running
        if running is not None:
            running.interrupt()
        self._waiting.put(None)

    def _queued(self, steps: Sequence[Step]) -> list[_Queued]:
        numbers = count(self._submitted)
        return each_step(steps, lambda step: self._translated(step, next(numbers)))

    def _translated(self, step: Step, number: int) -> _Queued:
        if step.capture:
            raise UsageError("the fio engine captures no I/O: the native engine does")
        if step.is_idle:
            if not isinstance(step.stop, Duration):
                raise UsageError("an idle gap ends by a duration only")
            return step, None
        if self._read_only and any(stimulus.changes_target for stimulus in step.stimuli):
            raise UsageError(f"{self._target.name} is open for reading only, and the step writes")
        return step, job_file(step, self._setting, self._target, number)

    def _work(self) -> None:
        """The thread: one step after the other, until the first failure or a stop."""
        try:
            while not self._stopped.is_set() and (queued := self._waiting.get()) is not None:
                began, (step, job) = self._progress, queued
                self._progress = EngineProgress(began.steps_begun + 1, 0, began.ios, began.bytes)
                self._step_began_ns = monotonic_ns()
                sample = self._idle(step) if job is None else self._run(step, job)
                self._step_began_ns = None
                if sample is None:
                    break
                self._progress = EngineProgress(
                    began.steps_begun + 1, 0, began.ios + sample.ios, began.bytes + sample.bytes
                )
                self._finished.put(sample)
                if sample.state is not StepState.COMPLETE:
                    break
        finally:
            self._stopped.set()
            os.close(self._descriptor)
            self._finished.put(None)

    def _idle(self, step: Step) -> Sample:
        assert isinstance(step.stop, Duration)  # noqa: S101 submit takes no other
        started_ns = monotonic_ns()
        stopped = self._stopped.wait(step.stop.duration_ns / NS_PER_S)
        state = StepState.INTERRUPTED if stopped else StepState.COMPLETE
        elapsed_ns = monotonic_ns() - started_ns
        return _sample(step, state, _no_result(step, elapsed_ns), started_ns, self._standstills(started_ns))

    def _standstills(self, started_ns: int) -> tuple[HostStall, ...]:
        """What disturbed a step that has just ended: what stops openpts mostly stops fio with it."""
        found = self._watched_time.between(started_ns, monotonic_ns())
        return tuple(HostStall(*standstill) for standstill in found)

    def _run(self, step: Step, job: str) -> Sample | None:
        process = FioProcess(self._program, self._descriptor, read_only=self._read_only)
        with self._lock:
            if self._stopped.is_set():
                return None
            self._running = process
        roots = SystemRoots()
        before, started_ns = HostCpu.now(roots), monotonic_ns()
        state, result = _carried_out(process, step, job)
        after = HostCpu.now(roots)
        cpu = after.shares_since(before, result.process_ns) if before and after else None
        return _sample(step, state, result, started_ns, self._standstills(started_ns), cpu)


def _carried_out(process: FioProcess, step: Step, job: str) -> tuple[StepState, FioResult]:
    """Run the job and judge how it ended; a fio that fails without a result is a failed step too."""
    try:
        output = process.run(job)
        result = _no_result(step) if output is None else parse_result(output.stdout, output.stderr, step)
    except (OSError, NoResultError) as error:
        output, result = None, _no_result(step, failure=_job_failure(f"fio left no result: {error}"))
    if process.interrupted:
        # what it says about that, and what it leaves unsaid when it had not begun, is no failure
        return StepState.INTERRUPTED, replace(result, failure=None) if output is None else result
    if result.failure is None and output is not None and output.returncode:
        reason = output.stderr.strip() or f"fio ended with exit code {output.returncode}"
        result = replace(result, failure=_job_failure(reason))
    return StepState.FAILED if result.failure else StepState.COMPLETE, result


def _job_failure(reason: str) -> IoFailure:
    return IoFailure("job", 0, 0, reason)


def _sample(  # noqa: PLR0917 the request, its result, and its surroundings
    step: Step,
    state: StepState,
    result: FioResult,
    started_ns: int,
    standstills: tuple[HostStall, ...],
    cpu: CpuShares | None = None,
) -> Sample:
    return Sample(
        step=step,
        state=state,
        ended_by=_ended_by(step, result.streams) if state is StepState.COMPLETE else None,
        started_ns=started_ns,
        elapsed_ns=result.elapsed_ns,
        gap_ns=None,
        interval_ns=NS_PER_S,
        intervals=(),
        cpu=cpu,
        failure=result.failure,
        errors=result.errors,
        standstills=standstills,
        streams=tuple(
            _stream_sample(step, stream, of_stream, state, started_ns)
            for stream, of_stream in zip(step.streams, result.streams, strict=True)
        )
        if len(result.streams) > 1
        else (),
        **operations_of(result.operations),
    )


def _stream_sample(
    step: Step, stream: Stream, result: FioStream, state: StepState, started_ns: int
) -> StreamSample:
    return StreamSample(
        ended_by=_stream_ended_by(step, stream, result) if state is StepState.COMPLETE else None,
        started_ns=started_ns + result.after_ns,
        elapsed_ns=result.elapsed_ns,
        cpu=None,
        errors=result.errors,
        **operations_of(result.operations),
    )


def _ended_by(step: Step, results: Sequence[FioStream]) -> str:
    """By the duration if any stream was, as an idle gap is."""
    ended = [_stream_ended_by(step, *one) for one in zip(step.streams, results, strict=True)]
    return "duration" if step.is_idle or "duration" in ended else "amount"


def _stream_ended_by(step: Step, stream: Stream, result: FioStream) -> str:
    """By its time, if that has passed; fio does not say, and its run times are whole milliseconds."""
    limit_ns = time_limit_ns(step, stream)
    return "duration" if limit_ns is not None and result.elapsed_ns > limit_ns - NS_PER_MS else "amount"
