"""The class of collection, by writes to a small part of a drive that was filled in sequence.

When free blocks run out, the blocks of that part hold little that is wanted, all others are full of it.
Collection that looks for the fewest valid pages among all blocks goes on at the full rate. One that takes the
oldest has to move the whole drive before it comes to the part again: the rate breaks down. One that takes the
best of some that it draws meets none of the part now and then: the rate falls for moments.
"""

from collections.abc import Sequence
from enum import StrEnum
from statistics import median
from typing import Final

from msgspec import Struct

_STEADY: Final = 0.93
_COLLAPSED: Final = 0.2
_UNEVEN: Final = 0.9
_BETWEEN: Final = 0.35
_FASTER: Final = 1.3
_LEAST_AFTER: Final = 4
_PACED, _IN_BURSTS = 0.7, 0.5
_FEWEST_SHARES: Final = 2
_FIRST: Final = 4
"""Windows of a refill in sequence that are its first, and as many after them."""
_RISES: Final = 1.12


class Victims(StrEnum):
    """Whose pages are moved, in the words of a preset."""

    GREEDY = "greedy"
    FIFO = "fifo"
    CHOICES = "choices"


class Pace(StrEnum):
    """How much is moved at a time, in the words of a preset."""

    PACED = "paced"
    BURST = "burst"


def pace_of(shares: Sequence[float]) -> Pace | None:
    """The pace by medians of response times as shares of their means, of windows in which the drive collects.

    At a constant demand the mean follows from the rate. Where a block is moved at a time, most writes meet
    none of that, and take as long as before.
    """
    if len(shares) < _FEWEST_SHARES:
        return None
    if min(shares) >= _PACED:
        return Pace.PACED
    return Pace.BURST if max(shares) <= _IN_BURSTS else None


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
        return Found(None, why="too few writes came after free blocks ran out")
    usual, rising = median(before), rises(refill)
    lowest = min(after) / usual
    if lowest <= _COLLAPSED:
        return Found(Victims.FIFO, lowest, agrees=True)
    if len(after) < _LEAST_AFTER:
        return Found(None, lowest, why="too few writes came after free blocks ran out")
    if min(before) < _STEADY * usual:
        # spare blocks were not all free: what a choice leaves behind
        if rising and _BETWEEN < lowest <= _UNEVEN:
            return Found(Victims.CHOICES, lowest)
        return Found(None, lowest, why="the rate varies as much before free blocks run out")
    if _STEADY <= lowest <= _FASTER:
        return Found(Victims.GREEDY, lowest, agrees=rising is False)
    # of the oldest, some may have lain in the part by chance: a refill does not rise then
    if _BETWEEN < lowest <= _UNEVEN and rising is not False:
        return Found(Victims.CHOICES, lowest, agrees=bool(rising))
    return Found(
        None, lowest, why=f"the lowest rate, {100 * lowest:.0f} % of that before, and a refill fit no class"
    )
