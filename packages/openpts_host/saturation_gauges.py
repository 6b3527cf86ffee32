"""What tells that the host is at its limit: threads that wait, quotas, heat, bandwidth of the memory."""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from openpts.analysis.limited_seconds import ENGINE_THREADS
from openpts.gauge import Gauge, Growth, Values, known, whole_number
from openpts.system_files import SystemRoots, read_text
from openpts.units import NS_PER_S, NS_PER_US
from openpts.vocabulary.memory_bandwidth import MemoryBandwidth
from openpts_host.container import control_groups
from openpts_host.memory import memory_by_modules

_ENGINE_THREAD: Final = "openpts-io-"
# A path with a thread for each I/O may have a thousand of them; they are alike.
_MOST_THREADS: Final = 64
_MS_PER_S: Final = 1000
_QUOTA_UNITS: Final = {b"throttled_usec": NS_PER_US, b"throttled_time": 1}


def saturation_gauges(
    roots: SystemRoots, engine_cpus: Collection[int], memory: MemoryBandwidth | None = None
) -> tuple[Gauge, ...]:
    """Each with the reason where this machine does not tell. ``memory`` None: by its modules."""
    bandwidth = memory or memory_by_modules(roots)
    return _threads(roots), _quota(roots), _heat(roots, engine_cpus), _memory(roots, bandwidth)


def _threads(roots: SystemRoots) -> Gauge:
    folder = roots.proc / "self/task"
    threads = [
        task
        for task in sorted(folder.glob("*"))
        if (read_text(task / "comm") or "").startswith(_ENGINE_THREAD)
    ]
    paths = [task / "schedstat" for task in threads if (task / "schedstat").exists()]
    if not paths:
        why = f"{folder}/*/schedstat is missing" if threads else "the engine has no threads of its own"
        return Gauge(ENGINE_THREADS, None, why)
    paths = paths[:: -(-len(paths) // _MOST_THREADS)]
    return Gauge(
        ENGINE_THREADS,
        f"time in % in which one of {len(paths)} threads waited for a processor, and in which one waited or "
        "worked; of each the highest",
        f"{folder}/*/schedstat",
        tuple(paths),
        ThreadTimes(),
        resolution=1.0,
        of_period=True,
    )


class ThreadTimes(Struct):
    """Since the reading before, of the thread with the most; a wait counts when it has ended."""

    _growth: Growth = field(default_factory=Growth)

    def __call__(self, contents: Sequence[bytes], at_ns: int) -> Values:
        """``engine_wait_pct``, ``engine_awake_pct``."""
        sums_ns: dict[str, float] = {}
        for number, content in enumerate(contents):
            fields = content.split()
            if len(fields) >= 2:
                run_ns, wait_ns = int(fields[0]), int(fields[1])
                sums_ns[f"wait {number}"] = wait_ns
                sums_ns[f"awake {number}"] = run_ns + wait_ns
        grown = self._growth.per_s(sums_ns, at_ns)
        return {
            f"engine_{what}_pct": 100 * max(of_threads) / NS_PER_S
            for what in ("wait", "awake")
            if (of_threads := [ns for name, ns in grown.items() if name.startswith(what)])
        }


def _quota(roots: SystemRoots) -> Gauge:
    counts = [group / "cpu.stat" for group in control_groups(roots)]
    paths = tuple(path for path in counts if any(unit.decode() in _text(path) for unit in _QUOTA_UNITS))
    if not paths:
        why = "no control group of this process can limit its processor time"
        return Gauge("processor quota", None, why)
    return Gauge(
        "processor quota",
        "time in % in which a control group had used up its processor time",
        ", ".join(map(str, paths)),
        paths,
        Stopped(_throttled_s),
        resolution=1.0,
        of_period=True,
    )


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def _throttled_s(content: bytes) -> float | None:
    for line in content.splitlines():
        name, _, count = line.partition(b" ")
        if name in _QUOTA_UNITS and count.isdigit():
            return int(count) * _QUOTA_UNITS[name] / NS_PER_S
    return None


class Stopped(Struct):
    """The largest of several sums of seconds in which something was held back, as a share of the time."""

    seconds: Callable[[bytes], float | None]
    name: str = "cpu_quota_pct"
    _growth: Growth = field(default_factory=Growth)

    def __call__(self, contents: Sequence[bytes], at_ns: int) -> Values:
        """Under its name, in per cent; of several processors together it may be above 100."""
        sums_s = known((str(number), self.seconds(content)) for number, content in enumerate(contents))
        grown = self._growth.per_s(sums_s, at_ns)
        return {self.name: 100 * max(grown.values())} if grown else {}


def _heat(roots: SystemRoots, engine_cpus: Collection[int]) -> Gauge:
    cpus = roots.sys / "devices/system/cpu"
    cores = [
        path
        for path in sorted(cpus.glob("cpu[0-9]*/thermal_throttle/core_throttle_total_time_ms"))
        if not engine_cpus or int(path.parent.parent.name.removeprefix("cpu")) in engine_cpus
    ]
    packages = {
        read_text(path.parent.parent / "topology/physical_package_id"): path.with_name(
            "package_throttle_total_time_ms"
        )
        for path in cores
    }
    paths = (*cores, *(path for path in packages.values() if path.exists()))
    source = f"{cpus}/cpu*/thermal_throttle/*_throttle_total_time_ms"
    if not paths:
        return Gauge("processor throttling", None, f"{source} is missing: the processor does not count it")
    return Gauge(
        "processor throttling",
        "time in % in which heat held back a core or package of the engine's processors",
        source,
        paths,
        Stopped(_counted_s, "cpu_throttled_pct"),
        resolution=1.0,
        of_period=True,
    )


def _counted_s(content: bytes) -> float | None:
    count = whole_number(content)
    return None if count is None else count / _MS_PER_S


_TRAFFIC: Final = "fs/resctrl/mon_data"


def memory_traffic(roots: SystemRoots) -> tuple[Path, ...]:
    """The counters of the last-level caches, which the resource control of the kernel shows if mounted."""
    return tuple(sorted((roots.sys / _TRAFFIC).glob("mon_L3_*/mbm_total_bytes")))


def _memory(roots: SystemRoots, memory: MemoryBandwidth) -> Gauge:
    folder, paths = roots.sys / _TRAFFIC, memory_traffic(roots)
    if not paths or memory.bytes_per_s is None:
        why = (
            f"what the memory can move is not known: {memory.source}"
            if paths
            else f"{folder} has no counters: resctrl is not mounted, or the processor does not count"
        )
        return Gauge("memory bandwidth", None, why)
    return Gauge(
        "memory bandwidth",
        f"what the processors move, without that of drives, in % of {memory}",
        f"{folder}/mon_L3_*/mbm_total_bytes",
        paths,
        MemoryUse(memory.bytes_per_s),
        resolution=1.0,
        of_period=True,
        of_host=True,
    )


class MemoryUse(Struct):
    """Since the reading before, of all caches together."""

    peak_bytes_per_s: float
    _growth: Growth = field(default_factory=Growth)

    def __call__(self, contents: Sequence[bytes], at_ns: int) -> Values:
        """``memory_use_pct``."""
        counts = [whole_number(content) for content in contents]
        moved = sum(count for count in counts if count is not None)
        grown = self._growth.per_s({"memory_use_pct": moved}, at_ns) if None not in counts else {}
        return {name: 100 * rate / self.peak_bytes_per_s for name, rate in grown.items()}
