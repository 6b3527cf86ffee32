"""When and where runs were made: whether what drifts between sessions is in the difference of two sets.

Intervals take runs as independent. A host or a drive that differs from day to day shifts all runs of a
session alike, which their spread does not show. Runs of two sets that were made in turn have the shift on
both sides; of sets one behind the other, or on two hosts, it can't be told from a change.
"""

import math
from collections.abc import Sequence
from itertools import pairwise, permutations
from statistics import NormalDist, fmean
from typing import Final

from msgspec import Struct

DRIFT_LIMIT: Final = 0.02
"""Runs drift if chance puts them in such an order more seldom: of fewer than five runs it never does."""
_MOST_PERMUTED: Final = 7


class Made(Struct, frozen=True):
    """Of a run: its host, and its start in seconds of any one clock."""

    host: str
    started_s: float


def are_apart(base: Sequence[Made | None], candidate: Sequence[Made | None]) -> bool:
    """Whether all runs of one side were made before those of the other, or on other hosts.

    None is a run of a simulated drive, which knows no session.
    """
    sides = [[one for one in side if one is not None] for side in (base, candidate)]
    if not all(sides):
        return False
    hosts = [{one.host for one in side} for side in sides]
    times = [[one.started_s for one in side] for side in sides]
    return not hosts[0] & hosts[1] or max(times[0]) < min(times[1]) or max(times[1]) < min(times[0])


def drift_chance(values: Sequence[float]) -> float:
    """How often values without an order follow each other as closely as these do, by von Neumann's ratio.

    All orders of up to seven values are counted; more are nearly normal.
    """
    if len(values) < 3 or len(set(values)) == 1:
        return 1.0
    mean = fmean(values)
    squares = sum((value - mean) ** 2 for value in values)
    found = _steps(values)
    if len(values) <= _MOST_PERMUTED:
        orders = [_steps(order) for order in permutations(values)]
        return sum(one <= found * (1 + 1e-9) for one in orders) / len(orders)
    count = len(values)
    error = math.sqrt(4 * (count - 2) / (count**2 - 1))
    return NormalDist(2, error).cdf(found / squares)


def _steps(values: Sequence[float]) -> float:
    """The sum of the squares of all differences between neighbors."""
    return sum((one - other) ** 2 for one, other in pairwise(values))
