"""What the host can tell while a drive is measured: its power, and its processors and how long tasks wait.

Power is that of hwmon's sensors and of the processors' own energy counters (RAPL); waits for memory and
processors are those of PSI; of the processors there are the shares of their time, and how fast they run.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Final

from msgspec import Struct, field

from openpts.gauge import Gauge, Growth, Values, known, name_word, whole_number
from openpts.system_files import SystemRoots, read_text

_MICRO: Final = 1_000_000


def power_gauges(roots: SystemRoots) -> tuple[Gauge, ...]:
    """One for sensors and one for energy counters, each with the reason where there is none."""
    return _sensors(roots), _energy(roots)


def _sensors(roots: SystemRoots) -> Gauge:
    folder = roots.sys / "class/hwmon"
    found: dict[str, Path] = {}
    for kind in ("average", "input"):  # the present value where a sensor has both
        for path in sorted(folder.glob(f"hwmon*/power*_{kind}")):
            found[_sensor_name(path)] = path
    if not found:
        return Gauge("power sensors", None, f"{folder}/hwmon*/power* is missing: no sensor tells power")
    names = tuple(found)
    return Gauge(
        "power sensors",
        f"{', '.join(names)}",
        f"{folder}/hwmon*/power*",
        tuple(found.values()),
        lambda contents, _: _watts(names, contents),
        resolution=0.1,
        share=0.01,
        of_host=True,
        for_all=True,
    )


def _sensor_name(path: Path) -> str:
    number = path.name.split("_")[0]
    chip = read_text(path.parent / "name") or path.parent.name
    label = read_text(path.parent / f"{number}_label") or number.removeprefix("power")
    return f"power_{name_word(chip)}_{name_word(label)}_w"


def _watts(names: Sequence[str], contents: Sequence[bytes]) -> Values:
    in_uw = known(zip(names, map(whole_number, contents), strict=True))
    return {name: uw / _MICRO for name, uw in in_uw.items()}


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
