"""The unit of the map, by the rate of random writes that are aligned to more and to less of it.

A write of size ``b`` that begins anywhere at multiples of ``a`` touches ``b / u`` units ``u``, and if ``a``
is less than ``u`` on average ``1 - a / u`` more, which are written after their rest was read. What one more
costs is not known: the unit is the one by which the time of a write is nearest to a straight line.
"""

from collections.abc import Mapping
from statistics import fmean
from typing import Final

from msgspec import Struct

from openpts.units import KIB

BLOCK_BYTES: Final = 64 * KIB
ALIGNMENTS: Final = tuple(512 << power for power in range(8))
"""512 B to 64 KiB."""
_LEAST_GAIN: Final = 1.8
"""The second best unit is so many times as far from the times as the best."""
_LEAST_COST: Final = 0.03
"""Of a write, what the units beyond it add at most."""
_MOST_ERROR: Final = 0.3
"""Of that, how far the times may be from the line."""


class Unit(Struct, frozen=True):
    """The unit, None where it can't be told.

    ``cost`` is what the smallest alignment adds to the time of a write, ``error`` how far times are from the
    line as a share of that, ``gain`` how many times as far they are from the line of any other unit.
    """

    unit_bytes: int | None
    cost: float = 0.0
    error: float = 0.0
    gain: float = 0.0
    why: str = ""


def beyond(alignment_bytes: int, unit_bytes: int) -> float:
    """Units that a block touches on average beyond those that it fills, as a share of the block."""
    return max(0.0, 1 - alignment_bytes / unit_bytes) * unit_bytes / BLOCK_BYTES


def unit_of(rates: Mapping[int, float]) -> Unit:
    """The unit by the rates of blocks at each alignment, in any one measure."""
    if len(rates) < len(ALIGNMENTS) - 3 or not all(rates.values()):
        return Unit(None, why="not all alignments were measured")
    times = {alignment: rates[max(rates)] / rate for alignment, rate in rates.items()}
    smallest = min(times)
    units = [2 * one for one in sorted(times) if 2 * one <= BLOCK_BYTES]
    fits = sorted((*_line(times, unit), unit) for unit in units)
    error, slope, unit = fits[0]
    cost = slope * beyond(smallest, unit)
    if cost < _LEAST_COST:
        return Unit(None, cost, why="the rate is the same at each alignment")
    gain = min(fits[1][0] / max(error, 1e-9), 1000.0)
    if error > _MOST_ERROR * cost or gain < _LEAST_GAIN:
        return Unit(None, cost, error / cost, gain, "no unit explains the rates better than any other")
    return Unit(unit, cost, error / cost, gain)


def _line(times: Mapping[int, float], unit_bytes: int) -> tuple[float, float]:
    """How far the times are from the line that fits best (root mean square), and its slope."""
    xs = [beyond(alignment, unit_bytes) for alignment in times]
    mean_x, mean_time = fmean(xs), fmean(times.values())
    pairs = list(zip(xs, times.values(), strict=True))
    slope = sum((x - mean_x) * (time - mean_time) for x, time in pairs) / sum((x - mean_x) ** 2 for x in xs)
    errors = [time - mean_time - slope * (x - mean_x) for x, time in pairs]
    return fmean(error**2 for error in errors) ** 0.5, slope
