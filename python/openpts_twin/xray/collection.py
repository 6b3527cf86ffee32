"""The class of collection, by writes to a small part of a drive that was filled in sequence.

When free blocks run out, the blocks of that part hold little that is wanted, all others are full of it.
Collection that looks for the fewest valid pages among all blocks goes on at the full rate. One that takes the
oldest has to move the whole drive before it comes to the part again: the rate breaks down. One that takes the
best of some that it draws meets none of the part now and then: the rate falls for moments.
"""

from collections.abc import Sequence
from enum import StrEnum
from itertools import pairwise
from statistics import median, quantiles, stdev
from typing import Final

from msgspec import Struct

from openpts.analysis.one_pass import collection_began

_CACHED_FALL: Final = 0.45
_STEADY: Final = 0.93
_COLLAPSED: Final = 0.2
_UNEVEN: Final = 0.9
_SMOOTH: Final = 0.08
_BETWEEN: Final = 0.35
_FASTER: Final = 1.3
_BEYOND_NOISE: Final = 5
"""Standard deviations of windows until free blocks ran out: the lowest of many windows is some below."""
_LEAST_AFTER: Final = 4
_TOO_FEW: Final = "too few writes came after free blocks ran out"
_FIRST: Final = 4
"""Windows of a refill in sequence that are its first, and as many after them."""
_RISES: Final = 1.12


class Victims(StrEnum):
    """Whose pages are moved, in the words of a preset."""

    GREEDY = "greedy"
    FIFO = "fifo"
    CHOICES = "choices"


def began(rates: Sequence[float], *, cached: bool) -> int | None:
    """The window of random writes from which on the drive collects, if the last ones show it.

    A cache is folded beside what the host writes, which takes at most as much of the flash once more.
    """
    return collection_began(rates, _CACHED_FALL) if cached else collection_began(rates)


class Found(Struct, frozen=True):
    """The class, None where it can't be told; ``lowest`` is the lowest rate, as a share of that before."""

    victims: Victims | None
    lowest: float | None = None
    agrees: bool = False
    why: str = ""


def rises(refill: Sequence[float]) -> bool | None:
    """Whether the rate of a refill after random writes rises from its beginning on; None without one.

    The blocks that a choice meets are emptier from one to the next. The oldest are alike for as long as the
    random writes lasted, and the emptiest cost little from the beginning.
    """
    if len(refill) < 2 * _FIRST:
        return None
    return sum(refill[_FIRST : 2 * _FIRST]) >= _RISES * sum(refill[:_FIRST])


def victims_of(before: Sequence[float], after: Sequence[float], refill: Sequence[float]) -> Found:
    """The class by the rates of windows until free blocks ran out and of those since, and by a refill."""
    if len(before) < 2 or not after:
        return Found(None, why=_TOO_FEW)
    lowest = min(after) / median(before)
    # what is oldest need not be what random writes have emptied: all of it may be moved at once before
    lowest_before = min(before) / quantiles([*before, *after], n=4)[-1]
    if min(lowest, lowest_before) <= _COLLAPSED:
        return Found(Victims.FIFO, min(lowest, lowest_before), agrees=lowest <= _COLLAPSED)
    if len(after) < _LEAST_AFTER:
        return Found(None, lowest, why=_TOO_FEW)
    return _by_evenness(before, lowest, after, rises(refill))


def _by_evenness(
    before: Sequence[float], lowest: float, after: Sequence[float], rising: bool | None
) -> Found:
    """The class where the rate does not break down."""
    step = max(abs(later - one) for one, later in pairwise(after))
    if _BETWEEN < lowest < _STEADY and step <= _SMOOTH * median(after):
        # not all blocks of the part are empty: the emptiest of all are alike, those of a draw are not
        return Found(Victims.GREEDY, lowest)
    if min(before) < _STEADY * median(before):
        # spare blocks were not all free, as a choice leaves them: the rate varies throughout
        lowest = min(after) / median(after)
        if rising is False and lowest >= _STEADY:
            return Found(Victims.GREEDY, lowest)
        if rising and _BETWEEN < lowest <= _UNEVEN:
            return Found(Victims.CHOICES, lowest)
        return Found(None, lowest, why="the rate varies as much before free blocks run out")
    if _STEADY <= lowest <= _FASTER:
        return Found(Victims.GREEDY, lowest, agrees=rising is False)
    # of the oldest, some may have lain in the part by chance: a refill does not rise then
    is_noise = 1 - lowest < _BEYOND_NOISE * stdev(before) / median(before)
    if _BETWEEN < lowest <= _UNEVEN and rising is not False and not is_noise:
        return Found(Victims.CHOICES, lowest, agrees=bool(rising))
    return Found(
        None, lowest, why=f"the lowest rate, {100 * lowest:.0f} % of that before, and a refill fit no class"
    )
