"""The native engine: Rust threads that issue and time I/O; what was built in, and why there is no
io_uring.
"""

import os
from functools import cache
from typing import Final

from openpts import _native
from openpts.engine.contract import EngineProgress, OutstandingIo
from openpts.engine.options import CompletionWait, Demand, IoPath, NativeOptions
from openpts.engine.program import ProgramQueue
from openpts.errors import EngineUnavailableError, UsageError
from openpts.system_files import SystemRoots, read_integer, read_lines
from openpts.vocabulary.engine_overhead import own_latency_facts
from openpts.vocabulary.facts import Fact, Facts, TargetFacts

AVAILABLE: Final = "available"
FEATURES: Final = {"traces": hasattr(_native, "trace_formats")}
"""The optional crate that the native module has, or lacks."""


def build() -> str:
    """Version of the native module, how it was compiled, and for which processor."""
    info = _native.build_info()
    return f"{info['version']} {info['profile']} {info['architecture']}"


def io_uring() -> str:
    """The end of a set-up of io_uring: ``AVAILABLE``, or the kernel's answer."""
    descriptor = os.memfd_create("openpts")
    try:
        return dict(_native.probe(descriptor, sector_bytes=512)[1])["io_uring"]
    finally:
        os.close(descriptor)


_REFUSALS: Final = ("(os error 1)", "(os error 38)")
"""EPERM, as Docker's filter and the setting answer, and ENOSYS, as Podman's does."""
_FOR_PRIVILEGED, _FOR_NONE = 1, 2


def refused_by(error: str, roots: SystemRoots) -> str:
    """What refuses io_uring, and what lets it; ``error`` is the kernel's answer, with its number."""
    if not any(number in error for number in _REFUSALS):
        return "it needs Linux 5.11 or later, and memory that may be locked (`ulimit -l`)"
    setting = read_integer(roots.proc / "sys/kernel/io_uring_disabled")
    if setting in {_FOR_PRIVILEGED, _FOR_NONE}:
        return (
            f"kernel.io_uring_disabled is {setting}: as root, `sysctl kernel.io_uring_disabled=0` allows it"
        )
    if "Seccomp: 2" in read_lines(roots.proc / "self/status"):
        return (
            "a seccomp filter of the container or the service refuses it: start that with one which "
            "allows io_uring_setup, io_uring_enter and io_uring_register, or with `seccomp=unconfined`"
        )
    return "the kernel has no io_uring: it needs Linux 5.11 or later, built with CONFIG_IO_URING"


_SOURCE = "openpts._native"
# A processor that others keep busy leaves no time for a measurement.
_NOT_MEASURED = (_native.UnavailableError, _native.StoppedError)
# Where a thread can have but one I/O outstanding, there are as many threads as I/Os outstanding.
_STREAMS = {IoPath.SYNC: "one for each outstanding I/O: TC x QD of them"}


class NativeEngine(ProgramQueue):
    """Implements openpts.engine.contract.CapturingEngine on an open descriptor, which it duplicates."""

    def __init__(
        self,
        descriptor: int,
        target: TargetFacts,
        demand: Demand,
        seed: int,
        options: NativeOptions | None = None,
    ) -> None:
        self._options = options or NativeOptions()
        self._path, self._probed = self._choose_path(descriptor, target.sector_bytes)
        capture, resumed = self._options.capture, self._options.resumed
        try:
            engine = _native.Engine(
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
                slow_io_ns=self._options.slow_io_ns,
                cpus=list(self._options.cpus),
                most_errors=self._options.most_errors,
                over_read_errors=self._options.over_read_errors,
                capture=None if capture is None else (capture.folder, capture.lba_bytes),
                resumed=None if resumed is None else (resumed.interruptions, resumed.carried),
            )
        except _native.UnavailableError as error:
            reason = str(error)
            if reason.startswith("io_uring can't be set up"):
                reason += f": {refused_by(reason, SystemRoots())}; or use --io-path sync"
            raise EngineUnavailableError(reason) from error
        except ValueError as error:
            raise UsageError(str(error)) from error
        self._rings = engine
        self._threads = demand.tc * (demand.qd if self._path is IoPath.SYNC else 1)
        super().__init__(engine, target, self._options.interval_ns)

    def _choose_path(self, descriptor: int, sector_bytes: int) -> tuple[IoPath, Facts]:
        """What the operator wants, or what suits the target; and what was found, for the record."""
        suited, findings = _native.probe(descriptor, sector_bytes=sector_bytes)
        facts = {name: Fact(value, "probe of the target") for name, value in findings}
        found = facts["io_uring"].value or ""
        if found != AVAILABLE:
            facts["io_uring"] = Fact(f"{found}: {refused_by(found, SystemRoots())}", "probe of the target")
        requested = self._options.io_path
        return (IoPath(suited) if requested is None else requested), facts

    @property
    def facts(self) -> Facts:
        """Engine, build, path to the target and why, and what the kernel gave."""
        chosen = "the target's probe" if self._options.io_path is None else "--io-path"
        waits = {
            CompletionWait.EACH: "each completion is waited for",
            CompletionWait.BATCHED: "completions are waited for in batches",
        }
        cpus = ", ".join(str(cpu) for cpu in self._options.cpus) or "not pinned"
        return {
            "engine": Fact("native", _SOURCE),
            "build": Fact(build(), _SOURCE),
            "io_path": Fact(self._path, chosen),
            "latency": Fact("every I/O, from submission to reaping", _SOURCE),
            "completion_wait": Fact(waits[self._options.completion_wait], _SOURCE),
            "sequential_streams": Fact(_STREAMS.get(self._path, "one for each thread"), _SOURCE),
            "clock": Fact(self._rings.clock_source(), _SOURCE),
            "processors": Fact(cpus, _SOURCE),
            **_overhead(self._options.cpus[:1]),
            **self._probed,
            **{
                name: Fact("yes" if given else "no", f"{self._path} set-up")
                for name, given in sorted(self._rings.features().items())
            },
        }

    @property
    def cpus(self) -> tuple[int, ...]:
        """See the contract: threads take them in turn, and there may be fewer threads than processors."""
        return self._options.cpus[: self._threads]

    def progress(self) -> EngineProgress:
        oldest = self._rings.oldest()
        return EngineProgress(*self._rings.progress(), None if oldest is None else OutstandingIo(*oldest))


@cache
def _measured_overhead(cpus: tuple[int, ...]) -> tuple[float, float, float]:
    """Own share of a latency, awake and asleep, and processor time per I/O, all in ns.

    Measured once in the life of a process for each processor. Raises UnavailableError of the native module,
    and StoppedError where other work left the processor no time for it.
    """
    return _native.measure_overhead(cpus=list(cpus))


def cpu_ns_per_io(cpus: tuple[int, ...] = ()) -> float | None:
    """What an I/O costs the engine alone on this host, or on the first of these processors; None where it
    can't be measured."""
    try:
        return _measured_overhead(cpus[:1])[2]
    except _NOT_MEASURED:
        return None


def memory_rates(cpus: list[int], buffer_bytes: int, duration_ms: int) -> tuple[dict[int, float], float]:
    """Bytes read and written per second, together, by copies on all of these processors at once, of each.

    And how much of that time the copies had the processors, of 1. Raises OSError.
    """
    rates, share = _native.measure_memory(cpus=cpus, buffer_bytes=buffer_bytes, duration_ms=duration_ms)
    return dict(zip(cpus, rates, strict=True)), share


def _overhead(cpus: tuple[int, ...]) -> Facts:
    """The engine's own share of every figure."""
    try:
        awake_ns, asleep_ns, of_cpu_ns = _measured_overhead(cpus)
    except _NOT_MEASURED as error:
        return {"own_overhead": Fact(None, f"no measurement: {error}")}
    return own_latency_facts(awake_ns, asleep_ns) | {
        "own_cpu_time": Fact(f"{of_cpu_ns:.0f} ns per I/O", "requests that do nothing")
    }
