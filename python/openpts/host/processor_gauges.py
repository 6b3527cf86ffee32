"""What the processors do while a drive is measured: shares of their time, and how fast they run."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Final

from openpts.gauge import Gauge, Values, whole_number
from openpts.system_files import SystemRoots

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
        ),
        _frequency(roots, pinned),
    )


Ticks = dict[int, tuple[int, ...]]


def _ticks(content: bytes) -> Ticks:
    """Time since boot by processor and column; a line that makes no sense is left out."""
    ticks = {}
    for line in content.split(b"\n"):
        name, *fields = line.split()[: 1 + _COLUMN_COUNT] or [b""]
        cpu = name.removeprefix(b"cpu")
        is_whole = len(fields) == _COLUMN_COUNT and all(text.isdigit() for text in fields)
        if is_whole and name.startswith(b"cpu") and cpu.isdigit():
            ticks[int(cpu)] = tuple(int(text) for text in fields)
    return ticks


@dataclass(slots=True)
class GroupShares:
    """Shares of the time since the reading before, of processors together."""

    engine_cpus: frozenset[int]
    _before: Ticks = field(default_factory=dict)

    def __call__(self, contents: Sequence[bytes], _at_ns: int) -> Values:
        """``cpu_engine_busy_pct``, ``cpu_others_sys_pct`` ...; ``cpu_all_busy_pct`` ... if not pinned."""
        now, before = _ticks(contents[0]), self._before
        self._before = now
        if not self.engine_cpus:
            return _shares("cpu_all", now.keys(), before, now)
        others = now.keys() - self.engine_cpus
        return _shares("cpu_engine", self.engine_cpus, before, now) | _shares(
            "cpu_others", others, before, now
        )


@dataclass(slots=True)
class SingleShares:
    """Shares of the time since the reading before, of each processor."""

    _before: Ticks = field(default_factory=dict)

    def __call__(self, contents: Sequence[bytes], _at_ns: int) -> Values:
        """``cpu_0_busy_pct``, ``cpu_0_user_pct`` ..."""
        now, before = _ticks(contents[0]), self._before
        self._before = now
        values: dict[str, float] = {}
        for cpu in now:
            values |= _shares(f"cpu_{cpu}", (cpu,), before, now)
        return values


def _shares(name: str, cpus: Collection[int], before: Ticks, now: Ticks) -> dict[str, float]:
    """Nothing where no time went by, or a processor was not there before."""
    there = [cpu for cpu in cpus if cpu in now and cpu in before]
    # the kernel's own times of idle processors go back a little now and then
    spent = [
        sum(max(0, now[cpu][column] - before[cpu][column]) for cpu in there)
        for column in range(_COLUMN_COUNT)
    ]
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
