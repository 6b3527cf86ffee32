"""What candidates may differ in: parameters of a preset that rates and response times depend on.

Continuous ones are searched by their logarithms: a step is a share of the value, and none becomes negative.
"""

import math
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, Final

import tomli_w
from msgspec import Struct

from openpts.simulation.presets import Preset
from openpts.units import KIB

PAGE_BYTES: Final = 4 * KIB
Values = Mapping[str, Any]
"""Values of a preset by their dotted names."""

READ: Final = "page_mapped.nand.read_us"
PROGRAM: Final = "page_mapped.nand.program_us"
SPACE: Final = "page_mapped.mapping.physical_per_user"
FRONT_READ: Final = "page_mapped.controller.read_us"
FRONT_WRITE: Final = "page_mapped.controller.write_us"
FIXED_READ: Final = "page_mapped.controller.fixed_read_us"
FIXED_WRITE: Final = "page_mapped.controller.fixed_write_us"
COMMAND: Final = "page_mapped.link.command_us"
LINK_READ: Final = "page_mapped.link.read_bytes_per_s"
LINK_WRITE: Final = "page_mapped.link.write_bytes_per_s"
TRANSFER: Final = "page_mapped.nand.transfer_us"
DIES: Final = "page_mapped.geometry.dies"
CHANNELS: Final = "page_mapped.geometry.channels"
BYTES_PER_DIE: Final = "page_mapped.geometry.bytes_per_die"
GROUP: Final = "page_mapped.geometry.dies_per_group"
CHUNK: Final = "page_mapped.geometry.chunk_pages"
UNIT: Final = "page_mapped.geometry.program_unit_pages"
BUFFER: Final = "page_mapped.write_buffer.program_units_per_die"
VICTIM: Final = "page_mapped.collection.victim"
STATIC: Final = "page_mapped.slc.static_share"
DYNAMIC: Final = "page_mapped.slc.dynamic_share"
SLC_PROGRAM: Final = "page_mapped.slc.program_us"
SLC_UNIT: Final = "page_mapped.slc.program_unit_pages"
BITS: Final = "page_mapped.slc.bits"
FOLD: Final = "page_mapped.slc.fold_share"


class Continuous(Struct, frozen=True):
    """A parameter with any value. ``spread`` is how far, as a factor's logarithm, it may well be from where
    the search begins; ``least`` is below all values.
    """

    name: str
    spread: float
    least: float = 0.0

    def at(self, value: float) -> float:
        """Where a value is in the search."""
        return math.log(value - self.least)

    def value(self, place: float) -> float:
        """The value there."""
        return self.least + math.exp(place)


CONTINUOUS: Final = (
    Continuous(SPACE, 0.7, 1.0),
    Continuous(PROGRAM, 0.5),
    Continuous(READ, 0.3),
    Continuous(FRONT_READ, 0.4),
    Continuous(FRONT_WRITE, 0.4),
    Continuous(LINK_READ, 0.1),
    Continuous(SLC_PROGRAM, 0.2),
    Continuous(STATIC, 0.5),
    Continuous(DYNAMIC, 0.5),
)


IDLE: Final = (
    Continuous("page_mapped.idle.delay_ms", 0.7),
    Continuous("page_mapped.idle.free_target_share", 0.3),
)
"""What a drive does in idle time, of which tests without any say nothing: not searched, but not known."""
FOLDS: Final = "page_mapped.idle.folds"


class Choice(Struct, frozen=True):
    """A parameter with one of few values, and what is worth trying beside a value that was found so far."""

    name: str
    beside: Callable[[Any], tuple[Any, ...]]


def _doubled(most: float, least: float = 1) -> Callable[[Any], tuple[Any, ...]]:
    def beside(value: Any) -> tuple[Any, ...]:
        half = value / 2 if isinstance(value, float) else value // 2
        return tuple(one for one in (value * 2, half) if least <= one <= most)

    return beside


VICTIMS: Final = ("greedy", "fifo", {"choices": 8})

CHOICES: Final = (
    Choice(CHUNK, _doubled(64)),
    Choice(DIES, _doubled(1024)),
    Choice(VICTIM, lambda value: tuple(one for one in VICTIMS if one != value)),
    Choice(BUFFER, _doubled(64)),
    Choice(GROUP, _doubled(256)),
    Choice(FOLD, _doubled(1, 0.5)),
)


def preset_of(content: Mapping[str, Any], values: Values) -> Preset:
    """The preset of a file's content with other values. Raises ValueError where they make no sense."""
    return Preset(tomli_w.dumps(with_values(content, values)))


def with_values(content: Mapping[str, Any], values: Values) -> dict[str, Any]:
    """A file's content with other values; the number of dies is given by itself then."""
    changed = deepcopy(dict(content))
    for name, value in values.items():
        table, key = _find_table(changed, name)
        table[key] = value
    if DIES in values:
        changed["page_mapped"]["geometry"].pop("bytes_per_die", None)
    return changed


def value_of(content: Mapping[str, Any], name: str, default: Any = None) -> Any:
    """A value by its dotted name."""
    found: Any = content
    for word in name.split("."):
        found = found.get(word) if isinstance(found, dict) else None
        if found is None:
            return default
    return found


def _find_table(content: dict[str, Any], name: str) -> tuple[dict[str, Any], str]:
    *words, key = name.split(".")
    for word in words:
        content = content.setdefault(word, {})
    return content, key
