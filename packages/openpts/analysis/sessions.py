"""When and where runs were made: whether what drifts between sessions is in the difference of two sets.

Intervals take runs as independent. A host or a drive that differs from day to day shifts all runs of a
session alike, which their spread does not show. Runs of two sets that were made in turn have the shift on
both sides; of sets in sequence, or on two hosts, it can't be distinguished from a change. A session is one
boot of a host without a night between its runs.
"""

import math
from collections.abc import Sequence
from itertools import pairwise, permutations
from math import fsum
from statistics import NormalDist, fmean
from typing import Final

from msgspec import Struct

DRIFT_LIMIT: Final = 0.02
"""Runs drift if chance puts them in such an order more seldom: of fewer than five runs it never does."""
_MOST_PERMUTED: Final = 7
_ROUNDING: Final = 1e-9


_NIGHT_S: Final = 12 * 3600.0


class Made(Struct, frozen=True):
    """Of a run: its host, its start in seconds of any one clock, and what tells boots of the host apart."""

    host: str
    started_s: float
    boot: str = ""


def are_apart(base: Sequence[Made | None], candidate: Sequence[Made | None]) -> bool:
    """Whether what sessions shift is in the difference of two sides by more than the spread of runs shows.

    It is where all runs of one side were made before those of the other, or on other hosts, and where the
    sessions of one side lack runs of the other. None is a run of a simulated drive, which knows no session.
    """
    sides = [[one for one in side if one is not None] for side in (base, candidate)]
    if not all(sides):
        return False
    hosts = [{one.host for one in side} for side in sides]
    times = [[one.started_s for one in side] for side in sides]
    behind = max(times[0]) < min(times[1]) or max(times[1]) < min(times[0])
    return not hosts[0] & hosts[1] or behind or _is_shifted(*sides)


def _is_shifted(base: Sequence[Made], candidate: Sequence[Made]) -> bool:
    """Whether the variance of the difference exceeds that of independent runs with the spread within sides,
    where each session shifts its runs alike and shifts vary as runs do.
    """
    sessions = _sessions([*base, *candidate])
    shares = [
        [sum(one in session for one in side) / len(side) for session in sessions]
        for side in (base, candidate)
    ]
    of_runs = 1 / len(base) + 1 / len(candidate)
    of_shifts: float = fsum((ours - theirs) ** 2 for ours, theirs in zip(*shares, strict=True))
    within: float = fsum(
        len(side) * (1 - fsum(share**2 for share in of_side))
        for side, of_side in zip((base, candidate), shares, strict=True)
    )
    degrees = max(1, len(base) + len(candidate) - 2)
    allowed = of_runs * within / degrees
    return of_shifts > allowed + _ROUNDING


def _sessions(runs: Sequence[Made]) -> list[list[Made]]:
    """Runs of one boot of a host, each started within a night of the one before it."""
    found: list[list[Made]] = []
    for one in sorted(runs, key=lambda run: (run.host, run.boot, run.started_s)):
        last = found[-1][-1] if found else None
        same = last is not None and (last.host, last.boot) == (one.host, one.boot)
        if last is not None and same and one.started_s - last.started_s < _NIGHT_S:
            found[-1].append(one)
        else:
            found.append([one])
    return found


def drift_chance(values: Sequence[float]) -> float:
    """How often values without an order follow each other as closely as these do, by von Neumann's ratio.

    All orders of up to seven values are counted; more are nearly normal.
    """
    if len(values) < 3 or len(set(values)) == 1:
        return 1.0
    mean = fmean(values)
    squares = fsum((value - mean) ** 2 for value in values)
    found = _steps(values)
    if len(values) <= _MOST_PERMUTED:
        orders = [_steps(order) for order in permutations(values)]
        return sum(one <= found * (1 + 1e-9) for one in orders) / len(orders)
    count = len(values)
    error = math.sqrt(4 * (count - 2) / (count**2 - 1))
    return NormalDist(2, error).cdf(found / squares)


def _steps(values: Sequence[float]) -> float:
    """The sum of the squares of all differences between neighbors."""
    return fsum((one - other) ** 2 for one, other in pairwise(values))
