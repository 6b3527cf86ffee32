"""The page of I/Os that failed: over cycles, by reason, and by where they were (HYP-LIFE-02)."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from openpts.pages import cells, ticks
from openpts.pages.kit import Col, Plot, PlotName, page, plot_page, table
from openpts.pages.model import Axis, Cell, Page, Series, Table, Verdict
from openpts.procedures.extended.lifetime.cycles import FoundErrors, LifetimeRun, errors_verdict

_NAME: Final = PlotName("lifetime-errors", "Plot X-LIFETIME-3", "Failed I/Os v Full Drive Cycles")
_PRINTED: Final = 400
_ADDRESSES: Final = 64
"""Rows of the table of addresses on paper; its file has all of them."""


def error_page(measured: LifetimeRun) -> Page:
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
