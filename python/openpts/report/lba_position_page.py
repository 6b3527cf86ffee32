"""Throughput over LBA position, from the last pass of sequential preconditioning (ours)."""

from typing import Final

from openpts.analysis.lba_position import PositionBin, last_pass
from openpts.pages import cells, ticks
from openpts.pages.kit import PlotName
from openpts.pages.model import Cell, Column, Figure, Page, Row, Series, Table, Verdict
from openpts.record.reader import Run
from openpts.units import MB
from openpts.vocabulary.part import Part

_MOST_BINS: Final = 100
_MEAN_COLOR, _SPREAD_COLOR = 2, 6


def lba_position_page(run: Run, cycle: int, name: PlotName) -> Page:
    """MB/s of the last full pass of a cycle's preconditioning, or why the record can't tell it."""
    samples = [step.sample for step in run.part(Part.WIPC, cycle=cycle)]
    stimulus = next((sample.step.stimulus for sample in samples if sample.step.stimulus), None)
    reason = "no preconditioning was begun"
    bins: tuple[PositionBin, ...] = ()
    if stimulus is not None:
        target = run.manifest.target
        start, end = stimulus.active_range.bytes_of(target.user_capacity_bytes, target.sector_bytes)
        one_stream = stimulus.tc == 1 and stimulus.random_pct == 0
        bins = last_pass(samples, end - start, _MOST_BINS) if one_stream else ()
        reason = "fewer than eight intervals in a full pass" if one_stream else _several(stimulus.tc)
    if not bins:
        sentence = Verdict(f"Throughput by LBA position: n/a ({reason}).")
        return Page(name.id, name.title, (sentence,))
    assert stimulus is not None  # noqa: S101 narrows the type: bins are of one
    table = _table(f"{name.id}-values", bins)
    highest = max(found.highest_bytes_per_s for found in bins) / MB
    figure = Figure(
        id=f"{name.id}-plot",
        number=name.number,
        title=name.title,
        kind="lines",
        table_id=table.id,
        x=ticks.span_axis("LBA position (% of the range written)", 0, 100),
        y=ticks.linear_axis("Throughput (MB/s)", 0, highest),
        alt=f"{name.title}: {len(bins)} stretches, means from "
        f"{cells.fixed(min(found.bytes_per_s for found in bins) / MB, 1)} to "
        f"{cells.fixed(max(found.bytes_per_s for found in bins) / MB, 1)} MB/s.",
        series=(
            Series("Slowest interval", "column", (1,), _SPREAD_COLOR, style="line"),
            Series("Fastest interval", "column", (2,), _SPREAD_COLOR, style="line"),
            Series("Mean", "column", (0,), _MEAN_COLOR, style="mean", emphasis=True),
        ),
    )
    sentence = Verdict(
        f"Last full pass of the preconditioning ({stimulus}, TC 1 / QD {stimulus.qd}): the place "
        "follows from the bytes written before, since one stream writes the range from its start to its end."
    )
    return Page(name.id, name.title, (figure, sentence, table))


def _several(tc: int) -> str:
    return f"{tc} threads wrote at as many places at once, and the record does not tell them apart"


def _table(table_id: str, bins: tuple[PositionBin, ...]) -> Table:
    return Table(
        id=table_id,
        title="Values plotted: each stretch at its middle",
        head=Column("LBA position (%)"),
        columns=(Column("Mean (MB/s)"), Column("Slowest interval (MB/s)"), Column("Fastest interval (MB/s)")),
        rows=tuple(
            Row(
                Cell(cells.fixed(found.middle_pct, 2), found.middle_pct),
                tuple(
                    cells.number(rate / MB, 1)
                    for rate in (found.bytes_per_s, found.lowest_bytes_per_s, found.highest_bytes_per_s)
                ),
            )
            for found in bins
        ),
        printed=False,
    )
