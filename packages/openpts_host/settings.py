"""What of the host's settings and present state bears on a measurement, those of processors among them.

Among it: the kernel's clock, heat, and what the machine is fed by.
"""

import ctypes
import struct
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from openpts.programs import ProgramRunner, run_program
from openpts.system_files import SystemRoots, read_bytes, read_integer, read_text
from openpts.vocabulary.facts import Fact, Facts
from openpts_host.advice.machine import DEEPER_OFF, HELD
from openpts_host.container import container_fact, control_group_limits
from openpts_host.inventory import virtualization_fact
from openpts_host.memory import memory_settings
from openpts_host.services import activity_facts, load_facts, service_facts, sleep_inhibitors

_FORMAT: Final = struct.Struct("=i")  # include/linux/pm_qos.h: s32, microseconds
_NO_LIMIT_US: Final = 2_000_000_000  # PM_QOS_CPU_LATENCY_DEFAULT_VALUE


def _allowed_wake_up_us(path: Path) -> int | None:
    """The longest wake-up that programs allow an idle processor now (PM QoS); None if it can't be read.

    Each limit lasts for as long as the program that set it keeps the file open.
    """
    # a read answers with the limit; opening the file asks for no limit of our own
    content = read_bytes(path) or b""
    if len(content) < _FORMAT.size:
        return None
    (limit_us,) = _FORMAT.unpack_from(content)
    return limit_us if 0 <= limit_us < _NO_LIMIT_US else _NO_LIMIT_US


_KHZ_PER_MHZ: Final = 1000


def _of_all(cpus: Path, attribute: str) -> Fact:
    texts = (read_text(cpu / attribute) for cpu in sorted(cpus.glob("cpu[0-9]*")))
    return Fact(_counted(text for text in texts if text), f"{cpus}/cpu*/{attribute}")


def _counted(texts: Iterable[str]) -> str | None:
    """``performance``, or where they differ ``performance (6 of 8), powersave (2 of 8)``."""
    counts = Counter(texts)
    if len(counts) <= 1:
        return next(iter(counts), None)
    whole = counts.total()
    return ", ".join(f"{text} ({count} of {whole})" for text, count in sorted(counts.items()))


def _turbo(cpus: Path) -> Fact:
    off = cpus / "intel_pstate/no_turbo"
    if (text := read_text(off)) is not None:
        return Fact({"0": "on", "1": "off"}.get(text), str(off))
    boost = cpus / "cpufreq/boost"
    return Fact({"0": "off", "1": "on"}.get(read_text(boost) or ""), f"{off}, {boost}")


def _smt(cpus: Path) -> Fact:
    """Whether cores run two threads; ``control`` says why not."""
    control, active = read_text(cpus / "smt/control"), read_text(cpus / "smt/active")
    text = {"0": "off", "1": "on"}.get(active or "")
    if text == "off" and control in {"notsupported", "notimplemented"}:
        text = "none (cores have one thread)"
    return Fact(text, f"{cpus}/smt/{{active,control}}")


# SOL-BIOS-02, SOL-BIOS-06, SOL-PWR-11
def _p_states(cpus: Path) -> Fact:
    """Between which clocks the driver may choose, and which the processor has."""
    texts = [text for cpu in sorted(cpus.glob("cpu[0-9]*/cpufreq")) if (text := _clocks(cpu)) is not None]
    driver = next(
        (d for cpu in cpus.glob("cpu[0-9]*/cpufreq") if (d := read_text(cpu / "scaling_driver"))), ""
    )
    clocks = _counted(texts)
    source = f"{cpus}/cpu*/cpufreq/{{scaling,cpuinfo}}_{{min,max}}_freq"
    return Fact(clocks and (f"{clocks} ({driver})" if driver else clocks), source)


def _clocks(cpufreq: Path) -> str | None:
    ranges = []
    for kind in ("scaling", "cpuinfo"):
        ends = [read_text(cpufreq / f"{kind}_{end}_freq") for end in ("min", "max")]
        mhz = [f"{int(text) // _KHZ_PER_MHZ:,}" for text in ends if text is not None and text.isdecimal()]
        if len(mhz) != len(ends):
            return None
        ranges.append(mhz[0] if mhz[0] == mhz[1] and kind == "scaling" else f"{mhz[0]} to {mhz[1]}")
    return f"{ranges[0]} MHz of {ranges[1]} MHz"


# SOL-BIOS-05
def _c_states(cpus: Path, roots: SystemRoots) -> Fact:
    """The deepest state that idle processors may enter now, with the time to leave it.

    A program that holds a limit on the time to wake up (PM QoS) keeps them out of what takes longer.
    """
    limit = roots.dev / "cpu_dma_latency"
    allowed_us = _allowed_wake_up_us(limit)
    source = f"{cpus}/cpu*/cpuidle/state*/{{name,latency,disable}}, {limit}"
    if allowed_us is None:
        source += " (which root alone may read: a limit that a program holds is not seen)"
    deepest = [
        text for cpu in sorted(cpus.glob("cpu[0-9]*")) if (text := _deepest(cpu, allowed_us)) is not None
    ]
    return Fact(_counted(deepest), source)


def _deepest(cpu: Path, allowed_us: int | None) -> str | None:
    states: list[tuple[int, str]] = []
    off: list[tuple[int, str]] = []
    for state in cpu.glob("cpuidle/state[0-9]*"):
        if (latency_us := read_integer(state / "latency")) is not None:
            kind = states if read_text(state / "disable") == "0" else off
            kind.append((latency_us, read_text(state / "name") or state.name))
    if not states:
        return None
    own = read_text(cpu / "power/pm_qos_resume_latency_us")
    limits = [limit for limit in (allowed_us, _own_limit_us(own)) if limit is not None]
    # whatever the limit, a processor without work polls at least
    allowed = [state for state in states if all(state[0] <= limit for limit in limits)] or [min(states)]
    latency_us, name = max(allowed)
    why = f", {DEEPER_OFF}" if off and max(off) > max(states) else ""
    why += f", {HELD} {min(limits)} us" if max(states) not in allowed else ""
    return f"down to {name}, {latency_us} us to wake{why}"


def _own_limit_us(text: str | None) -> int | None:
    """A processor's own limit: the kernel writes 0 for none and ``n/a`` for a limit of no time at all."""
    if text == "n/a":
        return 0
    return int(text) if text is not None and text.isdecimal() and text != "0" else None


def _mitigations(folder: Path) -> Fact:
    """Weaknesses of the processor, by what the kernel does about them."""
    texts = [text for path in sorted(folder.glob("*")) if (text := read_text(path))]
    if not texts:
        return Fact(None, str(folder))
    mitigated = sum("Mitigation" in text for text in texts)
    vulnerable = sum(text.startswith("Vulnerable") for text in texts)
    state = "on" if mitigated else "off"
    return Fact(f"{state} ({mitigated} mitigated, {vulnerable} vulnerable)", str(folder))


# <sys/timex.h>: larger than struct timex on every platform; a mode of 0 asks and changes nothing
_TIMEX_BYTES: Final = 256
_TIME_ERROR: Final = 5  # the clock is not synchronized
_LIBC: Final = ctypes.CDLL(None, use_errno=True)


def sync_text(state: int) -> str | None:
    """The answer of adjtimex(2) as a text; None if it had none."""
    if state < 0:
        return None
    return "not synchronized" if state == _TIME_ERROR else "synchronized"


_MILLI: Final = 1000
_LIMITS: Final = frozenset({"passive", "hot"})  # "active" starts a fan, "critical" ends everything


# SOL-BMK-06, SOL-PWR-12
def _thermal_fact(roots: SystemRoots) -> Fact:
    """The warmest zone, those past a limit, and how often processors were throttled since the start."""
    zones = roots.sys / "class/thermal"
    counters = roots.sys / "devices/system/cpu"
    parts = _zones(zones)
    if (throttled := _throttled(counters)) is not None:
        parts.append(f"throttled {throttled:,} times since the start" if throttled else "never slowed down")
    return Fact(
        ", ".join(parts) or None,
        f"{zones}/thermal_zone*/{{temp,trip_point_*}}, {counters}/cpu*/thermal_throttle/*_throttle_count",
    )


def _zones(folder: Path) -> list[str]:
    found = []
    for zone in sorted(folder.glob("thermal_zone*")):
        temperature_mc = read_integer(zone / "temp")
        if temperature_mc is not None:
            name = read_text(zone / "type") or zone.name
            found.append((temperature_mc, name, _is_hot(zone, temperature_mc)))
    if not found:
        return []
    warmest_mc, name, _ = max(found)
    hot = [zone for _, zone, is_hot in found if is_hot]
    text = f"{name} {warmest_mc / _MILLI:.0f} \N{DEGREE SIGN}C"
    return [text, f"hot: {', '.join(hot)}"] if hot else [text]


def _is_hot(zone: Path, temperature_mc: int) -> bool:
    for kind in zone.glob("trip_point_*_type"):
        limit_mc = read_integer(kind.with_name(kind.name.removesuffix("type") + "temp"))
        if read_text(kind) in _LIMITS and limit_mc is not None and 0 < limit_mc <= temperature_mc:
            return True
    return False


def _throttled(cpus: Path) -> int | None:
    """Of cores, and of packages once each; None where the processor has no such counters."""
    cores = [read_integer(path) for path in cpus.glob("cpu[0-9]*/thermal_throttle/core_throttle_count")]
    packages: dict[str | None, int] = {}
    for path in cpus.glob("cpu[0-9]*/thermal_throttle/package_throttle_count"):
        package = read_text(path.parents[1] / "topology/physical_package_id")
        packages[package] = max(packages.get(package, 0), read_integer(path) or 0)
    if not cores and not packages:
        return None
    return sum(count or 0 for count in cores) + sum(packages.values())


_MAINS: Final = frozenset({"Mains", "USB"})


# SOL-PWR-01
def _power_supply(folder: Path) -> Fact:
    """Batteries of mice and the like have the scope ``Device`` and feed nothing here."""
    if not folder.is_dir():
        return Fact(None, f"{folder} does not exist: the kernel knows no power supplies")
    supplies = [supply for supply in sorted(folder.glob("*")) if read_text(supply / "scope") != "Device"]
    mains = [supply for supply in supplies if read_text(supply / "type") in _MAINS]
    batteries = [supply for supply in supplies if read_text(supply / "type") == "Battery"]
    on_mains = any(read_text(supply / "online") == "1" for supply in mains)
    if not batteries:
        return Fact("mains (no battery)", str(folder))
    level = ", ".join(_level(battery) for battery in batteries)
    discharging = any(read_text(battery / "status") == "Discharging" for battery in batteries)
    fed = "mains" if on_mains or (not mains and not discharging) else "battery"
    return Fact(f"{fed} ({level})", f"{folder}/*/{{type,online,status,capacity}}")


def _level(battery: Path) -> str:
    parts = [(read_text(battery / "status") or "of unknown state").lower()]
    if (percent := read_text(battery / "capacity")) is not None:
        parts.append(f"{percent} %")
    return " ".join(parts)


# SOL-PWR-02, SOL-PWR-06
def _display(roots: SystemRoots) -> Fact:
    folder = roots.sys / "class/drm"
    connected = [
        f"{connector.name} {(read_text(connector / 'dpms') or 'of unknown state').lower()}"
        for connector in sorted(folder.glob("card*-*"))
        if read_text(connector / "status") == "connected"
    ]
    return Fact(", ".join(connected) or "none connected", f"{folder}/card*-*/{{status,dpms}}")


# SOL-PWR-02, SOL-PWR-05
def _sleep_fact(roots: SystemRoots, inhibitors: Mapping[str, str] | None) -> Fact:
    """Whether something may send the machine to sleep. ``inhibitors`` are those who forbid it, with why.

    They are None if no service keeps a list of them.
    """
    state = roots.sys / "power/state"
    kinds = read_text(state)
    if kinds is None:
        return Fact("never: the kernel can't", f"{state} is empty or missing")
    unit = roots.etc / "systemd/system/sleep.target"
    if unit.is_symlink() and str(unit.readlink()) == "/dev/null":
        return Fact("never: sleep.target is masked", f"{roots.etc}/systemd/system/sleep.target")
    if inhibitors:
        names = ", ".join(f"{who} ({why})" for who, why in inhibitors.items())
        return Fact(f"forbidden by {names}", "logind: ListInhibitors")
    queried = "" if inhibitors is None else "; logind: ListInhibitors"
    return Fact(f"may sleep ({kinds})", f"{state}{queried}")


def host_settings(
    roots: SystemRoots, disk_number: str | None = None, run: ProgramRunner = run_program
) -> Facts:
    """Settings and states under the keys of the host audit, those of the drive's own way apart.

    ``disk_number`` is ``major:minor`` of the drive that is measured. Without root; never raises. Files only,
    but for timers and those who forbid to sleep, whom systemd lists where it runs.
    """
    cpus = roots.sys / "devices/system/cpu"
    source = roots.sys / "devices/system/clocksource/clocksource0/current_clocksource"
    profile = roots.sys / "firmware/acpi/platform_profile"
    return {
        "governor": _of_all(cpus, "cpufreq/scaling_governor"),
        "energy_preference": _of_all(cpus, "cpufreq/energy_performance_preference"),
        "p_states": _p_states(cpus),
        "turbo": _turbo(cpus),
        "smt": _smt(cpus),
        "c_states": _c_states(cpus, roots),
        "mitigations": _mitigations(cpus / "vulnerabilities"),
        **memory_settings(roots),
        **load_facts(roots),
        "power_supply": _power_supply(roots.sys / "class/power_supply"),
        "power_profile": Fact(read_text(profile), f"{profile}: firmware that offers a choice has it"),
        "display": _display(roots),
        "sleep": _sleep_fact(roots, sleep_inhibitors(roots, run)),
        "thermal": _thermal_fact(roots),
        "virtualization": virtualization_fact(roots),
        "container": container_fact(roots),
        **control_group_limits(roots, disk_number),
        "clock_source": Fact(read_text(source), str(source)),
        "clock_sync": Fact(sync_text(_LIBC.adjtimex(ctypes.create_string_buffer(_TIMEX_BYTES))), "adjtimex"),
        **activity_facts(roots),
        **service_facts(roots, run),
    }
