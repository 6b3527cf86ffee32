"""The highest load that keeps a limit: what is known of it, and the load to measure next."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from openpts_practice.qos.conditions import Limit, QosConditions
from openpts_practice.qos.points import Point

MOST_MEASUREMENTS: Final = 40
"""Of one search, behind the loads of the curve."""

_DUST: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Bracket:
    """The highest load measured that keeps a limit, and the next one above, which breaks it.

    Without ``kept`` all loads break it, or too few I/Os show that they don't; without ``broken`` the highest
    load keeps it. ``broken_below`` counts loads below ``kept`` that break it.
    """

    kept: Point | None
    broken: Point | None
    broken_below: int

    @property
    def is_reached(self) -> bool:
        """Whether the limit is kept at one load and broken at another."""
        return self.kept is not None and self.broken is not None

    def next_load(self, conditions: QosConditions) -> float | None:
        """The load to measure: halfway, or an end that was measured too seldom; None if all is known."""
        if self.kept is None or self.broken is None:
            return None
        low, high = self.kept.ios_per_s, self.broken.ios_per_s
        if high - low > conditions.width_pct / 100 * high:
            return (low + high) / 2
        seldom = (end for end in (self.kept, self.broken) if len(end.samples) < conditions.repeats)
        return next((end.ios_per_s for end in seldom), None)


def bracket_of(points: Sequence[Point], limit: Limit, conditions: QosConditions) -> Bracket:
    """What the loads of a mix, from the least to the highest, say of a limit.

    A load that too few I/Os are known of is not shown to keep it. A plan knows no response times: it takes
    the longest search, that of the widest gap.
    """
    if points and all(point.is_planned for point in points):
        most = _before_widest_gap(points, conditions.loads_pct)
        kept = [point.ios_per_s <= most for point in points]
    else:
        kept = [point.keeps(limit, conditions.late_pct) is True for point in points]
    highest = max((at for at, is_kept in enumerate(kept) if is_kept), default=None)
    if highest is None:
        return Bracket(None, points[0] if points else None, 0)
    above = points[highest + 1] if highest + 1 < len(points) else None
    return Bracket(points[highest], above, kept[:highest].count(False))


def _before_widest_gap(points: Sequence[Point], loads_pct: Sequence[float]) -> float:
    """The load of the curve below the widest gap; the highest load of all is that of the curve."""
    in_order = sorted(loads_pct)
    before, _ = max(pairwise(in_order), key=lambda pair: pair[1] - pair[0])
    return points[-1].ios_per_s * before / in_order[-1] * (1 + _DUST)
