"""How far the rounds of the measurement window lie apart in each cell (ours, not the specification's)."""

from collections.abc import Sequence
from typing import Final

from openpts.analysis.comparison import relative_standard_error_pct
from openpts.pages import cells, ticks
from openpts.pages.kit import Plot, PlotName, page, values_of
from openpts.pages.model import Axis, Band, Cell, Column, Page, Row, Rule, Series, Table, Verdict
from openpts.procedures.shared.rounds.matrix import MatrixCell
from openpts.procedures.shared.rounds.matrix_pages import Matrix, mix, ranges_table
from openpts.units import block_size_kib, format_block_size

_NOTABLE_RANGE_PCT: Final = 20


def repeatability_page(matrix: Matrix, name: PlotName) -> Page:
    """Each round of each cell around the cell's mean; cells that range widely are named."""
    sizes = [s for s in matrix.block_sizes_bytes if any(matrix.cell(s, r) for r in matrix.read_pcts)]
    if not sizes or len(matrix.results.window.rounds) < 2:
        reason = Verdict("Fewer than two complete Rounds: repeatability can't be shown.", "fail")
        return page(name, reason, ranges_table(matrix), mandatory=False)
    read_pcts = [r for r in matrix.read_pcts if any(matrix.cell(s, r) for s in sizes)]
    shown = _deviations_table(matrix, sizes, read_pcts)
    largest = max(abs(value) for value in values_of(shown))
    reach = max(12.0, largest * 1.05)
    plot = Plot(
        kind="strip",
        x=Axis("Block size (KiB)", "category", (0, len(sizes)), (), tuple(block_size_kib(s) for s in sizes)),
        y=ticks.linear_axis("Deviation from the cell's mean (%)", -reach, reach),
        series=tuple(
            Series(
                f"R/W {mix(read_pct)}",
                "row",
                tuple(position * len(read_pcts) + n for position in range(len(sizes))),
                matrix.read_pcts.index(read_pct),
            )
            for n, read_pct in enumerate(read_pcts)
        ),
        alt=f"largest deviation of a Round from its cell's mean {cells.fixed(largest, 1)} %.",
        rules=(Rule("mean", 0, "average"), Rule("+10 %", 10, "limit"), Rule("-10 %", -10, "limit")),
        bands=(Band("y", -10, 10, "allowed"),),
        palette="mix",
        height_px=360,
    )
    wide, ranges = _wide_cells(matrix, sizes, read_pcts), ranges_table(matrix)
    return page(name, plot.over(name, shown), wide, ranges, shown, mandatory=False)


def _deviations_table(matrix: Matrix, sizes: Sequence[int], read_pcts: Sequence[int]) -> Table:
    return Table(
        id=f"{matrix.prefix}-deviations",
        title="Values plotted: deviation of each Round from its cell's mean (%)",
        head=Column("Cell", align="left", width=0),
        columns=(
            *(Column(f"R{number}", float(number)) for number in matrix.results.window.rounds),
            Column("RSE of the mean"),
        ),
        rows=tuple(
            Row(
                Cell(f"{format_block_size(size)}, R/W {mix(read_pct)}"),
                (*(cells.percent(value, 2, plus=True) for value in cell.deviations_pct), _error_cell(cell)),
            )
            for size in sizes
            for read_pct in read_pcts
            if (cell := matrix.cell(size, read_pct)) is not None
        ),
        note="One row per cell of the 56; cells without values are left out.",
        printed=False,
    )


def _error_cell(cell: MatrixCell) -> Cell:
    error_pct = relative_standard_error_pct(cell.iops_by_round)
    return cells.missing("one Round") if error_pct is None else Cell(cells.fixed(error_pct, 2))


def _wide_cells(matrix: Matrix, sizes: Sequence[int], read_pcts: Sequence[int]) -> Verdict:
    wide = [
        f"{format_block_size(size)} {mix(read_pct)} ({cells.fixed(cell.range_pct, 1)} %)"
        for size in sizes
        for read_pct in read_pcts
        if (cell := matrix.cell(size, read_pct)) is not None and cell.range_pct > _NOTABLE_RANGE_PCT
    ]
    if not wide:
        return Verdict(f"No cell ranges over more than {_NOTABLE_RANGE_PCT} % of its mean.", "pass")
    return Verdict(
        f"Cells that range over more than {_NOTABLE_RANGE_PCT} % of their mean: {'; '.join(wide)}."
    )
