"""The report of the lifetime test (HYP-LIFE-01 to 04)."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import Any, Final

from msgspec import structs

from openpts.analysis.drive_work import write_amplification
from openpts.procedures.kit.content import OVER_CYCLES, Curve, ReportContent
from openpts.procedures.kit.header import Rows, active_range_amount_text, data_text, demand_text
from openpts.record.reader import Run
from openpts.units import MB, NS_PER_DAY, NS_PER_S, TB, format_block_size, format_duration
from openpts.vocabulary.verdict import Better
from openpts_pages import cells, ticks
from openpts_pages.kit import Col, Plot, PlotName, page, plot_page, table
from openpts_pages.measure import Measure, Measured, Subject, measured
from openpts_pages.model import Axis, Cell, Page, Series, Table, Verdict
from openpts_practice.lifetime import LifetimeConditions, ReadBack
from openpts_practice.lifetime.pages import age_page, age_verdict, course_page, forecast_page, stretches_page
from openpts_practice.lifetime.results import (
    SPEED,
    DriveCycle,
    FoundErrors,
    LifetimeRun,
    end_verdict,
    errors_verdict,
    forecast_verdict,
    stretches,
)
from openpts_pts.shared.preparation_page import methodology, state_page

_TITLE: Final = "Lifetime"


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the record."""
    conditions = run.conditions(LifetimeConditions)
    lifetime = LifetimeRun(run, conditions)
    return ReportContent(
        verdicts=(
            end_verdict(lifetime),
            errors_verdict(lifetime),
            *((age_verdict(lifetime),) if conditions.continues else ()),
            forecast_verdict(lifetime),
        ),
        measures=_measures(lifetime),
        sections=methodology(lifetime.run, _TITLE, _test_rows(lifetime), lambda: _pages(lifetime)),
        figures=lambda: _figures(lifetime),
        curves=lambda: tuple(_curve(lifetime, title, y, of) for title, y, of in _CURVES),
    )


def _curve(run: LifetimeRun, title: str, y: str, of: Callable[[DriveCycle], float | None]) -> Curve:
    """A figure after each whole cycle, where there is one."""
    points = ((float(cycle.number), of(cycle)) for cycle in run.whole)
    return Curve(
        title,
        f"{title} v Full Drive Cycles",
        f"{y} of each whole cycle",
        OVER_CYCLES,
        lambda values: ticks.linear_axis(y, 0, max(values) or 1),
        tuple((number, value) for number, value in points if value is not None),
        partial(cells.number, decimals=2),
    )


_CURVES: Final[tuple[tuple[str, str, Callable[[DriveCycle], float | None]], ...]] = (
    ("Write", "MB/s", lambda cycle: SPEED.value(cycle.write)),
    ("Read", "MB/s", lambda cycle: SPEED.value(cycle.read)),
    ("Rated Life Used", "Rated life used (%)", lambda cycle: cycle.log.get("percentage_used_pct")),
)


def _measures(run: LifetimeRun) -> tuple[Measured, ...]:
    whole, after = run.whole, run.conditions.continues
    return (
        *measured(_RUN, run),
        *measured(_CYCLE, whole[0] if whole else None, Subject("First cycle")),
        *measured(_CYCLE, whole[-1] if whole else None, Subject("Last cycle")),
        *(measured(_READ_BACK, run.reads_back[-1] if run.later_read else None) if after else ()),
        _FORECAST.of(run),
    )


_RUN: Final[tuple[Measure[LifetimeRun], ...]] = (
    Measure("whole_cycles", "Whole drive cycles", "cycles", lambda run: len(run.whole)),
    Measure("written", "Written", "TB", lambda run: run.written_bytes, per=TB, decimals=3),
    Measure(
        "failed_ios",
        "I/Os that failed",
        "I/Os",
        lambda run: sum(found.errors.count for found in run.errors),
        better=Better.LOWER,
    ),
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
_FORECAST: Final = Measure[LifetimeRun](
    "rated_life_used_after",
    "Rated life used up after",
    "cycles",
    lambda run: None if run.forecast is None else run.forecast.likely,
    better=Better.HIGHER,
    absent="no forecast",
)


def _pages(measured: LifetimeRun) -> tuple[Page, ...]:
    return (
        state_page(measured.run, "Purge") if measured.conditions.continues is None else age_page(measured),
        course_page(measured),
        *((_error_page(measured),) if measured.errors else ()),
        stretches_page(measured),
        forecast_page(measured),
    )


def _test_rows(measured: LifetimeRun) -> Rows:
    conditions = measured.conditions
    size = format_block_size(conditions.block_size_bytes)
    limit = conditions.write_limit_bytes
    return (
        (
            "Data Pattern",
            "verified, one generation per cycle" if conditions.compares else data_text(conditions),
        ),
        ("AR & Amount", active_range_amount_text(measured.run)),
        ("Test Stimulus 1", f"SEQ {size} W, whole range once"),
        ("Test Stimulus 2", f"SEQ {size} R, whole range once"),
        ("TOIO - TC/QD", demand_text(conditions.tc, conditions.qd)),
        ("Ends at", conditions.stop_on.value),
        ("Limit: cycles", str(conditions.drive_cycles)),
        ("Limit: written", "none" if limit is None else f"{limit / TB:g} TB"),
        ("Limit: life used", f"{conditions.wear_limit_pct:g} %"),
        ("Limit: time", format_duration(conditions.longest_ns)),
    )


def _figures(measured: LifetimeRun) -> dict[str, Any]:
    """Key numbers, JSON-ready."""
    forecast, cycles, after = measured.forecast, measured.cycles, measured.conditions.continues
    return {
        "ended_by": measured.ended_by or None,
        "whole_cycles": len(measured.whole),
        "written_bytes": measured.written_bytes,
        "io_errors": sum(found.errors.count for found in measured.errors),
        "end_of_life_cycle": measured.end_of_life,
        "continues": None if after is None else {"run": after.run, "cycle": after.cycle},
        "read_back": [structs.asdict(read) for read in measured.reads_back],
        "compared": measured.conditions.compares,
        "write_amplification": write_amplification(measured.before, cycles[-1].log) if cycles else None,
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
        "stretches": len(stretches(cycles, measured.before)),
        "rated_life_used_after_cycles": None
        if forecast is None
        else {"likely": forecast.likely, "earliest": max(0.0, forecast.earliest), "latest": forecast.latest},
    }


_NAME: Final = PlotName("lifetime-errors", "Plot X-LIFETIME-3", "Failed I/Os v Full Drive Cycles")
_PRINTED: Final = 400
_ADDRESSES: Final = 64
"""Rows of the table of addresses on paper; its file has all of them."""


def _error_page(measured: LifetimeRun) -> Page:
    """How many I/Os failed in each cycle, why, and where."""
    found, lead = measured.errors, errors_verdict(measured)
    if not found:
        return page(_NAME, lead)
    by_cycle = _by_cycle_table(measured, found)
    return plot_page(
        _NAME,
        lead,
        lambda _shown: _plot(_cycles(measured)),
        by_cycle,
        _by_reason_table(found),
        _by_address_table(measured, found),
        absent=Verdict("No cycle has an I/O that failed.", "pass"),
    )


def _cycles(measured: LifetimeRun) -> list[int]:
    """The cycles of the run, and the one that was read again."""
    after = measured.conditions.continues
    earlier = [after.cycle] if after is not None and measured.later_read else []
    return [*earlier, *(cycle.number for cycle in measured.cycles)]


def _plot(numbers: Sequence[int]) -> Plot:
    def axis(values: Sequence[float]) -> Axis:
        return ticks.linear_axis("Failed I/Os", 0, max(values, default=1.0))

    return Plot(
        x=ticks.whole_axis("Full drive cycles", numbers[0], numbers[-1]),
        y=axis,
        series=(Series("In the cycle", "column", (0,), 3), Series("Until then", "column", (1,), 0, "line")),
        alt="I/Os that failed in each of {rows} cycles and until then, up to {high}.",
    )


def _by_cycle_table(measured: LifetimeRun, found: Sequence[FoundErrors]) -> Table:
    counts = dict.fromkeys(_cycles(measured), 0)
    for one in found:
        counts[one.cycle] += one.errors.count
    sums = dict(zip(counts, accumulate(counts.values()), strict=True))
    return table(
        "lifetime-errors-values",
        "Values plotted: each cycle",
        Col("Cycle", lambda number: Cell(str(number), number), width=0),
        (
            Col("Failed I/Os", lambda number: _count(counts[number])),
            Col("Until then", lambda number: cells.count(sums[number])),
        ),
        counts,
        note="The first cycle is that of the run before where this run has read it again."
        if measured.later_read
        else "",
        printed=_PRINTED // 4,
    )


def _count(count: int) -> Cell:
    return cells.number(count, 0, tone="fail" if count else "")


def _by_reason_table(found: Sequence[FoundErrors]) -> Table:
    groups: dict[tuple[str, str], list[FoundErrors]] = defaultdict(list)
    for one in found:
        groups[one.errors.operation, one.errors.reason].append(one)
    return table(
        "lifetime-errors-reasons",
        "By reason",
        Col("Reason", lambda key: Cell(f"{key[0]}: {key[1]}"), align="left", width=3),
        (
            Col("Failed I/Os", lambda key: _count(sum(one.errors.count for one in groups[key]))),
            Col("First in cycle", lambda key: Cell(_where(groups[key][0]))),
            Col("Last in cycle", lambda key: Cell(_where(groups[key][-1]))),
        ),
        groups,
    )


def _where(one: FoundErrors) -> str:
    return f"{one.cycle}, read later" if one.is_later else str(one.cycle)


def _by_address_table(measured: LifetimeRun, found: Sequence[FoundErrors]) -> Table:
    sector_bytes = measured.run.manifest.target.sector_bytes
    places: dict[int, list[FoundErrors]] = defaultdict(list)
    for one in found:
        for offset in one.errors.first_offsets_bytes:
            places[offset // sector_bytes].append(one)
    return table(
        "lifetime-errors-addresses",
        "By address",
        Col("First LBA of the transfer", lambda lba: Cell(str(lba), lba), width=1.5),
        (
            Col("Times", lambda lba: _count(len(places[lba]))),
            Col("First in cycle", lambda lba: Cell(_where(places[lba][0]))),
            Col("Last in cycle", lambda lba: Cell(_where(places[lba][-1]))),
            Col("Reasons", lambda lba: Cell(_reasons(places[lba])), align="left", width=3),
        ),
        sorted(places),
        note="A record has the first 16 addresses of all I/Os that failed alike in a step.",
        printed=len(places) <= _ADDRESSES,
    )


def _reasons(found: Sequence[FoundErrors]) -> str:
    return "; ".join(dict.fromkeys(f"{one.errors.operation}: {one.errors.reason}" for one in found))
