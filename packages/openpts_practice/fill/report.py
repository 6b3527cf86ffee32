"""The report of the test that fills a drive once: the fill curve with its break points, and idle time.

Implements: HYP-FILL-01, HYP-FILL-02.
"""

from collections.abc import Iterator
from operator import itemgetter
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.procedures.kit.content import OVER_FILL_LEVEL, RATE, Curve, ReportContent
from openpts.procedures.kit.header import Rows, demand_text, stimulus_rows
from openpts.procedures.kit.steps import ART, IOPS, MRT, THROUGHPUT, values_json
from openpts.record.reader import Run
from openpts.units import GB, MB, NS_PER_S, format_block_size, format_duration
from openpts.vocabulary.sample import DRIVE_FREE_BLOCKS, Phase, Sample, StepState
from openpts_pages import cells, ticks
from openpts_pages.kit import Cells, Col, Plot, PlotName, column_series, grid, page, rows_table, table
from openpts_pages.measure import Measure, measured
from openpts_pages.model import Axis, Cell, Column, Mark, Page, Series, Table, Verdict
from openpts_practice.fill import FillConditions, IdleTime
from openpts_practice.fill.results import (
    LEAST_GAIN,
    READING,
    Fall,
    FillPoint,
    Trajectory,
    collection_counted,
    course_of,
    returned,
)
from openpts_pts.shared.preparation_page import methodology, nothing_page, state_page
from openpts_work.dips import RULE
from openpts_work.work import DriveWork

_MEAN_COLOR, _BURST_COLOR, _SPREAD_COLOR = 2, 2, 6
_SPREAD: Final = (
    Series("Lowest interval of a step", "column", (2,), _SPREAD_COLOR, style="line"),
    Series("Highest interval of a step", "column", (3,), _SPREAD_COLOR, style="line"),
)
_FREE_BLOCKS: Final = Plot(
    x=ticks.span_axis("Fill level (% of user capacity)", 0, 100),
    y=lambda values: ticks.linear_axis("Free blocks of the model (%)", 0, max(values)),
    series=(Series("Free blocks", "column", (4,), _MEAN_COLOR, style="line", emphasis=True),),
    alt="Free blocks of the simulated drive at the end of each step, from {high} to {low} %.",
    height_px=240,
    part="free",
)
_PRINTED_VALUES: Final = 200
_FALLS: Final = ("cache end", "GC start")
# the cycles: that of the fill curve, that of the bursts by fill level
_CURVE, _LEVELS = 1, 2


class Rewrite(Struct, frozen=True):
    """What was written after an idle time."""

    time: IdleTime
    course: Trajectory


class FillReport(Struct, frozen=True):
    """What a run measured, a method for each page; what was not measured is empty."""

    run: Run
    conditions: FillConditions
    fill: Trajectory
    collection_bytes: int | None
    rewrites: tuple[Rewrite, ...]
    bursts: tuple[tuple[float, Sample], ...]

    @classmethod
    def of(cls, run: Run) -> "FillReport":
        """The courses and bursts as far as they were measured."""

        def whole(phase: Phase, cycle: int, number: int) -> list[Sample]:
            steps = run.phase(phase, cycle=cycle, number=number)
            return [step.sample for step in steps if step.sample.state is StepState.COMPLETE]

        conditions = run.conditions(FillConditions)
        rewrites = (
            Rewrite(time, course_of(whole(Phase.BURST, _CURVE, number)))
            for number, time in enumerate(conditions.idle_times, start=1)
        )
        bursts = (
            (level, samples[0])
            for number, level in enumerate(conditions.levels_pct, start=1)
            if (samples := whole(Phase.BURST, _LEVELS, number))
        )
        return cls(
            run=run,
            conditions=conditions,
            fill=course_of(whole(Phase.FILL, _CURVE, 1)),
            collection_bytes=collection_counted(
                stretch
                for stretch in DriveWork(run).stretches
                if len(stretch.steps) == 1
                and (stretch.steps[0].place.phase, stretch.steps[0].place.cycle) == (Phase.FILL, _CURVE)
            ),
            rewrites=tuple(rewrite for rewrite in rewrites if rewrite.course.points),
            bursts=tuple(bursts),
        )

    @property
    def without_idle(self) -> Trajectory | None:
        """What the drive does without idle time: the shortest one's course."""
        shortest = min(self.rewrites, key=lambda rewrite: rewrite.time.idle_ns, default=None)
        return None if shortest is None else shortest.course

    def share_pct(self, written_bytes: float) -> float:
        """Bytes in per cent of the user capacity."""
        capacity_bytes = self.run.manifest.target.user_capacity_bytes
        return 100 * written_bytes / capacity_bytes if capacity_bytes else 0.0

    @property
    def burst_workload(self) -> str:
        """``RND 4 KiB W``."""
        return f"RND {format_block_size(self.conditions.random_block_size_bytes)} W"

    def pages(self) -> Iterator[Page]:
        """The fill, what idle time gives back, bursts, what was done before."""
        yield self.course()
        yield self.after_idle_times()
        yield self.bursts_by_level()
        yield state_page(self.run, "Purge", ("Fill curve", "Bursts by fill level"))

    def curve(self) -> Curve:
        """Mean rate of each step over the fill level."""
        fill = self.fill.points
        return Curve(
            "fill",
            "Sequential Fill: MB/s v Fill Level",
            "mean MB/s of each step at its end",
            OVER_FILL_LEVEL,
            RATE,
            tuple((self.share_pct(point.end_bytes), point.bytes_per_s / MB) for point in fill),
        )

    # HYP-FILL-02
    def breaks(self) -> Verdict:
        """The break points of the fill in one sentence."""
        fill = self.fill
        if not fill.segments:
            return Verdict("Fill: n/a (nothing was filled).", "fail")
        first, last = (f"{fill.segments[n].bandwidth_bytes_per_s / MB:,.0f} MB/s" for n in (0, -1))
        whole = (
            f"{_gigabytes(fill.written_bytes)} GB = {self.share_pct(fill.written_bytes):,.1f} % of the user "
            "capacity written"
        )
        if len(fill.segments) == 1:
            return Verdict(f"Fill: no break point, {first}; {whole}.")
        falls = dict(zip(_FALLS, fill.falls, strict=False))
        marks = ", ".join(
            f"{name} at {_gigabytes(place)} GB"
            + (f" (between {_bounds(falls[name])})" if name in falls else "")
            for name, place in self._places()
        )
        return Verdict(f"Fill: {first} at first, {last} at the end; {marks}; {whole}.")

    def _places(self) -> Iterator[tuple[str, int]]:
        """Break points that there are, and the end of the fill."""
        yield from ((name, fall.at_bytes) for name, fall in zip(_FALLS, self.fill.falls, strict=False))
        if self.fill.last_rate_from_bytes is not None:
            yield "last rate", self.fill.last_rate_from_bytes
        if self.collection_bytes is not None:
            yield "GC counted", self.collection_bytes
        if self.fill.steady_from_bytes is not None:
            yield "steady state", self.fill.steady_from_bytes
        yield "full", self.fill.written_bytes

    # HYP-FILL-01
    def course(self) -> Page:
        """The rate of each step of the fill, the break points marked."""
        name = PlotName("fill-curve", "Plot X-FILL-1", "Sequential Fill: MB/s v Fill Level")
        fill, sentence = self.fill, self.breaks()
        if not fill.points:
            return nothing_page(name.id, name.title, "nothing was filled")

        def interval(label: str, end: int) -> Col[FillPoint]:
            def cell(point: FillPoint) -> Cell:
                spread = point.spread_bytes_per_s
                return cells.number_or("no whole interval", spread and spread[end], 1, per=MB)

            return Col(f"{label} interval (MB/s)", cell)

        columns: list[Col[FillPoint]] = [
            Col("Mean (MB/s)", lambda point: THROUGHPUT.cell(point.step)),
            Col("Written (GB)", lambda point: cells.number(point.end_bytes / GB, 2)),
            interval("Lowest", 0),
            interval("Highest", 1),
        ]
        free_pct = self._free_pct()
        if free_pct:
            columns.append(Col("Free blocks (%)", lambda point: cells.number(free_pct[point.end_bytes], 2)))
        shown = table(
            f"{name.id}-values",
            "Values plotted: mean of each step, at its end",
            Col(
                "Fill level (% of user capacity)",
                lambda point: cells.number(self.share_pct(point.end_bytes), 2),
            ),
            columns,
            fill.points,
            printed=_PRINTED_VALUES,
        )
        spreads = [spread for point in fill.points if (spread := point.spread_bytes_per_s)]
        highest = [high / MB for _, high in spreads]
        plot = Plot(
            x=ticks.span_axis("Fill level (% of user capacity)", 0, self.share_pct(fill.written_bytes)),
            y=lambda values: ticks.linear_axis("MB/s", 0, max([*values, *highest])),
            series=(
                *(_SPREAD if any(low for low, _ in spreads) else ()),
                Series("Mean of a step", "column", (0,), _MEAN_COLOR, style="mean", emphasis=True),
            ),
            alt=f"{sentence.text} {{rows}} steps.",
            marks=tuple(self._marks()),
        )
        rule, segments = Verdict(f"{RULE} {READING}"), self._segments_table(f"{name.id}-segments")
        free = (
            (_FREE_BLOCKS.over(replace(name, title="Free Blocks v Fill Level"), shown),) if free_pct else ()
        )
        return page(name, plot.over(name, shown), *free, sentence, segments, rule, shown)

    def _free_pct(self) -> dict[int, float]:
        """Of a simulated drive at the end of each step of the fill, by the bytes written up to it."""
        series = self.run.telemetry_series.get(DRIVE_FREE_BLOCKS)
        at_ns = dict(zip(series.t_ns, series.values, strict=True)) if series else {}
        ends = {one.end_bytes: one.step.started_ns + one.step.elapsed_ns for one in self.fill.points}
        found = {end_bytes: at_ns[end_ns] for end_bytes, end_ns in ends.items() if end_ns in at_ns}
        return found if len(found) == len(ends) else {}

    def _marks(self) -> Iterator[Mark]:
        """Each place once: where two names fall on the same place, they share a ring."""
        at: dict[int, list[str]] = {}
        for name, place in self._places():
            at.setdefault(place, []).append(name)
        for place, names in at.items():
            ended = [point for point in self.fill.points if point.end_bytes <= place]
            rate = (ended[-1] if ended else self.fill.points[0]).bytes_per_s
            gigabytes = cells.fixed(place / GB, 0 if place >= 100 * GB else 1)
            yield Mark(f"{', '.join(names)}: {gigabytes} GB", self.share_pct(place), rate / MB)

    def _segments_table(self, table_id: str) -> Table:
        def rows() -> Iterator[Cells]:
            first, last = self.fill.segments[0], self.fill.segments[-1]
            falls = iter(_FALLS)
            for number, segment in enumerate(self.fill.segments, start=1):
                begins = ["purged drive"] if segment is first else []
                if segment is not first and segment.fall is not None:
                    begins += [name for name in [next(falls, "")] if name]
                if segment is not first and segment is last:
                    begins.append("last rate")
                places = (segment.start_bytes, segment.end_bytes)
                yield (
                    str(number),
                    *(cells.number(place / GB, 1) for place in places),
                    *(cells.percent(self.share_pct(place)) for place in places),
                    THROUGHPUT.cell(segment),
                    cells.percent(100 * segment.bandwidth_bytes_per_s / first.bandwidth_bytes_per_s),
                    ", ".join(begins) or "-",
                )

        return rows_table(
            table_id,
            "Segments between break points",
            "Segment:<0.5 | From (GB) | To (GB) | From (% of capacity) | To (% of capacity) | Mean (MB/s) | "
            "Of the first (%) | Begins with:<1.2",
            rows(),
            note="Segments begin and end with steps; the places of falls are more exact.",
        )

    def after_idle_times(self) -> Page:
        """The course after each idle time."""
        name = PlotName("fill-idle", "Plot X-FILL-2", "Writes after Idle Time: MB/s v GB Written")
        rewrites, without_idle = self.rewrites, self.without_idle
        if without_idle is None:
            return nothing_page(name.id, name.title, "nothing was written again")
        longest = max((rewrite.course.points for rewrite in rewrites), key=len)
        shown = grid(
            f"{name.id}-values",
            "Values plotted: MB/s of each step, at its end",
            Col("Written since the idle time (GB)", lambda n: cells.number(longest[n].end_bytes / GB, 2)),
            [(Column(f"{rewrite.time} idle"), rewrite.course.points) for rewrite in rewrites],
            range(len(longest)),
            cell=lambda n, points: THROUGHPUT.cell(points[n].step if n < len(points) else None),
        )
        written = max(rewrite.course.written_bytes for rewrite in rewrites) / GB
        plot = Plot(
            x=ticks.linear_axis("Written since the idle time (GB)", 0, written),
            y=lambda rates: ticks.linear_axis("MB/s", 0, max(rates)),
            series=column_series(shown),
            alt=f"{len(rewrites)} idle times, from {{low}} to {{high}} MB/s.",
            height_px=260,
        )
        rule = Verdict(
            "Cache returned: what was written at the rate of the fastest step. It ends with the first step "
            "that is slower than the geometric mean of the fastest and of the usual rate. Usual is the "
            "median step after the shortest idle time. A step between the two rates counts in part: as much "
            f"as must have been written at the faster rate. None if the fastest is less than {LEAST_GAIN:g} "
            "times the usual rate."
        )

        def cache_returned(one: Rewrite) -> Cell:
            found = returned(one.course, without_idle)
            note = "at least: the rate never fell" if found.at_least else ""
            return cells.number(found.bytes / GB, 1, note=note)

        columns: list[Col[Rewrite]] = [
            Col("Cache returned (GB)", cache_returned),
            Col("First segment (MB/s)", lambda one: THROUGHPUT.cell(one.course.segments[0])),
            Col("Last segment (MB/s)", lambda one: THROUGHPUT.cell(one.course.segments[-1])),
            Col("Written (GB)", lambda one: cells.number(one.course.written_bytes / GB, 1)),
        ]
        head: Col[Rewrite] = Col("Idle time", lambda one: Cell(str(one.time)), align="left")
        gains = table(f"{name.id}-returned", "What idle time gives back", head, columns, rewrites)
        return page(name, plot.over(name, shown), gains, rule, shown)

    def bursts_by_level(self) -> Page:
        """IOPS of a burst at each fill level."""
        workload, sample = self.burst_workload, itemgetter(1)
        name = PlotName("fill-bursts", "Plot X-FILL-3", f"{workload} Bursts by Fill Level")
        if not self.bursts:
            return nothing_page(name.id, name.title, "no burst was measured")
        first = self.bursts[0][1].iops

        def share(burst: tuple[float, Sample]) -> Cell:
            return cells.percent(100 * burst[1].iops / first) if first else cells.missing("no I/O")

        columns: list[Col[tuple[float, Sample]]] = [
            replace(IOPS, decimals=0).column(sample),
            Col("Of the first (%)", share),
            ART.column(sample),
            MRT.column(sample),
            Col("Written (GB)", lambda burst: cells.number(burst[1].write.bytes / GB, 2)),
        ]
        shown = table(
            f"{name.id}-values",
            f"{workload}, {format_duration(self.conditions.burst_ns)} at each fill level",
            Col("Fill level (%)", lambda burst: Cell(f"{burst[0]:g}", burst[0])),
            columns,
            self.bursts,
        )
        plot = Plot(
            x=Axis("Fill level (%)", "linear", (-3, 103), tuple(float(n) for n in range(0, 101, 10))),
            y=lambda rates: ticks.linear_axis("IOPS", 0, max(rates)),
            series=(Series("IOPS of the burst", "column", (0,), _BURST_COLOR, emphasis=True),),
            alt="{count} levels, from {low} to {high}.",
            height_px=300,
        )
        rule = Verdict(
            "The drive was purged again and filled in sequence up to each level. The burst writes to the "
            "filled part; on the empty drive, to the part that is filled next."
        )
        return page(name, plot.over(name, shown), rule, shown)

    def test_rows(self) -> Rows:
        """The test's fields of the header."""
        conditions = self.conditions
        sequential = demand_text(conditions.sequential_tc, conditions.sequential_qd)
        size = format_block_size(conditions.sequential_block_size_bytes)
        times = ", ".join(str(time) for time in conditions.idle_times)
        levels = ", ".join(f"{level:g}" for level in conditions.levels_pct)
        return stimulus_rows(
            self.run,
            ("Test Stimulus 1", f"SEQ {size} W, the range once"),
            ("TOIO - TC/QD", sequential),
            ("Test Stimulus 2", f"Idle {times}, then {conditions.rewrite_pct:g} %"),
            ("TOIO - TC/QD", sequential),
            ("Test Stimulus 3", f"{self.burst_workload} bursts"),
            ("TOIO - TC/QD", demand_text(conditions.tc, conditions.qd)),
            ("Fill Levels", f"{levels} %"),
            ("Duration", f"{format_duration(conditions.burst_ns)} per burst"),
        )

    def figures(self) -> dict[str, Any]:
        """Key numbers, JSON-ready."""
        fill, usual = self.fill, self.without_idle
        falls: dict[str, Any] = {}
        for name, fall in (("cache_end", fill.cache_end), ("collection_start", fill.collection_start)):
            falls[f"{name}_bytes"] = None if fall is None else fall.at_bytes
            falls[f"{name}_between_bytes"] = None if fall is None else [fall.low_bytes, fall.high_bytes]
        return {
            "written_bytes": fill.written_bytes,
            **falls,
            "last_rate_from_bytes": fill.last_rate_from_bytes,
            "collection_counted_bytes": self.collection_bytes,
            "steady_from_bytes": fill.steady_from_bytes,
            "segments": _segments(fill),
            "idle_times": [
                {
                    "idle_s": rewrite.time.idle_ns / NS_PER_S,
                    "returned_bytes": None if usual is None else returned(rewrite.course, usual).bytes,
                    "segments": _segments(rewrite.course),
                }
                for rewrite in self.rewrites
            ],
            "bursts": [{"level_pct": level, "iops": sample.iops} for level, sample in self.bursts],
        }


def _segments(course: Trajectory) -> list[dict[str, float | None]]:
    return [
        {"start_bytes": one.start_bytes, "end_bytes": one.end_bytes, **values_json(one, (THROUGHPUT,))}
        for one in course.segments
    ]


def _bounds(fall: Fall) -> str:
    return f"{_gigabytes(fall.low_bytes)} and {_gigabytes(fall.high_bytes)}"


def _gigabytes(amount_bytes: int) -> str:
    return cells.fixed(amount_bytes / GB, 1)


def _fall(fall: Fall | None) -> Cell:
    """The place of a fall in GB, with the bounds of the interval in which it lies."""
    if fall is None:
        return cells.missing("no such break")
    return cells.number(fall.at_bytes / GB, 1, note=f"between {_bounds(fall)}")


def _rate(fill: Trajectory, number: int) -> float | None:
    return fill.segments[number].bandwidth_bytes_per_s if fill.segments else None


_MEASURES: Final[tuple[Measure[Trajectory], ...]] = (
    Measure("cache_end", "Cache ends at", "GB", lambda fill: _fall(fill.cache_end)),
    Measure(
        "collection_start", "Garbage collection starts at", "GB", lambda fill: _fall(fill.collection_start)
    ),
    Measure("first_segment", "First segment of the fill", "MB/s", lambda fill: _rate(fill, 0), per=MB),
    Measure("last_segment", "Last segment of the fill", "MB/s", lambda fill: _rate(fill, -1), per=MB),
)


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    found = FillReport.of(run)
    return ReportContent(
        verdicts=(found.breaks(),),
        measures=measured(_MEASURES, found.fill),
        sections=methodology(run, "Fill Curve", found.test_rows(), found.pages),
        figures=found.figures,
        curves=lambda: (found.curve(),),
    )
