"""Throughput in the short report: what readers of TKperf know, out of the pages of the full one."""

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from openpts.procedures.kit.steps import THROUGHPUT
from openpts.units import block_size_kib
from openpts_pages import cells, ticks
from openpts_pages.kit import NO_ROUND, Plot, PlotName, category_axis, rows_table, values_of
from openpts_pages.model import Block, Cell, Column, Row, Section, Series, Table, Verdict
from openpts_pts.shared.short_report import (
    PLOT_PX,
    Picked,
    preparation,
    seconds,
    steady_state_cells,
    verification,
    window_unit,
)
from openpts_pts.shared.window_page import round_columns
from openpts_pts.tp import ThroughputConditions


# TKP-TP-01, 02
def introduction(sections: Sequence[Section], conditions: ThroughputConditions) -> str:
    """What was done, as recorded."""
    sizes = ", ".join(block_size_kib(size) for size in conditions.block_sizes_bytes)
    before = " or ".join(dict.fromkeys(preparation(Picked(section), own_size=True) for section in sections))
    elements = ", ".join(f"{_words(pct)} for {seconds(conditions.minute_ns)}" for pct in conditions.read_pcts)
    return (
        f"The test, for each of the block sizes {sizes} KiB: {before}; then Rounds of sequential {elements}, "
        f"until writes of that size are steady or for {conditions.max_rounds} Rounds."
    )


def _words(read_pct: int) -> str:
    return {0: "writes", 100: "reads"}.get(read_pct, f"I/Os of which {read_pct} % are reads")


# TKP-TP-03, 04
def blocks(sections: Sequence[Section], conditions: ThroughputConditions) -> list[Block]:
    """In the order of TKperf's report: all sizes in one plot, the largest verified."""
    largest = Picked(sections[0])
    tracking = [
        one for one in conditions.tracking if one.block_size_bytes == max(conditions.block_sizes_bytes)
    ]
    return [
        _steady_state(sections),
        *_convergence(sections, "write", "Sequential Writes"),
        *_convergence(sections, "read", "Sequential Reads"),
        *largest.plot("window", verification("MB/s", tracking)),
        *_averages(sections),
    ]


def _prefix(sections: Sequence[Section]) -> str:
    """Of the ids of what all sizes share."""
    return f"short-{sections[0].test.rpartition('-')[0]}"


def _steady_state(sections: Sequence[Section]) -> Table:
    """A row for each size: each is judged by its own writes."""
    picked = [Picked(section) for section in sections]
    unit = next((unit for one in picked if (unit := window_unit(one, "window"))), "")
    return rows_table(
        f"{_prefix(sections)}-steady",
        f"Steady State information{unit}",
        "Tracking variable:<0.8 | Steady State:<0.5 | Rounds of the window:<0.8 | Values in them:<1.8 | "
        "Average:0.5",
        (
            (cells.words(f"{one.section.title.rpartition(' - ')[2]} 0/100"), *_state_cells(one))
            for one in picked
        ),
    )


def _state_cells(picked: Picked) -> tuple[Cell, ...]:
    """As for one variable, the state in a word: the rounds are beside it."""
    state, *others = steady_state_cells(picked, "window", picked.sentences("write"))
    word = {"pass": "reached", "fail": "not reached"}.get(state.tone, state.text)
    return (replace(state, text=word), *others)


def _convergence(sections: Sequence[Section], key: str, what: str) -> list[Block]:
    """MB/s of every round, a line for each size."""
    found = [table for one in sections if (table := Picked(one).any_table(f"{one.test}-{key}-values"))]
    rows = [row for table in found for row in table.rows]
    rounds = max((len(row.cells) for row in rows), default=0)
    if not rounds:
        return [Verdict(f"{what}: {NO_ROUND.text}", "fail")]
    shown = rows_table(
        f"{_prefix(sections)}-{key}-values",
        f"Values plotted: {what.lower()}, average of each Round (MB/s)",
        (found[0].head, *round_columns(rounds)),
        ((row.head, *row.cells, *(cells.none() for _ in range(rounds - len(row.cells)))) for row in rows),
        printed=False,
    )
    plot = Plot(
        x=ticks.rounds_axis(rounds),
        y=partial(ticks.amount_axis, THROUGHPUT.axis_title),
        series=tuple(
            Series(f"{row.head.text} KiB", "row", (n,), len(rows) - 1 - n, emphasis=n == 0)
            for n, row in enumerate(rows)
        ),
        alt=f"{{rows}} block sizes over Rounds 1 to {rounds}, from {{low}} to {{high}} MB/s.",
        height_px=PLOT_PX,
    )
    name = PlotName(f"{_prefix(sections)}-{key}", f"Plot X-TP-{key.upper()}", f"Throughput of {what} v Round")
    return [
        plot.over(name, shown),
        Verdict(f"{what.capitalize()}: MB/s in each Round, a line for each block size."),
        shown,
    ]


def _averages(sections: Sequence[Section]) -> list[Block]:
    """Reads and writes of each block size side by side, and the same in a table."""
    rows = []
    for section in sections:
        table = Picked(section).any_table(f"{section.test}-table")
        if table is None:
            continue
        by_read_pct = {column.value: n for n, column in enumerate(table.columns)}
        rows += [
            Row(row.head, tuple(row.cells[by_read_pct[read_pct]] for read_pct in (100, 0)))
            for row in table.rows
        ]
    columns = (Column("Read", 100.0), Column("Write", 0.0))
    table_id = f"{_prefix(sections)}-summary"
    head = Column("Block size (KiB)", width=0.62)
    shown = Table(table_id, "Average MB/s (base 10) by block size", head, columns, tuple(rows))
    if not values_of(shown):
        return [shown] if rows else []
    plot = Plot(
        kind="bars",
        x=category_axis("Block size (KiB)", shown),
        y=lambda values: ticks.linear_axis(THROUGHPUT.axis_title, 0, max(values)),
        series=tuple(
            Series(column.label, "column", (n,), n + 2, style="bars") for n, column in enumerate(columns)
        ),
        alt="{rows} block sizes, from {low} to {high} MB/s.",
        height_px=PLOT_PX,
    )
    name = PlotName(f"{_prefix(sections)}-bars", "Plot X-TP-BARS", "Average Throughput v Block Size")
    sentence = Verdict("Average MB/s of reads and writes in the measurement window of each block size.")
    return [plot.over(name, shown), sentence, shown]
