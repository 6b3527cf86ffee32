"""The report of the lifetime test (HYP-LIFE-01 to 04)."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from typing import Any, Final, TypeVar

from msgspec import Struct, structs
from msgspec.structs import replace

from openpts.procedures.kit.content import OVER_CYCLES, Curve, ReportContent
from openpts.procedures.kit.header import Rows, active_range_amount_text, data_text, demand_text
from openpts.procedures.kit.standing import state_sentence
from openpts.procedures.kit.steps import MRT, Metric
from openpts.record.reader import Run
from openpts.units import GB, MB, NS_PER_DAY, NS_PER_S, TB, format_block_size, format_duration
from openpts.vocabulary.facts import TargetKind
from openpts.vocabulary.sample import Measured
from openpts.vocabulary.verdict import Better
from openpts_pages import cells, measure, ticks
from openpts_pages.kit import Col, Plot, PlotName, page, plot_page, rows_table, table, values_of
from openpts_pages.measure import Measure, Subject, measured
from openpts_pages.model import Axis, Cell, Figure, Page, PlotRule, Series, Table, Verdict
from openpts_practice.lifetime import LifetimeConditions, ReadBack
from openpts_practice.lifetime.age_page import LaterRead
from openpts_practice.lifetime.results import (
    CONFIDENCE,
    RATED_LIFE_PCT,
    SPEED,
    DriveCycle,
    FittedLine,
    FoundErrors,
    LifetimeRun,
    Span,
    rise,
    stretches,
)
from openpts_pts.shared.preparation_page import methodology, nothing_page, state_page
from openpts_work.counters import write_amplification

T = TypeVar("T")

_WRITE, _READ, _WRITE_S, _READ_S, _WEAR, _SPARE = range(6)
_WRITE_COLOR, _READ_COLOR, _WEAR_COLOR, _SPARE_COLOR = 3, 2, 0, 4
_PRINTED_VALUES: Final = 200
_PRINTED_ADDRESSES: Final = 64
_GRID: Final = 20
_CYCLES: Final = "Full drive cycles"


class LifetimeReport(LifetimeRun, frozen=True):
    """What a run measured, a method for each page."""

    @property
    def later(self) -> LaterRead | None:
        """What it read of an earlier run; None of a run that continues none."""
        after = self.conditions.continues
        return None if after is None else LaterRead(self, after)

    @property
    def failed_ios(self) -> int:
        """I/Os that failed."""
        return sum(found.errors.count for found in self.errors)

    def end_verdict(self) -> Verdict:
        """How far it came and why it ended."""
        cycles, whole, ended_by = self.cycles, self.whole, self.ended_by
        if not cycles:
            ended = f"; ended by: {ended_by}" if ended_by else ""
            return Verdict(f"Lifetime: n/a (no cycle was begun{ended}).", "fail")
        elapsed_ns = sum(cycle.write.elapsed_ns + cycle.read.elapsed_ns for cycle in cycles)
        failed = any(cycle.failure for cycle in cycles)
        reason = f"Ended by: {ended_by}." if ended_by else state_sentence(self.run.manifest)
        amount = (
            f"{self.written_bytes / TB:,.2f} TB"
            if self.written_bytes >= TB
            else f"{cells.fixed(self.written_bytes / GB, 1)} GB"
        )
        continues = self.conditions.continues is not None
        numbered = f" (numbers {cycles[0].number} to {cycles[-1].number})" if continues else ""
        return Verdict(
            f"{len(whole)} whole drive cycle{'' if len(whole) == 1 else 's'}{numbered}, {amount} written in "
            f"{format_duration(elapsed_ns)} with I/O. {reason}",
            "fail" if failed or not ended_by else "info",
        )

    def errors_verdict(self) -> Verdict:
        """Errors that were found, and whether data was compared."""
        logs = [cycle.log for cycle in self.cycles if cycle.log]
        counted = rise(self.before, logs[-1], "media_errors") if logs else None
        own = "not in its log" if counted is None else f"{counted:,.0f}"
        if self.conditions.compares:
            compared = "All reads were compared with what their cycle wrote."
        elif self.run.manifest.target.kind is TargetKind.SIMULATED:
            compared = "No reads were compared: a simulated drive keeps no data."
        else:
            compared = "No reads were compared with what was written: the operator switched that off."
        return Verdict(
            f"I/Os that failed or returned other data than was written: {self.failed_ios:,}; media errors "
            f"counted by the drive: {own}. {compared}",
            "fail" if self.failed_ios or counted else "info",
        )

    def forecast_verdict(self) -> Verdict:
        """When the rated life is used up, always as an interval."""
        points, after, forecast = self.wear, self.conditions.continues, self.forecast
        name = "Rated life"
        counted = "" if after is None else f", counted on from {after.run}"
        if not points:
            return Verdict(f"{name}: n/a (the drive's log has no share of the rated life).")
        done, used = points[-1]
        if forecast is None:
            return Verdict(
                f"{name}: {used:.3g} % used after {done:.0f} cycles{counted}; no forecast "
                f"({'too few readings' if self.line is None else 'the wear did not rise'})."
            )
        earliest = max(forecast.earliest, done) if used < RATED_LIFE_PCT else forecast.earliest
        latest = "no upper end" if forecast.latest is None else cells.fixed(forecast.latest, 0)
        written_tb = forecast.likely * self.bytes_per_cycle / TB
        return Verdict(
            f"{name}: 100 % used after {cells.fixed(forecast.likely, 0)} cycles{counted or ' of this run'} "
            f"({100 * CONFIDENCE:g} % interval {cells.fixed(earliest, 0)} to {latest}), some "
            f"{written_tb:,.3g} TB written. Straight line through {len(points)} readings of the drive's log, "
            "valid if the drive wears on as in these cycles."
        )

    def measures(self) -> Iterator[measure.Measured]:
        """The run, its first and last cycle, what it read later, the forecast."""
        yield from measured(_RUN, self)
        first, last = (self.whole[0], self.whole[-1]) if self.whole else (None, None)
        yield from measured(_CYCLE, first, Subject("First cycle"))
        yield from measured(_CYCLE, last, Subject("Last cycle"))
        if self.later is not None:
            yield from measured(_READ_BACK, self.reads_back[-1] if self.later_read else None)
        yield _FORECAST.of(self)

    def pages(self) -> Iterator[Page]:
        """What was done to the drive before, then what was found."""
        yield state_page(self.run, "Purge") if self.later is None else self.later.page()
        yield self.course()
        if self.errors:
            yield self.failed()
        yield self.stretch_by_stretch()
        yield self.life()

    # HYP-LIFE-01, 04
    def course(self) -> Page:
        """Speeds, seconds per cycle, wear and spare, one panel below the other."""
        name = PlotName("lifetime-course", "", "MB/s, Seconds per Cycle and Wear v Full Drive Cycles")
        if not self.cycles:
            return nothing_page(name.id, name.title, "no cycle was begun")
        shown = table(
            f"{name.id}-values",
            "Values plotted: each cycle",
            Col("Cycle", lambda cycle: Cell(str(cycle.number), cycle.number), width=0),
            _VALUES,
            self.cycles,
            printed=_PRINTED_VALUES // 2,
        )
        x = ticks.whole_axis(_CYCLES, self.cycles[0].number, self.cycles[-1].number)
        panels = [self._panel(shown, x, letter, panel) for letter, panel in zip("abcd", _PANELS, strict=True)]
        logged = any(shown.rows[0].cells[column].value is not None for column in (_WEAR, _SPARE))
        unlogged = Verdict("Wear and spare: not reported (the drive's log does not report them).")
        return page(
            name, *panels, self.end_verdict(), self.errors_verdict(), None if logged else unlogged, shown
        )

    def _panel(self, shown: Table, x: Axis, letter: str, panel: "_Panel") -> Figure | None:
        """A panel of the columns that have values; None if none has."""
        known = [column for column in panel.columns if values_of(shown, column[0])]
        if not known:
            return None
        values = [value for column, _, _ in known for value in values_of(shown, column)]
        style = "measured" if len(shown.rows) <= 30 else "line"
        failures = (cycle for cycle in self.cycles if cycle.failure and cycle.failure.operation == panel.key)
        return Figure(
            id=f"lifetime-{panel.key}",
            number=f"Plot X-LIFETIME-1{letter}",
            title=panel.title,
            kind="lines",
            table_id=shown.id,
            x=x,
            y=ticks.linear_axis(panel.axis_title, 0, max(*values, 1e-9)),
            alt=f"{panel.title} over {len(shown.rows)} cycles: from {min(values):,.1f} to "
            f"{max(values):,.1f}.",
            series=tuple(
                Series(label, "column", (column,), color, style=style) for column, label, color in known
            ),
            # HYP-LIFE-02, 03
            rules=tuple(
                PlotRule(f"first failed {panel.key}", float(cycle.number), "limit", axis="x")
                for cycle in failures
            ),
            height_px=190,
            width_px=360,
            zoom_group="lifetime",
        )

    def stretch_by_stretch(self) -> Page:
        """A row for each 5 % of wear, or each cycle."""
        name = PlotName("lifetime-stretches", "", "Lifetime - Speed, Errors, Wear and Write Amplification")
        if not self.cycles:
            return nothing_page(name.id, name.title, "no cycle was begun")
        found = stretches(self.cycles, self.before)
        shown = table(
            f"{name.id}-table",
            "For each 5 % of wear" if len(found) < len(self.cycles) else "Cycle by cycle",
            Col(
                "Cycles",
                lambda span: Cell(f"{span.first}{f' - {span.last}' if span.last > span.first else ''}"),
                align="left",
                width=0.8,
            ),
            _COLUMNS,
            found,
            note="Errors: I/Os that failed, or returned other data than was written. WAF: bytes written to "
            "the media for each byte that the host wrote.",
            printed=3 * _PRINTED_VALUES,
        )
        return page(name, shown, self.end_verdict(), self.errors_verdict())

    def life(self) -> Page:
        """Where the wear leads: a line with the interval in which further points lie."""
        title = "Rated Life Used v Full Drive Cycles, with Forecast"
        name = PlotName("lifetime-forecast", "Plot X-LIFETIME-2", title)
        points, verdict, line, forecast = self.wear, self.forecast_verdict(), self.line, self.forecast
        if not points:
            why = "the drive's log does not report the share of the rated life"
            return nothing_page(name.id, title, why)
        if line is None or forecast is None:
            shown = rows_table(
                f"{name.id}-values",
                "Reported by the drive's log",
                "Cycles done:0 | Rated life used (%)",
                ((Cell(f"{done:.0f}", done), cells.number(used, 2)) for done, used in points),
                printed=len(points) <= _PRINTED_VALUES,
            )
            return page(name, verdict, shown)
        last = max(points[-1][0], 1.1 * (forecast.likely if forecast.latest is None else forecast.latest))
        shown = _forecast_table(f"{name.id}-values", line, points, last)
        highest = max(RATED_LIFE_PCT * 1.1, *(value for _, value in points))
        percent = f"{100 * CONFIDENCE:g} %"
        along = _CYCLES if self.conditions.continues else f"{_CYCLES} of this run"
        figure = Figure(
            id=f"{name.id}-plot",
            number=name.number,
            title=title,
            kind="lines",
            table_id=shown.id,
            x=ticks.span_axis(along, points[0][0], last),
            y=ticks.linear_axis("Rated life used (%)", 0, highest),
            alt=f"{title}. {verdict.text}",
            series=(
                Series("Measured", "column", (0,), _WEAR_COLOR, style="points"),
                Series(f"{percent} interval, upper end", "column", (3,), _WRITE_COLOR, style="line"),
                Series("Least squares", "column", (1,), _READ_COLOR, style="fit"),
                Series(f"{percent} interval, lower end", "column", (2,), _WRITE_COLOR, style="line"),
            ),
            rules=(PlotRule("rated life", float(RATED_LIFE_PCT), "limit"),),
            height_px=300,
        )
        return page(name, figure, verdict, shown)

    def failed(self) -> Page:
        """How many I/Os failed in each cycle, why, and where."""
        after = self.conditions.continues if self.later_read else None
        numbers = [*([after.cycle] if after else []), *(cycle.number for cycle in self.cycles)]
        counts = dict.fromkeys(numbers, 0)
        for one in self.errors:
            counts[one.cycle] += one.errors.count
        sums = dict(zip(counts, accumulate(counts.values()), strict=True))
        by_cycle = table(
            "lifetime-errors-values",
            "Values plotted: each cycle",
            Col("Cycle", lambda number: Cell(str(number), number), width=0),
            (
                Col("Failed I/Os", lambda number: _count(counts[number])),
                Col("Until then", lambda number: cells.count(sums[number])),
            ),
            counts,
            note="The first cycle is that of the run before where this run has read it again."
            if self.later_read
            else "",
            printed=_PRINTED_VALUES // 2,
        )
        return plot_page(
            PlotName("lifetime-errors", "Plot X-LIFETIME-3", "Failed I/Os v Full Drive Cycles"),
            self.errors_verdict(),
            lambda _shown: Plot(
                x=ticks.whole_axis(_CYCLES, numbers[0], numbers[-1]),
                y=lambda values: ticks.linear_axis("Failed I/Os", 0, max(values, default=1.0)),
                series=(
                    Series("In the cycle", "column", (0,), 3),
                    Series("Until then", "column", (1,), 0, "line"),
                ),
                alt="I/Os that failed in each of {rows} cycles and until then, up to {high}.",
            ),
            by_cycle,
            self._by_reason(),
            self._by_address(),
            absent=Verdict("No cycle has an I/O that failed.", "pass"),
        )

    def _by_reason(self) -> Table:
        groups: dict[str, list[FoundErrors]] = defaultdict(list)
        for one in self.errors:
            groups[_reason(one)].append(one)
        return table(
            "lifetime-errors-reasons",
            "By reason",
            Col("Reason", Cell, align="left", width=3),
            (
                Col("Failed I/Os", lambda reason: _count(sum(one.errors.count for one in groups[reason]))),
                *_first_and_last(groups),
            ),
            groups,
        )

    def _by_address(self) -> Table:
        sector_bytes = self.run.manifest.target.sector_bytes
        places: dict[int, list[FoundErrors]] = defaultdict(list)
        for one in self.errors:
            for offset in one.errors.first_offsets_bytes:
                places[offset // sector_bytes].append(one)

        def reasons(lba: int) -> Cell:
            return Cell("; ".join(dict.fromkeys(map(_reason, places[lba]))))

        return table(
            "lifetime-errors-addresses",
            "By address",
            Col("First LBA of the transfer", lambda lba: Cell(str(lba), lba), width=1.5),
            (
                Col("Times", lambda lba: _count(len(places[lba]))),
                *_first_and_last(places),
                Col("Reasons", reasons, align="left", width=3),
            ),
            sorted(places),
            note="A record has the first 16 addresses of all I/Os that failed alike in a step.",
            printed=len(places) <= _PRINTED_ADDRESSES,
        )

    def test_rows(self) -> Rows:
        """The test's part of the header."""
        conditions, limit = self.conditions, self.conditions.write_limit_bytes
        size = format_block_size(conditions.block_size_bytes)
        compared = "verified, one generation per cycle"
        return (
            ("Data Pattern", compared if conditions.compares else data_text(conditions)),
            ("AR & Amount", active_range_amount_text(self.run)),
            ("Test Stimulus 1", f"SEQ {size} W, whole range once"),
            ("Test Stimulus 2", f"SEQ {size} R, whole range once"),
            ("TOIO - TC/QD", demand_text(conditions.tc, conditions.qd)),
            ("Ends at", conditions.stop_on.value),
            ("Limit: cycles", str(conditions.drive_cycles)),
            ("Limit: written", "none" if limit is None else f"{limit / TB:g} TB"),
            ("Limit: life used", f"{conditions.wear_limit_pct:g} %"),
            ("Limit: time", format_duration(conditions.longest_ns)),
        )

    def figures(self) -> dict[str, Any]:
        """Key numbers, JSON-ready."""
        forecast, cycles, after = self.forecast, self.cycles, self.conditions.continues
        return {
            "ended_by": self.ended_by or None,
            "whole_cycles": len(self.whole),
            "written_bytes": self.written_bytes,
            "io_errors": self.failed_ios,
            "end_of_life_cycle": self.end_of_life,
            "continues": None if after is None else {"run": after.run, "cycle": after.cycle},
            "read_back": [structs.asdict(read) for read in self.reads_back],
            "compared": self.conditions.compares,
            "write_amplification": write_amplification(self.before, cycles[-1].log) if cycles else None,
            "cycles": [
                {
                    "number": cycle.number,
                    "complete": cycle.complete,
                    "io_errors": cycle.errors,
                    "write_bytes_per_s": SPEED.of(cycle.write),
                    "read_bytes_per_s": SPEED.of(cycle.read),
                    "write_s": cycle.write.elapsed_ns / NS_PER_S,
                    "read_s": cycle.read.elapsed_ns / NS_PER_S,
                    "percentage_used_pct": cycle.log.get("percentage_used_pct"),
                    "available_spare_pct": cycle.log.get("available_spare_pct"),
                }
                for cycle in cycles
            ],
            "stretches": len(stretches(cycles, self.before)),
            "rated_life_used_after_cycles": None
            if forecast is None
            else structs.asdict(replace(forecast, earliest=max(0.0, forecast.earliest))),
        }

    def curve(self, title: str, y: str, of: Callable[[DriveCycle], float | None]) -> Curve:
        """A figure after each whole cycle, where there is one."""
        points = ((float(cycle.number), of(cycle)) for cycle in self.whole)
        return Curve(
            title,
            f"{title} v Full Drive Cycles",
            f"{y} of each whole cycle",
            OVER_CYCLES,
            lambda values: ticks.linear_axis(y, 0, max(values) or 1),
            tuple((number, value) for number, value in points if value is not None),
            partial(cells.number, decimals=2),
        )


class _Panel(Struct, frozen=True):
    """One of the plots over cycles: columns of the table of values, with label and color."""

    key: str
    title: str
    axis_title: str
    columns: tuple[tuple[int, str, int], ...]


_PANELS: Final = (
    _Panel("write", "Write", "Write (MB/s)", ((_WRITE, "Write", _WRITE_COLOR),)),
    _Panel("read", "Read", "Read (MB/s)", ((_READ, "Read", _READ_COLOR),)),
    _Panel(
        "seconds",
        "Seconds per cycle",
        "Time (s)",
        ((_WRITE_S, "Write", _WRITE_COLOR), (_READ_S, "Read", _READ_COLOR)),
    ),
    _Panel(
        "wear",
        "Wear and spare",
        "Share (%)",
        ((_WEAR, "Life used", _WEAR_COLOR), (_SPARE, "Spare left", _SPARE_COLOR)),
    ),
)


def _done(label: str, metric: Metric[Measured], of: Callable[[T], Measured]) -> Col[T]:
    """A figure of all writes, or all reads, of a cycle or a stretch."""
    return replace(metric, label=label).column(of)


def _seconds(cycle: DriveCycle, done: Measured) -> Cell:
    elapsed_ns = done.elapsed_ns if cycle.complete else 0
    return cells.number(elapsed_ns / NS_PER_S, 1) if elapsed_ns else cells.missing("not finished")


def _logged(value: float | None, decimals: int) -> Cell:
    return cells.number_or("not in the log", value, decimals)


_VALUES: Final[tuple[Col[DriveCycle], ...]] = (
    _done("Write (MB/s)", SPEED, lambda cycle: cycle.write),
    _done("Read (MB/s)", SPEED, lambda cycle: cycle.read),
    Col("Write (s)", lambda cycle: _seconds(cycle, cycle.write)),
    Col("Read (s)", lambda cycle: _seconds(cycle, cycle.read)),
    Col("Rated life used (%)", lambda cycle: _logged(cycle.log.get("percentage_used_pct"), 2)),
    Col("Spare (%)", lambda cycle: _logged(cycle.log.get("available_spare_pct"), 1)),
)
_COLUMNS: Final[tuple[Col[Span], ...]] = (
    _done("Write (MB/s)", SPEED, lambda span: span.write),
    _done("Read (MB/s)", SPEED, lambda span: span.read),
    _done("Write MRT (ms)", MRT, lambda span: span.write),
    _done("Read MRT (ms)", MRT, lambda span: span.read),
    Col("Errors", lambda span: _count(span.errors)),
    Col("Media errors", lambda span: _logged(span.media_errors, 0)),
    Col("Life used (%)", lambda span: _logged(span.wear_pct, 2)),
    Col("Spare (%)", lambda span: _logged(span.spare_pct, 1)),
    Col("WAF", lambda span: _logged(span.write_amplification, 2)),
)


def _count(errors: int) -> Cell:
    return cells.number(errors, 0, tone="fail" if errors else "")


def _forecast_table(
    table_id: str, line: FittedLine, points: Sequence[tuple[float, float]], last: float
) -> Table:
    used, first = dict(points), points[0][0]
    places = sorted({*used, *(first + (last - first) * n / _GRID for n in range(_GRID + 1))})
    return rows_table(
        table_id,
        "Values plotted",
        "Cycles done:0 | Measured (%) | Line (%) | Interval from (%) | Interval to (%)",
        (
            (
                Cell(cells.fixed(done, 1), done),
                cells.number(used[done], 2) if done in used else cells.none(),
                *(cells.number(value, 2) for value in (line.at(done), *line.interval(done, CONFIDENCE))),
            )
            for done in places
        ),
        note="Interval: of a single further reading, 95 %, if readings scatter about the line independently.",
        printed=4 * len(places) <= _PRINTED_VALUES,
    )


def _reason(one: FoundErrors) -> str:
    return f"{one.errors.operation}: {one.errors.reason}"


def _first_and_last(groups: dict[T, list[FoundErrors]]) -> Iterable[Col[T]]:
    """In which cycles errors of a group came."""

    def where(one: FoundErrors) -> Cell:
        return Cell(f"{one.cycle}, read later" if one.is_later else str(one.cycle))

    return (
        Col("First in cycle", lambda key: where(groups[key][0])),
        Col("Last in cycle", lambda key: where(groups[key][-1])),
    )


_RUN: Final[tuple[Measure[LifetimeReport], ...]] = (
    Measure("whole_cycles", "Whole drive cycles", "cycles", lambda run: len(run.whole)),
    Measure("written", "Written", "TB", lambda run: run.written_bytes, per=TB, decimals=3),
    Measure("failed_ios", "I/Os that failed", "I/Os", lambda run: run.failed_ios, better=Better.LOWER),
    Measure(
        "end_of_life",
        "First failed write in cycle",
        "cycle",
        lambda run: run.end_of_life,
        better=Better.HIGHER,
        absent="no write failed",
    ),
)
_READ_BACK: Final[tuple[Measure[ReadBack], ...]] = (
    Measure(
        "age_of_data",
        "Age of what was read later",
        "days",
        lambda read: read.age_ns,
        per=NS_PER_DAY,
        decimals=2,
    ),
    Measure("read_later", "Read later", "MB/s", lambda read: read.bytes_per_s, per=MB, better=Better.HIGHER),
    Measure(
        "failed_later_reads", "Reads that failed later", "I/Os", lambda read: read.errors, better=Better.LOWER
    ),
)
_CYCLE: Final[tuple[Measure[DriveCycle], ...]] = (
    Measure("write", "{name}, write", "MB/s", lambda cycle: SPEED.of(cycle.write), per=MB),
    Measure("read", "{name}, read", "MB/s", lambda cycle: SPEED.of(cycle.read), per=MB),
)
_FORECAST: Final = Measure[LifetimeReport](
    "rated_life_used_after",
    "Rated life used up after",
    "cycles",
    lambda run: None if run.forecast is None else run.forecast.likely,
    better=Better.HIGHER,
    absent="no forecast",
)


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the record."""
    found = LifetimeReport(run, run.conditions(LifetimeConditions))
    later = () if found.later is None else (found.later.verdict(),)
    return ReportContent(
        verdicts=(found.end_verdict(), found.errors_verdict(), *later, found.forecast_verdict()),
        measures=tuple(found.measures()),
        sections=methodology(run, "Lifetime", found.test_rows(), found.pages),
        figures=found.figures,
        curves=lambda: (
            found.curve("Write", "MB/s", lambda cycle: SPEED.value(cycle.write)),
            found.curve("Read", "MB/s", lambda cycle: SPEED.value(cycle.read)),
            found.curve(
                "Rated Life Used", "Rated life used (%)", lambda cycle: cycle.log.get("percentage_used_pct")
            ),
        ),
    )
