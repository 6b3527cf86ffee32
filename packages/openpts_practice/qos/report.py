"""The report of response times under load, with the map of read rate by write rate."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.procedures.kit.content import OVER_IOPS, Curve, ReportContent
from openpts.procedures.kit.header import Rows, demand_text, stimulus_rows
from openpts.procedures.kit.steps import ART, IOPS, MRT
from openpts.record.reader import Run
from openpts.units import NS_PER_MS, format_block_size, format_duration, format_latency_ms, in_ms
from openpts.vocabulary.sample import Phase, Sample, StepState
from openpts_pages import cells, ticks
from openpts_pages.kit import Col, Plot, PlotName, grid, heat_map, page, table
from openpts_pages.measure import Measure, Measured, Subject
from openpts_pages.model import Cell, Column, Page, PlotRule, Series, Table, Verdict
from openpts_practice.qos import Limit, Operation, QosConditions, mix_text
from openpts_practice.qos.points import Point, bracket_of, points_of
from openpts_practice.qos.results import Mix, Search, contour
from openpts_pts.shared.preparation_page import methodology, nothing_page, state_page
from openpts_pts.shared.tracking import TrackedPhase

PERCENTILES: Final = (50.0, 99.0, 99.9, 99.99)
_DONE_NOTE: Final = (
    "Done: per cent of the I/Os offered that were done, of reads or writes whichever is less. Percentiles of "
    "a load that is not carried are those of the I/Os that were done; they grow with the time measured."
)
_HEAT_PX, _CURVE_PX = 420, 300
# A limit farther above the slowest value would leave the curve no room.
_FARTHEST_LIMIT: Final = 10
# p50 to p99.99 and further, from calm to alarming
_COLORS: Final = (2, 4, 1, 3, 6, 5)
_Crossing = tuple[Limit, int, float, float]
"""Limit, number of the line, and the rates of writes and reads in per cent of their peaks."""


def percentile_text(percentile: float) -> str:
    """``p99.9``."""
    return f"p{percentile:.12g}"


def percentile_cell(point: Point, operation: Operation, percentile: float) -> Cell:
    """A percentile in ms, or why there is none."""
    value_ns = point.percentile_ns(operation, percentile)
    if value_ns is None:
        return cells.missing("too few I/Os" if point.distribution(operation).count else "no I/O")
    return cells.latency(value_ns)


class QosReport(Struct, frozen=True):
    """What a run measured, a method for each page; ``pairs`` are by per cent of the two peaks."""

    run: Run
    conditions: QosConditions
    preparation: TrackedPhase
    peaks: Mapping[int, Sample]
    pairs: Mapping[tuple[float, float], Point]
    mixes: tuple[Mix, ...]

    @classmethod
    def of(cls, run: Run) -> "QosReport":
        """The results of a run, from the samples in its record."""
        conditions = run.conditions(QosConditions)
        measured = [
            step.sample for step in run.phase(Phase.PROFILE) if step.sample.state is StepState.COMPLETE
        ]
        peaks = {round(one.step.stimuli[0].read_pct): one for one in measured}
        swept = [step.sample for step in run.phase(Phase.SWEEP) if step.sample.state is StepState.COMPLETE]
        pairs = [points_of([sample])[0] for sample in swept]
        mixes = [
            Mix(
                read_pct,
                peaks[read_pct].iops if read_pct in peaks else None,
                points_of(step.sample for step in run.phase(Phase.LOAD) if step.place.number == number),
            )
            for number, read_pct in enumerate(conditions.mixes_read_pct, start=1)
        ]
        return cls(
            run=run,
            conditions=conditions,
            preparation=TrackedPhase.of(run, "Preparation"),
            peaks=peaks,
            pairs={
                (
                    _share_pct(point.reads_per_s, peaks[100], conditions),
                    _share_pct(point.writes_per_s, peaks[0], conditions),
                ): point
                for point in pairs
            },
            mixes=tuple(mixes),
        )

    @property
    def searches(self) -> tuple[Search, ...]:
        """Of each mix and each limit that it has operations for."""
        return tuple(
            Search(mix, limit, bracket_of(mix.points, limit, self.conditions), self.conditions.late_pct)
            for mix in self.mixes
            for limit in self.conditions.limits_of(mix.read_pct)
        )

    @property
    def percentiles(self) -> tuple[float, ...]:
        """The percentiles that are always shown, and those of the limits."""
        return tuple(sorted({*PERCENTILES, *(limit.percentile for limit in self.conditions.limits)}))

    def pages(self) -> Iterator[Page]:
        """In their order."""
        numbers = count(1)
        number = f"Plot X-QOS-{next(numbers)}"
        name = PlotName("qos-writes", number, "Preparation: Random Writes until Steady")
        yield state_page(self.run, "Purge and Pre-conditioning")
        yield self.preparation.over_rounds(name)
        yield self.highest()
        for mix in self.mixes:
            yield self.curve(mix, numbers)
        if not self.pairs:
            yield nothing_page("qos-map", "Map of Read Rate by Write Rate", "no pair was measured")
            return
        by_figure: dict[str, list[Limit]] = {}
        for limit in self.conditions.limits:
            by_figure.setdefault(limit.figure, []).append(limit)
        done = self._map_table("qos-map-done", "I/Os done (%)", self._done)
        for limits in by_figure.values():
            yield self.heat(limits, done, next(numbers))
        yield self.pairs_page(done)

    def _done(self, point: Point) -> Cell:
        """Per cent of the I/Os offered that were done."""
        note = "limited by the host" if point.is_limited_by_host else ""
        tone = "" if point.is_carried(self.conditions.late_pct) else "fail"
        return cells.number(point.done_pct, 1, note=note, tone=tone)

    def _percentile_columns(self, operations: Sequence[Operation]) -> list[Col[Point]]:
        """A column for each percentile of reads, then of writes."""
        return [
            Col(
                f"{operation.plural.capitalize()} {percentile_text(percentile)}",
                partial(percentile_cell, operation=operation, percentile=percentile),
            )
            for operation in operations
            for percentile in self.percentiles
        ]

    def heat(self, limits: Sequence[Limit], done: Table, number: int) -> Page:
        """A heat map of the percentile that the limits are of, with their contours."""
        operation, percentile, figure = limits[0].operation, limits[0].percentile, limits[0].figure
        page_id = f"qos-map-{operation}-p{percentile:g}".replace(".", "-")
        name = PlotName(page_id, f"Plot X-QOS-{number}", f"Map of Read Rate by Write Rate: {figure} (ms)")
        to_cell = partial(percentile_cell, operation=operation, percentile=percentile)
        shown = self._map_table(f"{page_id}-table", f"{figure} (ms)", to_cell)
        lines = self._contours(f"{page_id}-contour", limits)
        verdicts = [*self._contour_verdicts(limits)]
        plot = heat_map(
            replace(name, id=f"{page_id}-plot"),
            shown,
            done.id,
            (self._peak_axis(Operation.WRITE), self._peak_axis(Operation.READ)),
            " ".join((f"{len(self.pairs)} pairs of rates.", *(verdict.text for verdict in verdicts))),
            contour_id=lines.id if lines.rows else "",
            height_px=_HEAT_PX,
        )
        text = Verdict(
            "Each cell: the percentile in ms, and below it the per cent of the I/Os offered that were done. "
            "A response time counts from the moment for which the I/O was planned."
        )
        return page(name, plot, text, *verdicts, lines if lines.rows else None, shown)

    def _peak_axis(self, operation: Operation) -> str:
        peak = self.peaks.get(100 if operation is Operation.READ else 0)
        of = "" if peak is None else f" of {peak.iops:,.0f} IOPS"
        return f"{operation.plural.capitalize()} offered (%{of})"

    def _map_table(self, table_id: str, title: str, to_cell: Callable[[Point], Cell]) -> Table:
        """Read rates from the highest down, write rates from the least on, as on a map."""
        loads = sorted(self.conditions.loads_pct)

        def cell(reads_pct: float, writes_pct: float) -> Cell:
            point = self.pairs.get((reads_pct, writes_pct))
            return cells.missing("not measured") if point is None else to_cell(point)

        return grid(
            table_id,
            title,
            Col("Reads (% of the peak)", lambda pct: Cell(f"{pct:g} %", pct), width=0.8),
            [(Column(f"{pct:g} %", pct), pct) for pct in loads],
            loads[::-1],
            cell=cell,
            group="Writes (% of the peak)",
        )

    def _contours(self, table_id: str, limits: Sequence[Limit]) -> Table:
        """The points of each contour: where it crosses a rate of the map."""
        loads = sorted(self.conditions.loads_pct)

        def value(limit: Limit, point: Point | None) -> float | None:
            """The limit's percentile, ns; infinity where the drive carries less."""
            if point is None:
                return None
            if not point.is_carried(self.conditions.late_pct):
                return math.inf
            return point.percentile_ns(limit.operation, limit.percentile)

        def between(place: float) -> float:
            """The load at a place among those of the map: 0.5 is halfway between the first two."""
            at = min(int(place), len(loads) - 2)
            return loads[at] + (place - at) * (loads[at + 1] - loads[at])

        points: list[_Crossing] = []
        for limit in limits:
            values = [[value(limit, self.pairs.get((reads, writes))) for writes in loads] for reads in loads]
            for line, places in enumerate(contour(values, limit.latency_ns), start=1):
                points += [(limit, line, between(column), between(row)) for column, row in places]

        def rate(label: str, at: int, mix: int) -> Col[_Crossing]:
            peak = self.peaks.get(mix)

            def cell(one: _Crossing) -> Cell:
                return cells.number_or("no peak", None if peak is None else one[2:][at] / 100 * peak.iops, 1)

            return Col(f"{label} (IOPS)", cell)

        columns: list[Col[_Crossing]] = [
            Col("Line", lambda one: cells.count(one[1])),
            Col("Writes (% of the peak)", lambda one: cells.number(one[2], 1)),
            Col("Reads (% of the peak)", lambda one: cells.number(one[3], 1)),
            rate("Writes", 0, 0),
            rate("Reads", 1, 100),
        ]
        head: Col[_Crossing] = Col(
            "Limit", lambda one: Cell(f"{format_latency_ms(one[0].latency_ns)} ms"), width=0.6
        )
        return table(table_id, "Contours, interpolated between neighboring pairs", head, columns, points)

    def _contour_verdicts(self, limits: Sequence[Limit]) -> Iterator[Verdict]:
        """How many pairs keep each limit."""
        points, late_pct = self.pairs.values(), self.conditions.late_pct
        hosts = sum(point.is_limited_by_host for point in points)
        host = f"; the host limited {hosts}, whose response times are not the drive's alone" if hosts else ""
        refused = sum(not point.is_carried(late_pct) for point in points)
        for limit in limits:
            states = [point.keeps(limit, late_pct) for point in points]
            unknown = f", {states.count(None)} not judged (too few I/Os)" if None in states else ""
            yield Verdict(
                f"{limit}: kept at {states.count(True)} of {len(states)} pairs{unknown}; the drive does not "
                f"carry {refused}{host}.",
                "fail" if hosts else "info",
            )

    def pairs_page(self, done: Table) -> Page:
        """All pairs, from the first that was measured on."""
        pairs = self.pairs
        rates = {point: pair for pair, point in pairs.items()}
        numbers = {point: number for number, point in enumerate(pairs.values(), start=1)}
        columns: list[Col[Point]] = [
            Col("Reads (%)", lambda point: cells.number(rates[point][0], 0)),
            Col("Writes (%)", lambda point: cells.number(rates[point][1], 0)),
            *self._percentile_columns(list(Operation)),
        ]
        shown = table(
            "qos-pairs-table",
            "Response times of each pair (ms), in the order of measurement",
            Col("No.", lambda point: cells.count(numbers[point]), width=0),
            columns,
            pairs.values(),
            note=_DONE_NOTE,
        )
        sequence = Verdict(
            "Pairs were measured in an order drawn from the seed, each after "
            f"{self.conditions.settle_ns / 1e9:g} s at its rates that do not count: a drift of the drive "
            "is spread over the map, not mistaken for an effect of the load."
        )
        return Page("qos-pairs", "Pairs of the Map", (sequence, done, shown), mandatory=True)

    def highest(self) -> Page:
        """The highest load of each mix that keeps each limit, with the load above it that does not."""
        conditions = self.conditions
        columns: list[Col[Search]] = [
            Col("Highest load that keeps it (IOPS)", Search.highest_cell),
            Col("% of the peak", lambda one: one.share_cell),
            Col("Percentile there (ms)", lambda one: one.percentile_cell(one.bracket.kept)),
            Col("Next load, breaks it (IOPS)", lambda one: one.broken_cell),
            Col("Percentile there (ms)", lambda one: one.percentile_cell(one.bracket.broken)),
            Col("Measured (times)", lambda one: one.times_cell),
        ]
        shown = table(
            "qos-highest-table",
            "Highest load that keeps a limit",
            Col("Mix (R/W %), limit", lambda one: Cell(one.name), align="left", width=2.2),
            columns,
            self.searches,
            note="Percentile: of all measurements of the load together, below it the lowest and the highest "
            "of a single one.",
        )
        rule = Verdict(
            f"A load keeps a limit if no more than {conditions.late_pct:g} % of its I/Os are not done and "
            "the percentile is within it. A percentile takes so many I/Os "
            "that ten are slower. The true highest load lies between both columns of IOPS, which are "
            f"{conditions.width_pct:g} % apart at the most where the search came to its end; both ends are "
            f"measured {conditions.repeats} times."
        )
        return Page(
            "qos-highest",
            "Highest Load That Keeps a Limit",
            (*self.search_verdicts(), rule, shown, self._peaks_table()),
            mandatory=True,
        )

    def curve(self, mix: Mix, numbers: Iterator[int]) -> Page:
        """Percentiles over the load of a mix: flat at first, then steep."""
        page_id, title = f"qos-curve-{mix.read_pct}", f"Response Times v Load: R/W {mix}"
        if not mix.points:
            return nothing_page(page_id, title, "no load was measured")
        operations = [Operation.READ] * bool(mix.read_pct) + [Operation.WRITE] * bool(100 - mix.read_pct)
        columns: list[Col[Point]] = [
            Col("% of the peak", lambda one: cells.number_or("no peak", mix.share_pct(one.ios_per_s), 1)),
            Col("Times", lambda one: Cell(str(len(one.samples)))),
            Col("Done (%)", self._done),
            *self._percentile_columns(operations),
        ]
        shown = table(
            f"{page_id}-table",
            "Percentiles of response times (ms)",
            Col("Load (IOPS)", lambda one: cells.number(one.ios_per_s, 1), width=0),
            columns,
            mix.points,
            note=_DONE_NOTE,
        )
        figures = [
            self._plot(mix, operation, 3 + at * len(self.percentiles)).over(
                PlotName(page_id, f"Plot X-QOS-{next(numbers)}", f"{title}, {operation.plural}"), shown
            )
            for at, operation in enumerate(operations)
        ]
        return Page(page_id, title, (*figures, shown), mandatory=True)

    def _plot(self, mix: Mix, operation: Operation, first: int) -> Plot:
        percentiles, conditions = self.percentiles, self.conditions
        slowest_ns = max(
            (
                one.percentile_ns(operation, percentile) or 0
                for one in mix.points
                for percentile in percentiles
            ),
            default=0,
        )
        limits = [
            limit
            for limit in conditions.limits_of(mix.read_pct)
            if limit.operation is operation and limit.latency_ns <= _FARTHEST_LIMIT * slowest_ns
        ]
        refused = [one.ios_per_s for one in mix.points if not one.is_carried(conditions.late_pct)]
        rules = [PlotRule(_rule_text(limit), limit.latency_ns / NS_PER_MS, "limit") for limit in limits]
        if refused:
            rules.append(PlotRule("not carried from here", min(refused), "average", axis="x"))
        limits_ms = [limit.latency_ns / NS_PER_MS for limit in limits]
        return Plot(
            part=operation,
            x=ticks.linear_axis("Load offered (IOPS)", 0, mix.points[-1].ios_per_s),
            y=lambda values: ticks.log_axis("Response time (ms)", [*values, *limits_ms]),
            series=tuple(
                Series(percentile_text(percentile), "column", (first + at,), _COLORS[at % len(_COLORS)])
                for at, percentile in enumerate(percentiles)
            ),
            alt="{rows} loads, from {low} to {high} ms.",
            decimals=None,
            rules=tuple(rules),
            height_px=_CURVE_PX,
        )

    def search_verdicts(self) -> Iterator[Verdict]:
        """What was found of each mix and limit, in a sentence."""
        for search in self.searches:
            kept, broken = search.bracket.kept, search.bracket.broken
            if kept is None or broken is None:
                yield Verdict(f"{search.name}: {search.absence}.", "info" if search.is_judged else "fail")
                continue
            share_pct = search.mix.share_pct(kept.ios_per_s)
            share = "" if share_pct is None else f" ({share_pct:.1f} % of the peak)"
            doubt = search.doubt(self.conditions)
            yield Verdict(
                f"{search.name}: kept up to {kept.ios_per_s:,.1f} IOPS{share}, broken at "
                f"{broken.ios_per_s:,.1f} IOPS{f'; {doubt}' if doubt else ''}.",
                "fail" if doubt else "info",
            )

    def _peaks_table(self) -> Table:
        peaks, conditions = self.peaks, self.conditions
        columns = [metric.column(peaks.__getitem__) for metric in (IOPS, ART, MRT)]
        return table(
            "qos-peaks",
            f"Peaks: closed loop, TC {conditions.tc} / QD {conditions.qd}",
            Col("Mix (R/W %)", lambda mix: Cell(mix_text(mix)), align="left"),
            columns,
            peaks,
            note="The loads of the test are shares of these.",
        )

    def measures(self) -> tuple[Measured, ...]:
        """The highest load of each search, and the peaks."""
        steady = "reached" if self.preparation.results.steady else "not reached"
        peaks = (
            _PEAK.of(self.peaks.get(mix), Subject(name, key, steady=steady))
            for mix, name, key in ((100, "reads", "reads"), (0, "writes", "writes"))
        )
        searches = (_HIGHEST.of(search, Subject(search.name, steady=steady)) for search in self.searches)
        return (*searches, *peaks)

    def curves(self) -> Iterator[Curve]:
        """Each percentile of reads and writes over the load of each mix."""
        for mix in self.mixes:
            for operation in Operation:
                for percentile in PERCENTILES:
                    found = [
                        (point.ios_per_s, value_ns / NS_PER_MS)
                        for point in mix.points
                        if (value_ns := point.percentile_ns(operation, percentile)) is not None
                    ]
                    if found:
                        figure = f"p{percentile:g} of {operation.plural}"
                        yield Curve(
                            f"{mix} {figure}",
                            f"R/W {mix}: {figure} v Load",
                            "Response time (ms) at the load offered",
                            OVER_IOPS,
                            partial(ticks.log_axis, "Response time (ms)"),
                            tuple(found),
                            lambda value_ms: cells.latency(value_ms * NS_PER_MS),
                        )

    def test_rows(self) -> Rows:
        """The test's part of the header."""
        conditions = self.conditions
        size, loads = format_block_size(conditions.block_size_bytes), conditions.loads_pct
        arrivals = {"poisson": "Poisson", "fixed": "fixed rate"}[conditions.arrivals]
        return stimulus_rows(
            self.run,
            ("Test Stimulus 1", f"RND {size} R, RND {size} W"),
            ("TOIO - TC/QD", f"{demand_text(conditions.tc, conditions.qd)} each"),
            ("Arrivals", arrivals),
            ("Loads", f"{min(loads):g} to {max(loads):g} % of the peaks"),
            ("Duration", f"{format_duration(conditions.minute_ns)} each"),
            ("Mixes (R/W %)", ", ".join(map(mix_text, conditions.mixes_read_pct))),
            ("Limits", f"{len(conditions.limits)}, see pages"),
            ("Steady State", "reached" if self.preparation.results.steady else "not reached"),
        )

    def figures(self) -> dict[str, Any]:
        """Key numbers, JSON-ready."""
        conditions = self.conditions
        return {
            "peaks_iops": {mix_text(mix): sample.iops for mix, sample in self.peaks.items()},
            "highest_loads": [
                {
                    "read_pct": search.mix.read_pct,
                    "limit": str(search.limit),
                    "kept_iops": _load(search.bracket.kept),
                    "broken_iops": _load(search.bracket.broken),
                    "reached": search.bracket.is_reached,
                    "absence": search.absence or None,
                    "doubt": search.doubt(conditions) or None,
                }
                for search in self.searches
            ],
            "loads": [
                {"read_pct": mix.read_pct, **_of_point(point, conditions)}
                for mix in self.mixes
                for point in mix.points
            ],
            "map": [
                {"reads_pct": reads_pct, "writes_pct": writes_pct, **_of_point(point, conditions)}
                for (reads_pct, writes_pct), point in self.pairs.items()
            ],
        }


def _rule_text(limit: Limit) -> str:
    return f"{percentile_text(limit.percentile)} limit {format_latency_ms(limit.latency_ns)}"


def _highest(search: Search) -> Cell:
    broken = search.bracket.broken
    return search.highest_cell("" if broken is None else f"broken at {broken.ios_per_s:,.1f} IOPS")


_HIGHEST: Final = Measure[Search](
    "highest_load", "Highest load, {name}", "IOPS", _highest, explanation="the most that keeps it"
)
_PEAK: Final = Measure[Sample](
    "peak", "Peak of {name}", "IOPS", lambda sample: sample.iops, decimals=1, explanation="without a limit"
)


def _load(point: Point | None) -> float | None:
    return None if point is None else point.ios_per_s


def _of_point(point: Point, conditions: QosConditions) -> dict[str, Any]:
    return {
        "reads_per_s": point.reads_per_s,
        "writes_per_s": point.writes_per_s,
        "done_pct": point.done_pct,
        "carried": point.is_carried(conditions.late_pct),
        "limited_by_host": point.is_limited_by_host,
        **{
            f"{operation}_p{percentile:g}_ms": in_ms(point.percentile_ns(operation, percentile))
            for operation in Operation
            for percentile in PERCENTILES
        },
    }


def _share_pct(ios_per_s: float, peak: Sample, conditions: QosConditions) -> float:
    """The load of the map that a rate is, without the binary dust of its computation."""
    return min(conditions.loads_pct, key=lambda share: abs(share / 100 * peak.iops - ios_per_s))


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    found = QosReport.of(run)
    return ReportContent(
        verdicts=(found.preparation.sentence, *found.search_verdicts()),
        measures=found.measures(),
        sections=methodology(run, "Response Times under Load", found.test_rows(), found.pages),
        figures=found.figures,
        curves=lambda: tuple(found.curves()),
    )
