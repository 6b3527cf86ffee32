"""How hot the machine is against its own limits, and whether heat has slowed processors down."""

from pathlib import Path
from typing import Final

from openpts.system_files import SystemRoots, read_integer, read_text
from openpts.vocabulary.facts import Fact

_MILLI: Final = 1000
_LIMITS: Final = frozenset({"passive", "hot"})  # "active" starts a fan, "critical" ends everything


# SOL-BMK-06, SOL-PWR-12
def thermal_fact(roots: SystemRoots) -> Fact:
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
