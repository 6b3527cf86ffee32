"""openpts' own pages of HIR: the gain of each wait state, and its accesses one by one."""

from typing import Final

import msgspec

from openpts.analysis.comparison import gain_pct
from openpts.pages import cells, ticks
from openpts.pages.kit import Cells, Col, Plot, PlotName, grid, page, rows_table
from openpts.pages.model import Axis, Cell, Column, Figure, Page, Rule, Series, Table, Verdict
from openpts.procedures.pts.hir.pages import WAIT_COLOR, baseline_rule, gains_text, highest_iops, idle_text
from openpts.procedures.pts.hir.wait_states import IdleRecoveryResults, Segment
from openpts.units import NS_PER_MS, NS_PER_S

_GAIN, _LOW_GAIN, _HIGH_GAIN = 4, 5, 6
_BAR_COLOR, _RANGE_COLOR = 6, 0
_PANEL_PX: Final = 105


def gain_page(results: IdleRecoveryResults, title: str) -> Page:
    """How much each wait state gains over the baseline, and how exact its pauses were."""
    name = PlotName("hir-x1", "Plot X-HIR-1", title)
    shown = _gains_table(results)
    plot = Plot(
        kind="bars",
        x=Axis(
            "Idle time after each access",
            "category",
            (0, len(results.segments)),
            (),
            tuple(idle_text(segment) for segment in results.segments),
        ),
        y=lambda gains: ticks.linear_axis("Gain v baseline (%)", min(0.0, *gains), max(0.0, *gains)),
        series=(
            Series("Mean", "column", (_GAIN,), _BAR_COLOR, style="bars"),
            Series("5th to 95th percentile", "column", (_LOW_GAIN, _HIGH_GAIN), _RANGE_COLOR, style="range"),
        ),
        alt=gains_text(results),
        rules=(Rule("Baseline", 0, "average"),),
        height_px=300,
    )
    known = any(cell.value is not None for row in shown.rows for cell in row.cells[_GAIN : _HIGH_GAIN + 1])
    figure = plot.over(name, shown) if known else None
    return page(name, figure, Verdict(gains_text(results)), shown, _pauses_table(results), mandatory=False)


def cycles_page(results: IdleRecoveryResults, title: str) -> Page:
    """The accesses of each wait state in a plot of its own, all on the same axes."""
    shown = _cycles_table(results)
    y = ticks.linear_axis("IOPS", 0, highest_iops(results))
    y = msgspec.structs.replace(y, ticks=y.ticks[::2])  # the plots are low
    figures = tuple(
        Figure(
            id=f"hir-x2-ws{segment.state.number}-plot",
            number=f"Plot X-HIR-2{letter}",
            title=f"Wait State {segment.state.number}: {idle_text(segment)} idle",
            kind="lines",
            table_id=shown.id,
            x=ticks.span_axis("Cycle", 1, max(2, len(shown.rows))),
            y=y,
            alt=f"{title}, {idle_text(segment)} idle: IOPS of {len(segment.active)} accesses.",
            series=(Series("Access", "column", (n,), WAIT_COLOR, style="points"),),
            rules=baseline_rule(results),
            height_px=_PANEL_PX,
            zoom_group="hir-cycles",
        )
        for n, (segment, letter) in enumerate(zip(results.segments, "abcdefgh", strict=False))
    )
    return page(PlotName("hir-x2", "", title), *figures, shown, mandatory=False)


def _idle_s(segment: Segment) -> float:
    return segment.state.idle_ns / NS_PER_S


def _gains_table(results: IdleRecoveryResults) -> Table:
    return rows_table(
        "hir-x1-values",
        "IOPS of each wait state beside the baseline and its return to baseline",
        "Wait state:<0.8 | Idle (s) | IOPS | 5th percentile | 95th percentile | Gain v baseline (%) | "
        "at the 5th (%) | at the 95th (%) | Return: IOPS",
        (_gain_row(results, segment) for segment in results.segments),
        note="Percentiles are those of the accesses' IOPS.",
    )


def _gain_row(results: IdleRecoveryResults, segment: Segment) -> Cells:
    active, returned = segment.active_summary, segment.returned_summary
    found = (active.iops, active.low_iops, active.high_iops) if active else (None, None, None)
    return (
        Cell(f"WS {segment.state.number}", _idle_s(segment)),
        Cell(f"{_idle_s(segment):g}", _idle_s(segment)),
        *(_whole(iops) for iops in found),
        *(_gain(results, iops) for iops in found),
        _whole(returned.iops if returned else None),
    )


def _gain(results: IdleRecoveryResults, iops: float | None) -> Cell:
    if iops is None or results.baseline is None:
        return cells.missing("too few accesses" if iops is None else "no baseline")
    gain = gain_pct(results.baseline.iops, iops)
    return cells.missing("no baseline") if gain is None else cells.percent(gain, plus=True)


def _whole(value: float | None) -> Cell:
    return cells.number_or("too few accesses", value, 0)


def _pauses_table(results: IdleRecoveryResults) -> Table:
    return rows_table(
        "hir-x1-pauses",
        "How exact the pauses and the accesses were",
        "Wait state:<0.8 | Pause, mean error (ms) | Pause, largest error (ms) | Access, longest excess (ms)",
        (_pause_row(segment) for segment in results.segments),
        note="Excess of an access: the time in which the drive completed the I/Os outstanding at its end.",
    )


def _pause_row(segment: Segment) -> Cells:
    active = segment.active_summary
    values = (
        (active.mean_off_error_ns, active.largest_off_error_ns, active.longest_on_excess_ns)
        if active
        else (None, None, None)
    )
    return (Cell(f"WS {segment.state.number}", _idle_s(segment)), *(_ms(value) for value in values))


def _ms(value_ns: float | None) -> Cell:
    return cells.missing("no pause") if value_ns is None else cells.number(value_ns / NS_PER_MS, 3)


def _cycles_table(results: IdleRecoveryResults) -> Table:
    """A row for each cycle, a column for each wait state."""
    length = max((len(segment.active) for segment in results.segments), default=0)
    return grid(
        "hir-x2-values",
        "Values plotted: IOPS of each access",
        Col("Cycle", lambda number: Cell(str(number), float(number)), width=0),
        [(Column(f"WS {segment.state.number}"), segment.active) for segment in results.segments],
        range(1, length + 1),
        cell=lambda number, active: (
            cells.number(active[number - 1].iops, 0) if number <= len(active) else cells.none()
        ),
        printed=False,
    )
