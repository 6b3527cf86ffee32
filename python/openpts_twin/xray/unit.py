"""The unit of the map, by what random writes cost that are aligned to their size, and to half of it.

A write of size ``b`` that begins anywhere at multiples of ``a`` touches ``b / u`` units ``u`` if ``u``
divides ``a``, and else ``1 + (b - a) / u`` on average: each is written whole, its rest after it was read. So
writes of the size of a unit take half as long again at half of their alignment, larger ones no longer.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, median, stdev
from typing import Final, TypeAlias

from msgspec import Struct

from openpts.units import KIB, format_block_size

SIZES: Final = tuple(4 * KIB << power for power in range(5))
"""4 to 64 KiB."""
PROBES: Final = tuple((size, alignment) for size in SIZES for alignment in (size, size // 2))
Rates: TypeAlias = Mapping[tuple[int, int], float]
"""Rates by size and alignment, in any one measure."""
_CERTAIN: Final = 1.35
"""Half of a unit takes 1.25 times as long at half of its alignment: the largest size, and one below what an
interface hides, may be half of one."""
_LIMIT: Final = math.log(1.5) / 2
"""Half way between the logarithms for writes of the size of a unit and for larger ones."""
_LIMIT_OF_HALF: Final = math.log(1.25) / 2
"""The same for writes of half of a unit, at half of their alignment."""
_SURE: Final = 1.5
"""Standard errors by which a ratio has to be on one side."""
_FEWEST: Final = 4
_LONGER: Final = 1.1


class Unit(Struct, frozen=True):
    """The unit, None where it can't be told; ``ratio`` is how many times as long writes of its size take."""

    unit_bytes: int | None
    ratio: float = 1.0
    why: str = ""


def unit_of(passes: Sequence[Rates]) -> Unit:
    """The unit: the largest size whose ratio may be that of a unit, if it can't be another one."""
    found = [ratios_of(rates) for rates in passes]
    if not found or any(len(one) < len(SIZES) for one in found):
        return Unit(None, why="not all alignments were measured")
    if len(found) < _FEWEST:
        return Unit(None, why="too few passes were measured")
    logs = {size: _mean_and_error([math.log(one[size]) for one in found]) for size in SIZES}
    unit = max((size for size, (mean, error) in logs.items() if mean + _SURE * error > _LIMIT), default=None)
    if unit is None:
        return Unit(None, why="the rate is the same at each alignment")
    mean, error = logs[unit]
    ratio, size_text = math.exp(mean), format_block_size(unit)
    if mean - _SURE * error < _LIMIT:
        why = f"writes of {size_text} take {ratio:.2f} times as long, ± {100 * error:.0f} %: not clear"
        return Unit(None, ratio, why)
    if unit == SIZES[-1] and ratio < _CERTAIN:
        return Unit(None, ratio, f"writes of {size_text} take only {ratio:.2f} times as long")
    if unit > SIZES[0] and logs[unit // 2][0] < _LIMIT_OF_HALF:
        half_text = format_block_size(unit // 2)
        return Unit(
            None, ratio, f"writes of {size_text} take {ratio:.2f} times as long, of {half_text} no longer"
        )
    return Unit(unit, ratio)


def unit_by(on_purged: Sequence[Rates], in_collection: Sequence[Rates], *, cached: bool) -> Unit:
    """The unit by passes on the purged drive, where nothing is collected, or by those while it is."""
    purged, collecting = unit_of(on_purged), unit_of(in_collection)
    if purged.unit_bytes is not None:
        if purged.ratio >= _CERTAIN or collecting.unit_bytes == purged.unit_bytes:
            return purged
        why = f"{purged.ratio:.2f} times as long may be half of a unit that the interface hides"
        return Unit(None, purged.ratio, why)
    if cached or (collecting.unit_bytes is not None and _may_be(collecting.unit_bytes, on_purged)):
        return collecting
    return Unit(None, why=f"{purged.why} on the purged drive, and collection is uneven")


def _may_be(unit_bytes: int, passes: Sequence[Rates]) -> bool:
    """Whether writes of this size, and no larger ones, take longer at half of their alignment.

    Where an interface hides a part of what they take, it may be by little.
    """
    found = [ratios_of(rates) for rates in passes]
    longer = [size for size in SIZES if median(one.get(size, 1) for one in found) >= _LONGER] if found else []
    return bool(longer) and max(longer) == unit_bytes


def _mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Mean and its error; the lowest and the highest, which a stall makes, are put next to the others."""
    inner = sorted(values)[1:-1]
    kept = [inner[0], *inner, inner[-1]]
    return fmean(kept), stdev(kept) / math.sqrt(len(inner))


def ratios_of(rates: Rates) -> dict[int, float]:
    """How many times as long writes take at half of their alignment, by size."""
    halves = {size: rates.get((size, size // 2)) for size in SIZES}
    return {size: rates[size, size] / half for size, half in halves.items() if half and (size, size) in rates}
