"""The PCIe link of a device, with the bridges between it and the processor."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from openpts.system_files import read_text
from openpts.vocabulary.facts import Fact

_PCI_ADDRESS: Final = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_MOST_LANES: Final = 32  # a width of 0 or 255 means unknown
# transfer rate per lane in GT/s, by generation
_GENERATION_BY_RATE: Final = {"2.5": 1, "5.0": 2, "5": 2, "8.0": 3, "8": 3, "16.0": 4, "32.0": 5, "64.0": 6}


@dataclass(frozen=True, slots=True)
class Link:
    """Generation and number of lanes of a link."""

    generation: int
    width: int

    def __str__(self) -> str:
        return f"Gen {self.generation} x{self.width}"

    @property
    def relative_speed(self) -> int:
        """Proportional to the rate of the link: each generation doubles it."""
        return self.width << self.generation


def pci_functions(folder: Path) -> tuple[Path, ...]:
    """PCI functions above a device in sysfs (links resolved): its own first, then the bridges upwards."""
    return tuple(parent for parent in folder.parents if _PCI_ADDRESS.fullmatch(parent.name))


def pcie_link(folder: Path) -> Fact:
    """The link in use of the link that the device could have, such as ``Gen 4 x4 of Gen 5 x4``.

    A bridge above that is slower than the device's own link is named, for it is the limit then.
    """
    functions = pci_functions(folder)
    if not functions:
        return Fact(None, f"{folder} has no PCI function above it")
    own, *bridges = functions
    current, most = _link(own, "current"), _link(own, "max")
    if current is None:
        return Fact(None, f"{own} reports no PCIe link")
    text = f"{current} of {most}" if most is not None else str(current)
    slowest = min(
        ((link, bridge) for bridge in bridges if (link := _link(bridge, "current")) is not None),
        key=lambda pair: pair[0].relative_speed,
        default=None,
    )
    if slowest is not None and slowest[0].relative_speed < current.relative_speed:
        text += f", behind the bridge {slowest[1].name} at {slowest[0]}"
    return Fact(text, f"{own}/current_link_*, max_link_* and those of the bridges above")


def _link(function: Path, which: str) -> Link | None:
    speed = read_text(function / f"{which}_link_speed") or ""
    width = read_text(function / f"{which}_link_width") or ""
    generation = _GENERATION_BY_RATE.get(speed.split(" ")[0])
    if generation is None or not width.isdecimal() or not 1 <= int(width) <= _MOST_LANES:
        return None
    return Link(generation, int(width))
