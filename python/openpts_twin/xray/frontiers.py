"""Whether moved pages share blocks with the host's, by where pages lie that were written during collection.

Written in sequence, pages lie on the units of the flash in a fixed order. Where moved pages come between
them, those at a distance that otherwise shares a unit do not any more.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, TypeAlias

from openpts_twin.xray.geometry import MOST_PAGES

REGION_PAGES: Final = 8 * MOST_PAGES
"""What is written during collection, for many pairs at the longest distance."""
_APART, _TOGETHER = 0.1, 0.93
"""Shares of pairs that wait: up to the first none do, from the last on all."""
_AS_BEFORE, _LOST = 0.9, 0.5
Latencies: TypeAlias = Sequence[tuple[int, float]]
"""Mean latencies of pairs by distance in pages."""


class Frontiers(StrEnum):
    """Where moved pages go, in the words of a preset."""

    SEPARATE = "separate"
    MIXED = "mixed"


def compared_distances(measured: Latencies) -> tuple[int, int] | None:
    """The longest distance at which all pairs share a unit, the shortest at which none do; None without both.

    Within a short one nothing may have been moved. The next unit is another one wherever a row begins.
    """
    if not measured:
        return None
    latencies = [latency_ns for _, latency_ns in measured]
    low, span = min(latencies), max(latencies) - min(latencies)
    together = max((one for one, ns in measured if ns >= low + _TOGETHER * span), default=0)
    apart = min((one for one, ns in measured if ns <= low + _APART * span), default=0)
    return (together, apart) if together and apart and span else None


def kept_share(before: Latencies, during: Latencies) -> float | None:
    """How much of what pairs wait for each other is left of it while the drive collects."""
    compared, after = compared_distances(before), dict(during)
    if compared is None or not set(compared) <= after.keys():
        return None
    together, apart = compared
    return (after[together] - after[apart]) / (dict(before)[together] - dict(before)[apart])


def frontiers_of(kept: float) -> Frontiers | None:
    """Where moved pages go, None between the two."""
    if kept >= _AS_BEFORE:
        return Frontiers.SEPARATE
    return Frontiers.MIXED if kept <= _LOST else None
