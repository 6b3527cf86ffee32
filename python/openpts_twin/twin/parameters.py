"""What candidates may differ in: parameters of a preset that rates and response times depend on.

Continuous ones are searched by their logarithms: a step is a share of the value, and none becomes negative.
"""

import math
from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import reduce
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


def _doubled(most: float, least: float = 1) -> Callable[[Any], tuple[Any, ...]]:
    def beside(value: Any) -> tuple[Any, ...]:
        return tuple(type(value)(one) for one in (value * 2, value / 2) if least <= one <= most)

    return beside


VICTIMS: Final = ("greedy", "fifo", {"choices": 8})

CHOICES: Final[Mapping[str, Callable[[Any], tuple[Any, ...]]]] = {
    CHUNK: _doubled(64),
    DIES: _doubled(1024),
    VICTIM: lambda value: tuple(one for one in VICTIMS if one != value),
    BUFFER: _doubled(64),
    GROUP: _doubled(256),
    FOLD: _doubled(1, 0.5),
}
"""Parameters with one of few values, and what is worth trying beside a value that was found so far."""


def preset_of(content: Mapping[str, Any], values: Values) -> Preset:
    """The preset of a file's content with other values. Raises ValueError where they make no sense."""
    return Preset(tomli_w.dumps(with_values(content, values)))


def with_values(content: Mapping[str, Any], values: Values) -> dict[str, Any]:
    """A file's content with other values; the number of dies is given by itself then."""
    changed = deepcopy(dict(content))
    for name, value in values.items():
        *words, key = name.split(".")
        reduce(lambda table, word: table.setdefault(word, {}), words, changed)[key] = value
    if DIES in values:
        changed["page_mapped"]["geometry"].pop("bytes_per_die", None)
    return changed


def value_of(content: Mapping[str, Any], name: str, default: Any = None) -> Any:
    """A value by its dotted name."""
    *words, key = name.split(".")
    return reduce(lambda table, word: table.get(word) or {}, words, content).get(key, default)
