"""What the machine is fed by, how its firmware deals with it, and whether it may fall asleep."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from openpts.system_files import SystemRoots, read_text
from openpts.vocabulary.facts import Fact, Facts

_MAINS: Final = frozenset({"Mains", "USB"})


def power_settings(roots: SystemRoots) -> Facts:
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
def sleep_fact(roots: SystemRoots, inhibitors: Mapping[str, str] | None) -> Fact:
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
