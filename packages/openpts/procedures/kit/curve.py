"""Curves: figures of a run along time, amounts or cycles, which a comparison draws over each other."""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final

from msgspec import Struct

from openpts.analysis.minutes import Minute
from openpts_pages import cells, ticks
from openpts_pages.model import Axis, Cell

_ONE_DECIMAL: Final = partial(cells.number, decimals=1)


class XAxis(Struct, frozen=True):
    """What curves run along: the axis for all x of several curves, and how many of x's units one of it has.

    ``decimals`` are those of a place on the axis in a table.
    """

    axis: Callable[[Sequence[float]], tuple[Axis, float]]
    decimals: int


class Curve(Struct, frozen=True):
    """A figure of a run along something; curves of runs with one ``key`` are drawn in one plot.

    ``points`` are pairs of x and value, and ``cell`` is a value in a table. ``values`` says what they are,
    with their unit; ``y`` is the axis for all numbers of a table. ``dots``: no line connects the points.
    """

    key: str
    title: str
    values: str
    along: XAxis
    y: Callable[[Sequence[float]], Axis]
    points: tuple[tuple[float, float], ...]
    cell: Callable[[float], Cell] = _ONE_DECIMAL
    dots: bool = False


def _time(ends_ns: Sequence[float]) -> tuple[Axis, float]:
    time = ticks.time_axis("Time", 0, max(ends_ns))
    return time.axis, time.unit_ns


def _from_zero(title: str) -> XAxis:
    return XAxis(lambda values: (ticks.span_axis(title, 0, max(values)), 1), 3)


def _nines(levels_pct: Sequence[float]) -> tuple[Axis, float]:
    return ticks.nines_axis(
        "Confidence level (%)", math.ceil(2 - math.log10(100 - max(levels_pct)) - 1e-6)
    ), 1


OVER_TIME: Final = XAxis(_time, 3)
"""Nanoseconds from the start, shown in s, min or h."""
OVER_FILLS: Final = _from_zero("Written since the start (x user capacity)")
OVER_FILL_LEVEL: Final = _from_zero("Fill level (% of user capacity)")
OVER_CYCLES: Final = XAxis(
    lambda numbers: (ticks.whole_axis("Full drive cycles", min(numbers), max(numbers)), 1), 0
)
OVER_NINES: Final = XAxis(_nines, 6)
OVER_IOPS: Final = XAxis(lambda rates: (ticks.amount_axis("IOPS", rates), 1), 1)

IOPS: Final = partial(ticks.amount_axis, "IOPS")
RATE: Final = partial(ticks.amount_axis, "MB/s")


def iops_curve(key: str, title: str, minutes: Iterable[Minute]) -> Curve:
    """IOPS of each minute of a continuous stimulus, at its end."""
    points = tuple((float(minute.end_ns), minute.iops) for minute in minutes)
    return Curve(key, title, "IOPS of each minute at its end", OVER_TIME, IOPS, points)
