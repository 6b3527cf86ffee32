"""What the host can tell while a drive is measured: power, processors, waits, quotas, heat, memory.

Power is that of hwmon's sensors and of the processors' own energy counters (RAPL); waits for memory and
processors are those of PSI; of the processors there are the shares of their time, and how fast they run.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Final

from msgspec import Struct, field

from openpts.analysis.host_limits import ENGINE_THREADS
from openpts.gauge import Gauge, Growth, Values, known, name_word, whole_number
from openpts.system_files import SystemRoots, read_text
from openpts.units import NS_PER_S, NS_PER_US
from openpts.vocabulary.bandwidth import MemoryBandwidth
from openpts_host.container import control_groups
from openpts_host.memory import memory_by_modules

_MICRO: Final = 1_000_000


def power_gauges(roots: SystemRoots) -> tuple[Gauge, ...]:
    """One for sensors and one for energy counters, each with the reason where there is none."""
    return _sensors(roots), _energy(roots)


def _sensors(roots: SystemRoots) -> Gauge:
    folder = roots.sys / "class/hwmon"
    found: dict[str, Path] = {}
    for kind in ("average", "input"):  # the present value where a sensor has both
        for path in sorted(folder.glob(f"hwmon*/power*_{kind}")):
            number = path.name.split("_")[0]
            chip = read_text(path.parent / "name") or path.parent.name
            label = read_text(path.parent / f"{number}_label") or number.removeprefix("power")
            found[f"power_{name_word(chip)}_{name_word(label)}_w"] = path
    if not found:
        return Gauge("power sensors", None, f"{folder}/hwmon*/power* is missing: no sensor of power")
    names = tuple(found)
    return Gauge(
        "power sensors",
        ", ".join(names),
        f"{folder}/hwmon*/power*",
        tuple(found.values()),
        lambda contents, _: {
            name: uw / _MICRO
            for name, uw in known(zip(names, map(whole_number, contents), strict=True)).items()
        },
        resolution=0.1,
        share=0.01,
        of_host=True,
        for_all=True,
    )


def _energy(roots: SystemRoots) -> Gauge:
    folder = roots.sys / "class/powercap"
    found: dict[str, Path] = {}
    for zone in sorted(folder.glob("intel-rapl:*")):
        if (zone / "energy_uj").exists() and (name := _zone_name(zone, folder)) not in found:
            found[name] = zone / "energy_uj"
    if not found:
        return Gauge("processor power", None, f"{folder}/intel-rapl:* is missing: no energy counters here")
    return Gauge(
        "processor power",
        f"{', '.join(found)}; root alone may read it",
        f"{folder}/intel-rapl:*/energy_uj",
        tuple(found.values()),
        EnergyCounters(tuple(found)),
        resolution=0.5,
        share=0.02,
        of_host=True,
        for_all=True,
    )


def _zone_name(zone: Path, folder: Path) -> str:
    """Of a zone within another with the name of that before it: ``power_package_0_dram_w``."""
    above = zone.name.rpartition(":")[0]
    zones = ([folder / above] if above.count(":") else []) + [zone]
    return f"power_{'_'.join(name_word(read_text(each / 'name') or each.name) for each in zones)}_w"


class EnergyCounters(Struct):
    """Mean power since the reading before. A counter that was reset in between gives no value."""

    names: tuple[str, ...]
    _growth: Growth = field(default_factory=Growth)

    def __call__(self, contents: Sequence[bytes], at_ns: int) -> Values:
        """Watts by zone."""
        energy_uj = known(zip(self.names, map(whole_number, contents), strict=True))
        return {name: uw / _MICRO for name, uw in self._growth.per_s(energy_uj, at_ns).items()}


_US_PER_S: Final = 1_000_000
_EACH: Final = 5
# Not of io: a process that issues I/O waits for it all the time.
_RESOURCES: Final = ("memory", "cpu")


def pressure_gauge(roots: SystemRoots) -> Gauge:
    """Share of time in which some task, or every one, waited."""
    folder = roots.proc / "pressure"
    paths = tuple(folder / resource for resource in _RESOURCES)
    if not all(path.exists() for path in paths):
        return Gauge("pressure", None, f"{folder} is missing: the kernel keeps no pressure stall information")
    return Gauge(
        "pressure",
        "time in % in which some task waited for memory, every task did, some task for a processor",
        f"{folder}/{{{','.join(_RESOURCES)}}}",
        paths,
        Pressure(),
        each=_EACH,
        resolution=0.5,
        of_host=True,
        for_all=True,
    )


class Pressure(Struct):
    """Shares since the reading before, from the kernel's sums in microseconds."""

    _growth: Growth = field(default_factory=Growth)

    def __call__(self, contents: Sequence[bytes], at_ns: int) -> Values:
        """``memory_pressure_some_pct``, ``memory_pressure_full_pct``, ``cpu_pressure_some_pct``."""
        sums = {
            f"{resource}_pressure_{kind}_pct": total_us
            for resource, content in zip(_RESOURCES, contents, strict=True)
            for kind, total_us in _totals_us(content).items()
            if (resource, kind) != ("cpu", "full")  # of the whole machine it is 0 by definition
        }
        return {name: 100 * us / _US_PER_S for name, us in self._growth.per_s(sums, at_ns).items()}


def _totals_us(content: bytes) -> dict[str, float]:
    """By ``some`` and ``full``."""
    found = {}
    for line in content.decode("ascii", errors="replace").splitlines():
        kind, _, rest = line.partition(" ")
        total = rest.rpartition("total=")[2]
        if kind in {"some", "full"} and total.isdecimal():
            found[kind] = float(total)
    return found


# Columns of /proc/stat, by what they are summed up to; guests are in user already.
_COLUMNS: Final = {"user": (0, 1), "sys": (2,), "iowait": (4,), "irq": (5,), "softirq": (6,), "steal": (7,)}
_IDLE: Final = (3, 4)
_COLUMN_COUNT: Final = 8
_KHZ_PER_MHZ: Final = 1000
# Single processors are looked at more rarely: their number may be in the hundreds.
_EACH_OF_SINGLE: Final = 10


def processor_gauges(roots: SystemRoots, engine_cpus: Collection[int]) -> tuple[Gauge, ...]:
    """Shares of time of the engine's processors and of all others, of each by itself, and clocks.

    Without ``engine_cpus`` the engine may be on any of them: then all are one group.
    """
    stat = roots.proc / "stat"
    pinned = frozenset(engine_cpus)
    listed = ", ".join(str(cpu) for cpu in sorted(pinned))
    of_whom = f"of the engine's processors ({listed}) and of all others" if pinned else "of all processors"
    if not stat.exists():
        return (Gauge("processors", None, f"{stat} is missing"),)
    return (
        Gauge(
            "processors",
            f"busy, user, sys, I/O wait, irq, softirq, steal in %, {of_whom}",
            str(stat),
            (stat,),
            GroupShares(pinned),
            resolution=1.0,
            is_long=True,
            of_period=True,
            of_host=True,
        ),
        Gauge(
            "each processor",
            "the same of each processor",
            str(stat),
            (stat,),
            SingleShares(),
            each=_EACH_OF_SINGLE,
            resolution=2.0,
            is_long=True,
            of_host=True,
            for_all=True,
        ),
        _frequency(roots, pinned),
    )


Ticks = dict[str, tuple[int, ...]]


def _ticks(lines: Iterable[bytes]) -> Ticks:
    """Time since boot by processor and column; a line that makes no sense is left out."""
    ticks = {}
    for line in lines:
        name, *fields = line.split(maxsplit=1 + _COLUMN_COUNT)[: 1 + _COLUMN_COUNT] or [b""]
        if len(fields) == _COLUMN_COUNT and b"".join(fields).isdigit():
            ticks[name.decode()] = tuple(map(int, fields))
    return ticks


def _spent(before: Ticks, now: Ticks) -> dict[str, list[int]]:
    """Time since then, of those that were there; the kernel's own of idle ones goes back now and then."""
    return {
        name: [max(0, after - sooner) for after, sooner in zip(now[name], before[name], strict=True)]
        for name in now
        if name in before
    }


class GroupShares(Struct):
    """Shares of the time since the reading before, of processors together.

    Of all lines only those of the engine's processors are understood, and that of the kernel's own sum.
    """

    engine_cpus: frozenset[int]
    _before: Ticks = field(default_factory=dict)

    def __call__(self, contents: Sequence[bytes], _at_ns: int) -> Values:
        """``cpu_engine_busy_pct``, ``cpu_others_sys_pct`` ...; ``cpu_all_busy_pct`` ... if not pinned."""
        whole = b"\n" + contents[0]
        cpus = ("", *self.engine_cpus)
        begins = [whole.find(f"\ncpu{cpu} ".encode()) + 1 for cpu in cpus]
        now = _ticks(whole[begin : whole.find(b"\n", begin)] for begin in begins)
        spent = _spent(self._before, now)
        self._before = now
        if (of_all := spent.pop("cpu", None)) is None:
            return {}
        if not self.engine_cpus:
            return _shares("cpu_all", of_all)
        of_engine = [sum(ticks[column] for ticks in spent.values()) for column in range(_COLUMN_COUNT)]
        values = _shares("cpu_engine", of_engine)
        if whole.count(b"\ncpu") > 1 + len(spent):  # else there is but what rounding has left
            of_others = [max(0, ticks - ours) for ticks, ours in zip(of_all, of_engine, strict=True)]
            values |= _shares("cpu_others", of_others)
        return values


class SingleShares(Struct):
    """Shares of the time since the reading before, of each processor."""

    _before: Ticks = field(default_factory=dict)

    def __call__(self, contents: Sequence[bytes], _at_ns: int) -> Values:
        """``cpu_0_busy_pct``, ``cpu_0_user_pct`` ..."""
        lines = contents[0].split(b"\n")
        now = _ticks(line for line in lines if line.startswith(b"cpu") and line[3:4].isdigit())
        spent = _spent(self._before, now)
        self._before = now
        values: dict[str, float] = {}
        for name, of_one in spent.items():
            values |= _shares(f"cpu_{name.removeprefix('cpu')}", of_one)
        return values


def _shares(name: str, spent: Sequence[int]) -> dict[str, float]:
    """Nothing where no time went by."""
    whole = sum(spent)
    if not whole:
        return {}
    values = {f"{name}_busy_pct": 100 * (whole - sum(spent[column] for column in _IDLE)) / whole}
    for state, columns in _COLUMNS.items():
        values[f"{name}_{state}_pct"] = 100 * sum(spent[column] for column in columns) / whole
    return values


def _frequency(roots: SystemRoots, pinned: frozenset[int]) -> Gauge:
    """The kernel's own idea of the clock, which costs the processors nothing; theirs would be asked for."""
    cpus = roots.sys / "devices/system/cpu"
    paths = tuple(
        path
        for path in sorted(cpus.glob("cpu[0-9]*/cpufreq/scaling_cur_freq"))
        if not pinned or int(path.parent.parent.name.removeprefix("cpu")) in pinned
    )
    source = f"{cpus}/cpu*/cpufreq/scaling_cur_freq"
    if not paths:
        return Gauge("processor clock", None, f"{source} is missing: the kernel doesn't set clocks here")
    group, of_whom = (
        ("cpu_engine", "of the engine's processors") if pinned else ("cpu_all", "of all processors")
    )
    return Gauge(
        "processor clock",
        f"mean and lowest clock in MHz {of_whom}",
        source,
        paths,
        lambda contents, _: _clocks(group, contents),
        each=_EACH_OF_SINGLE,
        share=0.01,
    )


def _clocks(group: str, contents: Sequence[bytes]) -> Mapping[str, float]:
    clocks_mhz = [khz / _KHZ_PER_MHZ for khz in map(whole_number, contents) if khz is not None]
    if not clocks_mhz:
        return {}
    return {f"{group}_clock_mhz": fmean(clocks_mhz), f"{group}_lowest_clock_mhz": min(clocks_mhz)}


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
        if (read_text(task / "comm") or "").startswith("openpts-io-")
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
