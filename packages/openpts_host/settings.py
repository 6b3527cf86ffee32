"""What of the host's settings and present state bears on a measurement; read before and after a run.

Among it: the kernel's clock, heat, and what the machine is fed by.
"""

import ctypes
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from openpts.programs import ProgramRunner, run_program
from openpts.system_files import SystemRoots, read_integer, read_text
from openpts.vocabulary.facts import Fact, Facts
from openpts_host.activities import activity_facts, load_facts
from openpts_host.container import container_fact, control_group_limits
from openpts_host.inventory import virtualization_fact
from openpts_host.memory import memory_settings
from openpts_host.processor_settings import processor_settings
from openpts_host.services import service_facts, sleep_inhibitors

# <sys/timex.h>: larger than struct timex on every platform; a mode of 0 asks and changes nothing
_TIMEX_BYTES: Final = 256
_TIME_ERROR: Final = 5  # the clock is not synchronized
_LIBC: Final = ctypes.CDLL(None, use_errno=True)


def _clock_facts(roots: SystemRoots) -> Facts:
    """Clock source and synchronization, under the keys of the host audit."""
    source = roots.sys / "devices/system/clocksource/clocksource0/current_clocksource"
    return {
        "clock_source": Fact(read_text(source), str(source)),
        "clock_sync": Fact(sync_text(_clock_state()), "adjtimex"),
    }


def sync_text(state: int) -> str | None:
    """The answer of adjtimex(2) in words; None if it had none."""
    if state < 0:
        return None
    return "not synchronized" if state == _TIME_ERROR else "synchronized"


def _clock_state() -> int:
    answer: int = _LIBC.adjtimex(ctypes.create_string_buffer(_TIMEX_BYTES))
    return answer


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


def _power_settings(roots: SystemRoots) -> Facts:
    """Power supply, power profile and display, under the keys of the host audit."""
    profile = roots.sys / "firmware/acpi/platform_profile"
    return {
        "power_supply": _power_supply(roots.sys / "class/power_supply"),
        "power_profile": Fact(read_text(profile), f"{profile}: firmware that offers a choice has it"),
        "display": _display(roots),
    }


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
    if _masked(roots.etc / "systemd/system/sleep.target"):
        return Fact("never: sleep.target is masked", f"{roots.etc}/systemd/system/sleep.target")
    if inhibitors:
        names = ", ".join(f"{who} ({why})" for who, why in inhibitors.items())
        return Fact(f"forbidden by {names}", "logind: ListInhibitors")
    asked = "" if inhibitors is None else "; logind: ListInhibitors"
    return Fact(f"may sleep ({kinds})", f"{state}{asked}")


def _masked(unit: Path) -> bool:
    return unit.is_symlink() and str(unit.readlink()) == "/dev/null"


def host_settings(
    roots: SystemRoots, disk_number: str | None = None, run: ProgramRunner = run_program
) -> Facts:
    """Settings and states under the keys of the host audit, those of the drive's own way apart.

    ``disk_number`` is ``major:minor`` of the drive that is measured. Without root; never raises. Files only,
    but for timers and those who forbid to sleep, whom systemd is asked for where it runs.
    """
    return {
        **processor_settings(roots),
        **memory_settings(roots),
        **load_facts(roots),
        **_power_settings(roots),
        "sleep": _sleep_fact(roots, sleep_inhibitors(roots, run)),
        "thermal": _thermal_fact(roots),
        "virtualization": virtualization_fact(roots),
        "container": container_fact(roots),
        **control_group_limits(roots, disk_number),
        **_clock_facts(roots),
        **activity_facts(roots),
        **service_facts(roots, run),
    }
