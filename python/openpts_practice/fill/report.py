"""The report of the test that fills a drive once.

Implements: HYP-FILL-01, HYP-FILL-02.
"""

from collections.abc import Sequence
from typing import Any, Final

from msgspec.structs import replace

from openpts.pages import cells, ticks
from openpts.pages.kit import Col, Plot, PlotName, page, table
from openpts.pages.measure import Measure, measured
from openpts.pages.model import Axis, Cell, Page, Series, Verdict
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.curve import OVER_FILL_LEVEL, RATE, Curve
from openpts.procedures.kit.header import Rows, demand_text, stimulus_rows
from openpts.procedures.kit.steps import ART, IOPS, MRT, THROUGHPUT, values_json
from openpts.procedures.shared.methodology import methodology, nothing_page, state_page
from openpts.record.reader import Run
from openpts.units import GB, MB, NS_PER_S, format_block_size, format_duration
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.sample import Sample, StepState
from openpts_practice.fill import FillConditions
from openpts_practice.fill.pages import FillRun, Rewrite, breaks_sentence, curve_page, fall_cell, idle_page
from openpts_practice.fill.results import Fall, Trajectory, course_of, returned

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
