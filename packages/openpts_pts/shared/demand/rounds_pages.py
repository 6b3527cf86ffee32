"""Pages of demand variation over its rounds: pre-writes, the tracked thread count, the window.

PTS Table 13-3 and Plot 14-1 (3 to 5).
"""

from collections.abc import Sequence
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.minutes import Minute, minutes_of
from openpts.procedures.kit.steps import ART, IOPS, MRT, THROUGHPUT
from openpts.record.reader import StepRecord
from openpts.units import format_capacity, format_duration
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.sample import StepState
from openpts_pages import cells, ticks
from openpts_pages.kit import Cells, Col, Plot, grid, page, rows_table
from openpts_pages.model import Band, Cell, Column, Page, Row, Series, Table, Verdict
from openpts_pages.ticks import TimeAxis
from openpts_pts.shared.demand.words import DemandRun, point_text, steady_state_sentence
from openpts_pts.shared.minutes_table import elapsed_cell, elapsed_column, minute_row
from openpts_pts.shared.steady_state_pages import (
    height_over_rounds,
    round_columns,
    rounds_reason,
    window_band,
)
from openpts_pts.shared.window_page import Window, window_page

_COLORS: Final = 8


class _Prewrite(Struct, frozen=True):
    """The pre-write of one round, placed behind those before it; times in ns."""

    step: StepRecord
    start_ns: int
    minutes: tuple[Minute, ...]

    @property
    def end_ns(self) -> int:
        return self.start_ns + self.step.sample.elapsed_ns

    @property
    def number(self) -> int:
        return self.step.place.number


def prewrites_page(demand: DemandRun) -> Page:
    """IOPS of each minute of the pre-writes between rounds, one behind the other (3)."""
    name = demand.names.plot(3)
    prewrites = _prewrites(demand)
    if not prewrites:
        return page(name, Verdict("No pre-write was begun.", "fail"))
    time = ticks.time_axis("Time in pre-writes, one behind the other", 0, prewrites[-1].end_ns)
    shown = _prewrites_table(f"{name.id}-values", prewrites, time, demand.conditions.minute_ns)
    plot = Plot(
        x=time.axis,
        y=lambda values: ticks.linear_axis("IOPS", 0, max(values, default=0.0)),
        series=tuple(
            Series(label, "column", (n,), n, style="points") for n, label in enumerate(_groups(prewrites))
        ),
        alt=f"{len(prewrites)} pre-writes of {{count}} minutes in all, from {{low}} to {{high}} IOPS.",
        bands=tuple(
            Band(
                "x",
                time.place(prewrite.start_ns),
                time.place(prewrite.end_ns),
                "plain" if prewrite.number % 2 else "allowed",
                str(prewrite.number),
            )
            for prewrite in prewrites
        ),
    )
    conditions = demand.conditions
    lead = Verdict(
        f"P3 {demand.writes} TC{conditions.precondition_tc}-QD{conditions.precondition_qd} - pre-writes "
        "before each Round, numbered on top."
    )
    return page(name, lead, plot.over(name, shown), _summary(demand, prewrites), shown)


def _prewrites(demand: DemandRun) -> list[_Prewrite]:
    placed: list[_Prewrite] = []
    for step in demand.run.phase(Phase.ROUND_PREWRITE):
        start_ns = placed[-1].end_ns if placed else 0
        placed.append(_Prewrite(step, start_ns, minutes_of([step.sample], demand.conditions.minute_ns)))
    return placed


def _groups(prewrites: Sequence[_Prewrite]) -> list[str]:
    """A color for each Round, from the first one again beyond the last: the Rounds of each, by name."""
    numbers = [prewrite.number for prewrite in prewrites]
    groups = [[n for n in numbers if (n - 1) % _COLORS == color] for color in range(_COLORS)]
    return [
        f"Round{'s' if len(of_color) > 1 else ''} {', '.join(map(str, of_color))}"
        for of_color in groups
        if of_color
    ]


def _prewrites_table(table_id: str, prewrites: Sequence[_Prewrite], time: TimeAxis, minute_ns: int) -> Table:
    groups = _groups(prewrites)
    rows = []
    for prewrite in prewrites:
        own = (prewrite.number - 1) % _COLORS
        for minute in prewrite.minutes:
            iops, *rest = minute_row(minute, time, minute_ns).cells
            by_color = tuple(iops if color == own else Cell("-") for color in range(len(groups)))
            head = elapsed_cell(prewrite.start_ns + minute.end_ns, time)
            rows.append(Row(head, (*by_color, Cell(str(prewrite.number), float(prewrite.number)), *rest)))
    return rows_table(
        table_id,
        "Every minute of the pre-writes",
        (
            elapsed_column(time),
            *(Column(f"IOPS, {label}") for label in groups),
            "Round | ART (ms) | MRT (ms) | CPU Sys (%)",
        ),
        rows,
        printed=False,
    )


def _summary(demand: DemandRun, prewrites: Sequence[_Prewrite]) -> Table:
    conditions = demand.conditions
    capacity_bytes = demand.run.manifest.target.user_capacity_bytes
    return rows_table(
        f"{demand.names.prefix}-prewrites",
        "Pre-writes between rounds",
        "Round:0 | IOPS | MB/s | ART (ms) | MRT (ms) | Time:< | Written:<1.5 | Ended by:<",
        (_summary_row(prewrite, capacity_bytes) for prewrite in prewrites),
        note=f"A pre-write lasts at least {format_duration(conditions.prewrite_shortest_ns)}, then until "
        f"{format_duration(conditions.prewrite_longest_ns)} or {conditions.prewrite_capacity_pct:g} % of the "
        "user capacity are reached, whichever comes first.",
    )


def _summary_row(prewrite: _Prewrite, capacity_bytes: int) -> Cells:
    sample = prewrite.step.sample
    written = sample.write.bytes
    complete = sample.state is StepState.COMPLETE
    return (
        Cell(str(prewrite.number), float(prewrite.number)),
        *(metric.cell(sample) for metric in (IOPS, THROUGHPUT, ART, MRT)),
        format_duration(sample.elapsed_ns),
        f"{format_capacity(written)} = {100 * written / capacity_bytes:.2f} %",
        Cell((sample.ended_by or "-").replace("_", " "))
        if complete
        else cells.words(sample.state.value, tone="fail"),
    )


def variation_page(demand: DemandRun) -> Page:
    """IOPS over the rounds at the tracked thread count, a series per queue depth (4)."""
    name, results = demand.names.plot(4), demand.results
    lead = Verdict(f"P4 {demand.pattern} TC{results.tracked.tc} - IOPS vs Round, every QD")
    sentence = steady_state_sentence(demand)
    if not results.rounds:
        return page(name, lead, sentence)
    points = [point for point in results.points if point.tc == results.tracked.tc]
    rounds = range(len(results.rounds))
    shown = grid(
        f"{name.id}-values",
        f"Values plotted: IOPS at TC {results.tracked.tc} in each Round",
        Col("QD", lambda point: cells.count(point.qd), width=0),
        zip(round_columns([n + 1 for n in rounds]), rounds, strict=True),
        points,
        cell=lambda point, n: cells.number(results.iops_by_round(point)[n], 0),
        printed=200,
    )
    plot = Plot(
        x=ticks.rounds_axis(len(results.rounds)),
        y=partial(ticks.amount_axis, "IOPS"),
        series=tuple(
            Series(f"QD {point.qd}", "row", (line,), line, style="spline", emphasis=point == results.tracked)
            for line, point in enumerate(points)
        ),
        alt=f"{{rows}} queue depths over Rounds 1 to {len(results.rounds)}, from {{low}} to {{high}} IOPS. "
        f"{sentence.text}",
        bands=window_band(results),
        palette="mix",
        height_px=height_over_rounds(len(results.rounds)),
    )
    return page(name, lead, plot.over(name, shown), sentence, shown)


def variation_window_page(demand: DemandRun, record: str) -> Page:
    """The window of the tracking variable with its determination data (5)."""
    results = demand.results
    lead = Verdict(
        f"P5 {demand.pattern} {point_text(results.tracked)} - steady state of the tracking variable"
    )
    page = window_page(
        Window(
            variable=f"{demand.pattern} at {results.tracked}",
            metric=IOPS,
            verdict=results.verdict,
            values=results.iops_by_round(results.tracked),
            reason=rounds_reason(results),
            conditions=record,
        ),
        demand.names.plot(5),
    )
    return replace(page, blocks=(lead, *page.blocks))
