"""A measure over runs in the order of their time, with the limits of an individuals chart.

The center is the mean; the limits are 2.66 times the mean moving range away from it (3 / d2 of two values,
d2 = 1.128; Shewhart, as in ISO 7870-2). Each group, such as a firmware or a lot, has its own.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import mean
from typing import Any, Final, Self

from msgspec import Struct, structs

from openpts.vocabulary.document import Document
from openpts_pages.cells import none
from openpts_pages.kit import rows_table, values_of
from openpts_pages.model import Cell, Column, Figure, Mark, Page, Report, Series, Verdict
from openpts_pages.ticks import around_axis, linear_axis, whole_axis

LIMIT_FACTOR: Final = 2.66
FEWEST: Final = 3
"""Two values have one moving range, and limits that neither can pass."""

_MOST_MARKS: Final = 12
_LEAST_SHARE: Final = 0.02
_RULE: Final = (
    "Individuals chart: mean and 2.66 x mean moving range, of each group by itself; of fewer than three runs "
    "there are no limits. A run outside differs from the others by more than they do from each other: that "
    "says nothing of what a customer needs, which is a matter of the gate."
)
_LINES: Final = (
    ("", "measured"),
    (", mean", "line"),
    (", lower limit", "dashed"),
    (", upper limit", "dashed"),
)


class TrendPoint(Struct, frozen=True):
    """Value of a run. ``state``: why it is not of steady state; ``is_outside``: beyond a control limit."""

    id: str
    run: str
    started_at: str
    value: float
    group: str
    state: str = ""
    is_outside: bool = False


class ControlLimits(Struct, frozen=True):
    """Chart of a group; what needs more runs is None."""

    group: str
    runs: int
    mean: float
    mean_moving_range: float | None = None
    low: float | None = None
    high: float | None = None
    outside: int = 0

    @classmethod
    def of(cls, group: str, values: Sequence[float]) -> Self:
        """Limits of values in the order of their time."""
        center = mean(values)
        if len(values) < FEWEST:
            return cls(group, len(values), center)
        moving = mean(abs(after - before) for before, after in pairwise(values))
        low, high = center - LIMIT_FACTOR * moving, center + LIMIT_FACTOR * moving
        return cls(
            group, len(values), center, moving, low, high, sum(not low <= one <= high for one in values)
        )

    def holds(self, value: float) -> bool:
        """Whether a value is within the limits; any is where there are none."""
        return self.low is None or self.high is None or self.low <= value <= self.high


class Trend(Document, frozen=True, kw_only=True, tag="openpts.web-trend/1"):
    """A measure over runs, which were made under so many different ``conditions``."""

    test: str
    key: str
    label: str
    unit: str
    by: str
    conditions: int
    limits: tuple[ControlLimits, ...]
    points: tuple[TrendPoint, ...]


def control_chart(points: Sequence[TrendPoint]) -> dict[str, Any]:
    """The limits of each group, in the order of its first run, and the points, those outside marked."""
    groups: dict[str, list[float]] = {}
    for one in points:
        groups.setdefault(one.group, []).append(one.value)
    limits = {group: ControlLimits.of(group, values) for group, values in groups.items()}
    marked = (structs.replace(one, is_outside=not limits[one.group].holds(one.value)) for one in points)
    return {"limits": tuple(limits.values()), "points": tuple(marked)}


def trend_report(trend: Trend) -> Report:
    """The chart with its values as pages have them."""
    name = f"{trend.label} ({trend.unit})" if trend.unit else trend.label
    limits = {one.group: one for one in trend.limits}
    values = rows_table(
        "trend-values",
        f"{len(trend.points)} runs",
        ("Run:<2", *(Column(f"{group or name}{word}") for group in limits for word, _ in _LINES)),
        (
            (Cell(f"{one.run} {one.started_at[:10]}", number), *_cells_of(one, limits.values()))
            for number, one in enumerate(trend.points, start=1)
        ),
        printed=False,
    )
    low, high = min(values_of(values)), max(values_of(values))
    alt = f"{name} of {len(trend.points)} runs in {len(limits)} groups, with control limits"
    chart = Figure(
        id="trend", number="", title=name, kind="lines", table_id=values.id, alt=alt,
        x=whole_axis("Runs in the order of their time", 1, len(trend.points)),
        y=linear_axis(name, low, high) if low < high else around_axis(name, low, _LEAST_SHARE, (low,)),
        series=tuple(
            Series(group or name if style == "measured" else "", "column", (4 * place + line,), place, style)
            for place, group in enumerate(limits)
            for line, (_, style) in enumerate(_LINES)
        ),
        marks=tuple(
            Mark("outside", number, one.value) for number, one in enumerate(trend.points, 1) if one.is_outside
        )[:_MOST_MARKS],
        width_px=1000,
    )  # fmt: skip
    found = rows_table(
        "trend-limits",
        "Control limits",
        "Group:<2 | Runs | Mean | Mean moving range | Lower limit | Upper limit | Outside",
        (
            (one.group or "all runs", Cell(f"{one.runs}"), *map(_number, structs.astuple(one)[2:6]),
             Cell(f"{one.outside}", tone="fail" if one.outside else ""))
            for one in trend.limits
        ),
        note=_RULE,
    )  # fmt: skip
    doubt = f"These runs were made under {trend.conditions} different conditions: that may be what is shown."
    doubts = (Verdict(doubt, "fail"),) if trend.conditions > 1 else ()
    page = Page("trend-page", name, (*doubts, chart, found, values))
    return Report(title=name, subtitle=trend.test, run_name="", footer="", front=(page,))


def _cells_of(one: TrendPoint, limits: Iterable[ControlLimits]) -> Iterable[Cell]:
    """Value and limits of a point in the columns of its group, nothing in those of others."""
    for group in limits:
        if group.group != one.group:
            yield from [none()] * len(_LINES)
            continue
        note = "; ".join(word for word in ("outside" if one.is_outside else "", one.state) if word)
        yield structs.replace(_number(one.value), note=note, tone="fail" if one.is_outside else "")
        yield from map(_number, (group.mean, group.low, group.high))


def _number(value: float | None) -> Cell:
    return none() if value is None else Cell(f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}", value)
