"""The unit of the map, by what random writes cost that are aligned to their size, and to half of it.

A write of size ``b`` that begins anywhere at multiples of ``a`` touches ``b / u`` units ``u`` if ``u``
divides ``a``, and else ``1 + (b - a) / u`` on average: each is written whole, its rest after it was read. So
writes of the size of a unit take half as long again at half of their alignment, larger ones no longer.
"""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Final, TypeAlias

from msgspec import Struct

from openpts.units import KIB, format_block_size

SIZES: Final = tuple(4 * KIB << power for power in range(5))
"""4 to 64 KiB."""
PROBES: Final = tuple((size, alignment) for size in SIZES for alignment in (size, size // 2))
Rates: TypeAlias = Mapping[tuple[int, int], float]
"""Rates by size and alignment, in any one measure."""
_LEAST: Final = 1.35
"""Writes of the size of a unit take so many times as long at half of their alignment; of half of it, 1.25."""
_MOST: Final = 1.25
"""Larger ones take no longer than this, and those of its size do in all passes but one."""


class Unit(Struct, frozen=True):
    """The unit, None where it can't be told; ``ratio`` is how many times as long writes of its size take."""

    unit_bytes: int | None
    ratio: float = 1.0
    why: str = ""


def unit_of(passes: Sequence[Rates]) -> Unit:
    """The unit, by the medians of all passes over the probes."""
    found = [ratios_of(rates) for rates in passes]
    if not found or any(len(one) < len(SIZES) for one in found):
        return Unit(None, why="not all alignments were measured")
    ratios = {size: median(one[size] for one in found) for size in SIZES}
    unit = max((size for size, ratio in ratios.items() if ratio > _MOST), default=None)
    if unit is None:
        return Unit(None, why="the rate is the same at each alignment")
    if ratios[unit] < _LEAST or sorted(one[unit] for one in found)[1:2] < [_MOST]:
        size = format_block_size(unit)
        return Unit(None, ratios[unit], f"writes of {size} take only {ratios[unit]:.2f} times as long")
    return Unit(unit, ratios[unit])


def ratios_of(rates: Rates) -> dict[int, float]:
    """How many times as long writes take at half of their alignment, by size."""
    halves = {size: rates.get((size, size // 2)) for size in SIZES}
    return {size: rates[size, size] / half for size, half in halves.items() if half and (size, size) in rates}
