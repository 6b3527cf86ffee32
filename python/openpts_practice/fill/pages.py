"""The page of the fill curve: MB/s over the fill level, with its break points and segments."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from msgspec import Struct

from openpts.analysis.change_points import RULE
from openpts.pages import cells, ticks
from openpts.pages.kit import Col, Plot, PlotName, column_series, grid, page, rows_table, table
from openpts.pages.model import Cell, Column, Mark, Page, Series, Table, Verdict
from openpts.procedures.kit.steps import THROUGHPUT
from openpts.procedures.shared.methodology import nothing_page
from openpts.record.reader import Run
from openpts.units import GB, MB
from openpts.vocabulary.sample import Sample
from openpts_practice.fill import FillConditions, IdleTime
from openpts_practice.fill.results import (
    LEAST_GAIN,
    READING,
    Fall,
    FillPoint,
    FillSegment,
    Returned,
    Trajectory,
    returned,
)

_IDLE_NAME: Final = PlotName("fill-idle", "Plot X-FILL-2", "Writes after Idle Time: MB/s v GB Written")


class Rewrite(Struct, frozen=True):
    """What was written after an idle time."""

    time: IdleTime
    course: Trajectory

    @property
    def name(self) -> str:
        """``5 min 0 s idle``."""
        return f"{self.time} idle"


def idle_page(rewrites: Sequence[Rewrite], without_idle: Trajectory | None) -> Page:
    """The course after each idle time; ``without_idle`` is that of the shortest."""
    if not rewrites or without_idle is None:
        return nothing_page(_IDLE_NAME.id, _IDLE_NAME.title, "nothing was written again")
    shown = _values_table(rewrites)
    written = max(rewrite.course.written_bytes for rewrite in rewrites) / GB
    plot = Plot(
        x=ticks.linear_axis("Written since the idle time (GB)", 0, written),
        y=lambda rates: ticks.linear_axis("MB/s", 0, max(rates)),
        series=column_series(shown),
        alt=f"{len(rewrites)} idle times, from {{low}} to {{high}} MB/s.",
        height_px=260,
    )
    rule = Verdict(
        "Cache returned: what was written at the rate of the fastest step, up to the first that is slower "
        "than the geometric mean of the fastest and of the usual rate (median step after the shortest idle "
        "time). A step between the two rates counts in part: as much as must have been written at the faster "
        f"rate. None if the fastest is less than {LEAST_GAIN:g} times the usual rate."
    )
    return page(
        _IDLE_NAME, plot.over(_IDLE_NAME, shown), _returned_table(rewrites, without_idle), rule, shown
    )


def _values_table(rewrites: Sequence[Rewrite]) -> Table:
    longest = max(rewrites, key=lambda rewrite: len(rewrite.course.points)).course.points
    return grid(
        f"{_IDLE_NAME.id}-values",
        "Values plotted: MB/s of each step, at its end",
        Col("Written since the idle time (GB)", lambda n: cells.number(longest[n].end_bytes / GB, 2)),
        [(Column(rewrite.name), rewrite.course) for rewrite in rewrites],
        range(len(longest)),
        cell=lambda number, course: THROUGHPUT.cell(_step(course, number)),
    )


def _step(course: Trajectory, number: int) -> Sample | None:
    return course.points[number].step if number < len(course.points) else None


def _returned_table(rewrites: Sequence[Rewrite], without_idle: Trajectory) -> Table:
    columns: list[Col[Rewrite]] = [
        Col("Cache returned (GB)", lambda one: _returned_cell(returned(one.course, without_idle))),
        Col("First segment (MB/s)", lambda one: THROUGHPUT.cell(one.course.segments[0])),
        Col("Last segment (MB/s)", lambda one: THROUGHPUT.cell(one.course.segments[-1])),
        Col("Written (GB)", lambda one: cells.number(one.course.written_bytes / GB, 1)),
    ]
    return table(
        f"{_IDLE_NAME.id}-returned",
        "What idle time gives back",
        Col("Idle time", lambda one: Cell(str(one.time)), align="left"),
        columns,
        rewrites,
    )


def _returned_cell(found: Returned) -> Cell:
    value = found.bytes / GB
    return cells.number(value, 1, note="at least: the rate never fell" if found.at_least else "")


_MEAN_COLOR, _SPREAD_COLOR = 2, 6
_SPREAD: Final = (
    Series("Lowest interval of a step", "column", (2,), _SPREAD_COLOR, style="line"),
    Series("Highest interval of a step", "column", (3,), _SPREAD_COLOR, style="line"),
)
_PRINTED_VALUES: Final = 200
_FALLS: Final = ("cache end", "GC start")
_NAME: Final = PlotName("fill-curve", "Plot X-FILL-1", "Sequential Fill: MB/s v Fill Level")


class FillRun(Struct, frozen=True):
    """Everything that the pages show of a run; what was not measured is empty."""

    run: Run
    conditions: FillConditions
    fill: Trajectory
    rewrites: tuple[Rewrite, ...]
    bursts: tuple[tuple[float, Sample], ...]

    @property
    def without_idle(self) -> Trajectory | None:
        """What the drive does without idle time: the shortest one's course."""
        shortest = min(self.rewrites, key=lambda rewrite: rewrite.time.idle_ns, default=None)
        return None if shortest is None else shortest.course

    def share_pct(self, written_bytes: float) -> float:
        """Bytes in per cent of the user capacity."""
        capacity_bytes = self.run.manifest.target.user_capacity_bytes
        return 100 * written_bytes / capacity_bytes if capacity_bytes else 0.0


def breaks_sentence(measured: FillRun) -> Verdict:
    """The break points of the fill in one sentence."""
    fill = measured.fill
    if not fill.segments:
        return Verdict("Fill: n/a (nothing was filled).", "fail")
    first, last = fill.segments[0], fill.segments[-1]
    whole = (
        f"{cells.fixed(fill.written_bytes / GB, 1)} GB = "
        f"{cells.fixed(measured.share_pct(fill.written_bytes), 1)} % of the user capacity written"
    )
    rates = [cells.fixed(one.bandwidth_bytes_per_s / MB, 0) for one in (first, last)]
    if len(fill.segments) == 1:
        return Verdict(f"Fill: no break point, {rates[0]} MB/s; {whole}.")
    falls = [
        f"{name} at {_gigabytes(fall.at_bytes)} GB (between {_bounds(fall)})"
        for name, fall in zip(_FALLS, fill.falls, strict=False)
    ]
    places = [f"{name} at {_gigabytes(place)} GB" for name, place in _marks_of(fill) if name not in _FALLS]
    marks = ", ".join((*falls, *places))
    return Verdict(f"Fill: {rates[0]} MB/s at first, {rates[1]} MB/s at the end; {marks}; {whole}.")


# HYP-FILL-02
def _marks_of(fill: Trajectory) -> list[tuple[str, int]]:
    """Break points that there are, and the end of the fill."""
    falls = [(name, fall.at_bytes) for name, fall in zip(_FALLS, fill.falls, strict=False)]
    last = [] if fill.last_rate_from_bytes is None else [("last rate", fill.last_rate_from_bytes)]
    return [*falls, *last, ("full", fill.written_bytes)]


def fall_cell(fall: Fall) -> Cell:
    """The place of a fall in GB, with the bounds of the interval in which it lies."""
    return cells.number(fall.at_bytes / GB, 1, note=f"between {_bounds(fall)}")


def _bounds(fall: Fall) -> str:
    return f"{_gigabytes(fall.low_bytes)} and {_gigabytes(fall.high_bytes)}"


def _gigabytes(amount_bytes: int) -> str:
    return cells.fixed(amount_bytes / GB, 1)


# HYP-FILL-01
def curve_page(measured: FillRun) -> Page:
    """The rate of each step of the fill, the break points marked."""
    fill = measured.fill
    if not fill.points:
        return nothing_page(_NAME.id, _NAME.title, "nothing was filled")
    shown = _points_table(measured)
    spreads = [spread for point in fill.points if (spread := point.spread_bytes_per_s)]
    highest = [high / MB for _, high in spreads]
    sentence = breaks_sentence(measured)
    plot = Plot(
        x=ticks.span_axis("Fill level (% of user capacity)", 0, measured.share_pct(fill.written_bytes)),
        y=lambda values: ticks.linear_axis("MB/s", 0, max([*values, *highest])),
        series=(
            *(_SPREAD if any(low for low, _ in spreads) else ()),
            Series("Mean of a step", "column", (0,), _MEAN_COLOR, style="mean", emphasis=True),
        ),
        alt=f"{sentence.text} {{rows}} steps.",
        marks=_marks(measured),
    )
    rule = Verdict(f"{RULE} {READING}")
    return page(_NAME, plot.over(_NAME, shown), sentence, _segments_table(measured), rule, shown)


def _marks(measured: FillRun) -> tuple[Mark, ...]:
    """Each place once: where two names fall on the same place, they share a ring."""
    at: dict[int, list[str]] = {}
    for name, place in _marks_of(measured.fill):
        at.setdefault(place, []).append(name)
    return tuple(
        Mark(
            f"{', '.join(names)}: {cells.fixed(place / GB, 0 if place >= 100 * GB else 1)} GB",
            measured.share_pct(place),
            _rate_before(measured.fill, place) / MB,
        )
        for place, names in at.items()
    )


def _rate_before(fill: Trajectory, place_bytes: int) -> float:
    """The rate of the last step that ends before a place, or at it."""
    ended = [point for point in fill.points if point.end_bytes <= place_bytes]
    return (ended[-1] if ended else fill.points[0]).bytes_per_s


def _segments_table(measured: FillRun) -> Table:
    first = measured.fill.segments[0].bandwidth_bytes_per_s
    return rows_table(
        f"{_NAME.id}-segments",
        "Segments between break points",
        "Segment:<0.5 | From (GB) | To (GB) | From (% of capacity) | To (% of capacity) | Mean (MB/s) | "
        "Of the first (%) | Begins with:<1.2",
        (
            (str(number), *_segment_cells(measured, segment, first), begins)
            for number, (segment, begins) in enumerate(
                zip(measured.fill.segments, _beginnings(measured.fill), strict=True), start=1
            )
        ),
        note="Segments begin and end with steps; the places of falls are more exact.",
    )


def _segment_cells(measured: FillRun, segment: FillSegment, first_bytes_per_s: float) -> tuple[Cell, ...]:
    start = segment.start_bytes
    return (
        cells.number(start / GB, 1),
        cells.number(segment.end_bytes / GB, 1),
        cells.percent(measured.share_pct(start)),
        cells.percent(measured.share_pct(segment.end_bytes)),
        THROUGHPUT.cell(segment),
        cells.percent(100 * segment.bandwidth_bytes_per_s / first_bytes_per_s),
    )


def _beginnings(fill: Trajectory) -> list[str]:
    """What each segment begins with."""
    falls = iter(_FALLS)
    found = ["purged drive"]
    for segment in fill.segments[1:]:
        names = [] if segment.fall is None else [next(falls, "")]
        if segment is fill.segments[-1]:
            names.append("last rate")
        found.append(", ".join(name for name in names if name) or "-")
    return found


def _points_table(measured: FillRun) -> Table:
    columns: list[Col[FillPoint]] = [
        Col("Mean (MB/s)", lambda point: THROUGHPUT.cell(point.step)),
        Col("Written (GB)", lambda point: cells.number(point.end_bytes / GB, 2)),
        *(
            Col(f"{label} interval (MB/s)", partial(_interval, end=end))
            for end, label in enumerate(("Lowest", "Highest"))
        ),
    ]
    return table(
        f"{_NAME.id}-values",
        "Values plotted: mean of each step, at its end",
        Col(
            "Fill level (% of user capacity)",
            lambda point: cells.number(measured.share_pct(point.end_bytes), 2),
        ),
        columns,
        measured.fill.points,
        printed=_PRINTED_VALUES,
    )


def _interval(point: FillPoint, end: int) -> Cell:
    spread = point.spread_bytes_per_s
    return cells.number_or("no whole interval", spread and spread[end], 1, per=MB)
