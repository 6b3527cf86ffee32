"""Whether moved pages share blocks with the host's, by where pages lie that were written during collection.

Written in sequence, pages lie on the units of the flash in a fixed order. Where moved pages come between
them, those at a distance that otherwise shares a unit do not any more.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, TypeAlias

from openpts_twin.xray.geometry import MOST_PAGES, replay

REGION_PAGES: Final = 8 * MOST_PAGES
"""What is written during collection, for many pairs at the longest distance."""
_AS_BEFORE, _LOST = 0.9, 0.5
_NOISE: Final = 0.05
"""Pairs that share no unit take as long as before, or the flash was at other work still."""
Latencies: TypeAlias = Sequence[tuple[int, float]]
"""Mean latencies of pairs by distance in pages."""


class Frontiers(StrEnum):
    """Where moved pages go, in the words of a preset."""

    SEPARATE = "separate"
    MIXED = "mixed"


def compared_distances(measured: Latencies) -> tuple[int, int] | None:
    """Distances at which all pairs share a unit, and at which none do; None where a search found no layout.

    The first is the last that a search asks for, a row over all units: within a shorter one nothing may have
    been moved. The other is that of the next chunk, which is on another unit wherever a row begins.
    """
    layout = replay(measured)
    if layout.units is None or layout.chunk_pages is None:
        return None
    return measured[-1][0], layout.chunk_pages


def kept_share(before: Latencies, during: Latencies) -> float | None:
    """How much of what pairs wait for each other is left of it while the drive collects."""
    compared, after = compared_distances(before), dict(during)
    if compared is None or not set(compared) <= after.keys():
        return None
    together, apart = compared
    if abs(after[apart] / dict(before)[apart] - 1) > _NOISE:
        return None
    # the layout was found, so that pairs at the first distance waited
    return (after[together] - after[apart]) / (dict(before)[together] - dict(before)[apart])


def frontiers_of(kept: float) -> Frontiers | None:
    """Where moved pages go, None between the two."""
    if kept >= _AS_BEFORE:
        return Frontiers.SEPARATE
    return Frontiers.MIXED if kept <= _LOST else None
