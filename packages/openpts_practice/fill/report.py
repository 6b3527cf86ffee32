"""The report of the test that fills a drive once: the fill curve with its break points, and idle time.

Implements: HYP-FILL-01, HYP-FILL-02.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.change_points import RULE
from openpts.procedures.kit.content import OVER_FILL_LEVEL, RATE, Curve, ReportContent
from openpts.procedures.kit.header import Rows, demand_text, stimulus_rows
from openpts.procedures.kit.steps import ART, IOPS, MRT, THROUGHPUT, values_json
from openpts.record.reader import Run
from openpts.units import GB, MB, NS_PER_S, format_block_size, format_duration
from openpts.vocabulary.sample import Phase, Sample, StepState
from openpts_pages import cells, ticks
from openpts_pages.kit import Col, Plot, PlotName, column_series, grid, page, rows_table, table
from openpts_pages.measure import Measure, measured
from openpts_pages.model import Axis, Cell, Column, Mark, Page, Series, Table, Verdict
from openpts_practice.fill import FillConditions, IdleTime
from openpts_practice.fill.results import (
    LEAST_GAIN,
    READING,
    Fall,
    FillPoint,
    FillSegment,
    Returned,
    Trajectory,
    course_of,
    returned,
)
from openpts_pts.shared.preparation_page import methodology, nothing_page, state_page

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


# the cycles: that of the fill curve, that of the bursts by fill level
_CURVE, _LEVELS = 1, 2
_TITLE: Final = "Fill Curve"
_BURST_COLOR: Final = 2


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    found = fill_run(run)
    return ReportContent(
        verdicts=(breaks_sentence(found),),
        measures=measured(_MEASURES, found.fill),
        sections=methodology(found.run, _TITLE, _test_rows(found), lambda: _pages(found)),
        figures=lambda: _figures(found),
        curves=lambda: (_curve(found),),
    )


def _curve(measured: FillRun) -> Curve:
    return Curve(
        "fill",
        "Sequential Fill: MB/s v Fill Level",
        "mean MB/s of each step at its end",
        OVER_FILL_LEVEL,
        RATE,
        tuple(
            (measured.share_pct(point.end_bytes), point.bytes_per_s / MB) for point in measured.fill.points
        ),
    )


def fill_run(run: Run) -> FillRun:
    """The courses and bursts as far as they were measured."""
    conditions = run.conditions(FillConditions)
    rewrites = [
        Rewrite(time, course_of(_whole(run, Phase.BURST, _CURVE, number)))
        for number, time in enumerate(conditions.idle_times, start=1)
    ]
    bursts = [
        (level, samples[0])
        for number, level in enumerate(conditions.levels_pct, start=1)
        if (samples := _whole(run, Phase.BURST, _LEVELS, number))
    ]
    return FillRun(
        run=run,
        conditions=conditions,
        fill=course_of(_whole(run, Phase.FILL, _CURVE, 1)),
        rewrites=tuple(rewrite for rewrite in rewrites if rewrite.course.points),
        bursts=tuple(bursts),
    )


def _whole(run: Run, phase: Phase, cycle: int, number: int) -> list[Sample]:
    steps = run.phase(phase, cycle=cycle, number=number)
    return [step.sample for step in steps if step.sample.state is StepState.COMPLETE]


def _fall(fall: Fall | None) -> Cell:
    return cells.missing("no such break") if fall is None else fall_cell(fall)


_MEASURES: Final[tuple[Measure[Trajectory], ...]] = (
    Measure("cache_end", "Cache ends at", "GB", lambda fill: _fall(fill.cache_end)),
    Measure(
        "collection_start", "Garbage collection starts at", "GB", lambda fill: _fall(fill.collection_start)
    ),
    Measure(
        "first_segment",
        "First segment of the fill",
        "MB/s",
        lambda fill: fill.segments[0].bandwidth_bytes_per_s if fill.segments else None,
        per=MB,
    ),
    Measure(
        "last_segment",
        "Last segment of the fill",
        "MB/s",
        lambda fill: fill.segments[-1].bandwidth_bytes_per_s if fill.segments else None,
        per=MB,
    ),
)


def _pages(measured: FillRun) -> tuple[Page, ...]:
    return (
        curve_page(measured),
        idle_page(measured.rewrites, measured.without_idle),
        bursts_page(measured.bursts, _burst_name(measured.conditions), measured.conditions.burst_ns),
        state_page(measured.run, "Purge", ("Fill curve", "Bursts by fill level")),
    )


def _burst_name(conditions: FillConditions) -> str:
    return f"RND {format_block_size(conditions.random_block_size_bytes)} W"


def _test_rows(measured: FillRun) -> Rows:
    conditions = measured.conditions
    sequential = demand_text(conditions.sequential_tc, conditions.sequential_qd)
    times = ", ".join(str(time) for time in conditions.idle_times)
    levels = ", ".join(f"{level:g}" for level in conditions.levels_pct)
    return stimulus_rows(
        measured.run,
        (
            "Test Stimulus 1",
            f"SEQ {format_block_size(conditions.sequential_block_size_bytes)} W, the range once",
        ),
        ("TOIO - TC/QD", sequential),
        ("Test Stimulus 2", f"Idle {times}, then {conditions.rewrite_pct:g} %"),
        ("TOIO - TC/QD", sequential),
        ("Test Stimulus 3", f"{_burst_name(conditions)} bursts"),
        ("TOIO - TC/QD", demand_text(conditions.tc, conditions.qd)),
        ("Fill Levels", f"{levels} %"),
        ("Duration", f"{format_duration(conditions.burst_ns)} per burst"),
    )


def _figures(measured: FillRun) -> dict[str, Any]:
    """Key numbers, JSON-ready."""
    fill = measured.fill
    without_idle = measured.without_idle
    return {
        "written_bytes": fill.written_bytes,
        **_fall_figures("cache_end", fill.cache_end),
        **_fall_figures("collection_start", fill.collection_start),
        "last_rate_from_bytes": fill.last_rate_from_bytes,
        "segments": _segments(fill),
        "idle_times": [
            {
                "idle_s": rewrite.time.idle_ns / NS_PER_S,
                "returned_bytes": None
                if without_idle is None
                else returned(rewrite.course, without_idle).bytes,
                "segments": _segments(rewrite.course),
            }
            for rewrite in measured.rewrites
        ],
        "bursts": [{"level_pct": level, "iops": sample.iops} for level, sample in measured.bursts],
    }


def _fall_figures(name: str, fall: Fall | None) -> dict[str, Any]:
    return {
        f"{name}_bytes": None if fall is None else fall.at_bytes,
        f"{name}_between_bytes": None if fall is None else [fall.low_bytes, fall.high_bytes],
    }


def _segments(course: Trajectory) -> list[dict[str, float | None]]:
    return [
        {
            "start_bytes": segment.start_bytes,
            "end_bytes": segment.end_bytes,
            **values_json(segment, (THROUGHPUT,)),
        }
        for segment in course.segments
    ]


def bursts_page(bursts: Sequence[tuple[float, Sample]], workload: str, burst_ns: int) -> Page:
    """IOPS of a burst at each fill level; ``workload`` names what it is of: ``RND 4 KiB W``."""
    name = PlotName("fill-bursts", "Plot X-FILL-3", f"{workload} Bursts by Fill Level")
    if not bursts:
        return nothing_page(name.id, name.title, "no burst was measured")
    first = bursts[0][1].iops
    columns: list[Col[tuple[float, Sample]]] = [
        replace(IOPS, decimals=0).column(_sample),
        Col("Of the first (%)", lambda burst: _share_of(first, burst[1].iops)),
        ART.column(_sample),
        MRT.column(_sample),
        Col("Written (GB)", lambda burst: cells.number(burst[1].write.bytes / GB, 2)),
    ]
    shown = table(
        f"{name.id}-values",
        f"{workload}, {format_duration(burst_ns)} at each fill level",
        Col("Fill level (%)", lambda burst: Cell(f"{burst[0]:g}", burst[0])),
        columns,
        bursts,
    )
    plot = Plot(
        x=Axis("Fill level (%)", "linear", (-3, 103), tuple(float(n) for n in range(0, 101, 10))),
        y=lambda rates: ticks.linear_axis("IOPS", 0, max(rates)),
        series=(Series("IOPS of the burst", "column", (0,), _BURST_COLOR, emphasis=True),),
        alt="{count} levels, from {low} to {high}.",
        height_px=300,
    )
    rule = Verdict(
        "The drive was purged again and filled in sequence up to each level. The burst writes to the filled "
        "part; on the empty drive, to the part that is filled next."
    )
    return page(name, plot.over(name, shown), rule, shown)


def _sample(burst: tuple[float, Sample]) -> Sample:
    return burst[1]


def _share_of(first: float, iops: float) -> Cell:
    return cells.percent(100 * iops / first) if first else cells.missing("no I/O")
