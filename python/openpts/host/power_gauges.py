"""Power that the host can tell: sensors of hwmon, and the processors' own energy counters (RAPL)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

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
    )


def _zone_name(zone: Path, folder: Path) -> str:
    """Of a zone within another with the name of that before it: ``power_package_0_dram_w``."""
    above = zone.name.rpartition(":")[0]
    zones = ([folder / above] if above.count(":") else []) + [zone]
    return f"power_{'_'.join(name_word(read_text(each / 'name') or each.name) for each in zones)}_w"


@dataclass(slots=True)
class EnergyCounters:
    """Mean power since the reading before. A counter that was reset in between gives no value."""

    names: tuple[str, ...]
    _growth: Growth = field(default_factory=Growth)

    def __call__(self, contents: Sequence[bytes], at_ns: int) -> Values:
        """Watts by zone."""
        energy_uj = known(zip(self.names, map(whole_number, contents), strict=True))
        return {name: uw / _MICRO for name, uw in self._growth.per_s(energy_uj, at_ns).items()}
