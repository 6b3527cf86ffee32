"""Pages of a results matrix: block size by R/W mix as table, heat map, 2D plot and 3D columns (PTS 7.3.6)."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from msgspec import Struct

from openpts.analysis.latency import ios_needed
from openpts.units import block_size_kib
from openpts.vocabulary.stimulus import AccessPattern
from openpts.vocabulary.verdict import RoundPoint
from openpts_pages import cells
from openpts_pages.kit import Col, grid
from openpts_pages.model import Cell, Column, Series, Table
from openpts_pts.shared.rounds.results import TAIL_PERCENTILE, MatrixCell, RoundTestResults

ToCell = Callable[[MatrixCell], Cell]


class Matrix(Struct, frozen=True):
    """What a matrix shows: all rows and columns that the specification lists, measured or not.

    ``head_line`` repeats the conditions above the secondary tables (Plot 7-5).
    """

    results: RoundTestResults
    access_pattern: AccessPattern
    block_sizes_bytes: tuple[int, ...]
    read_pcts: tuple[int, ...]
    prefix: str
    head_line: str

    def cell(self, block_size_bytes: int, read_pct: int) -> MatrixCell | None:
        """The measured cell, None where the test point was not measured."""
        return self.results.cells.get(RoundPoint(self.access_pattern, block_size_bytes, read_pct))

    def shown(self, to_cell: ToCell, block_size_bytes: int, read_pct: int) -> Cell:
        """A figure of a measured cell; n/a where the test point was not measured."""
        cell = self.cell(block_size_bytes, read_pct)
        return Cell("n/a", tone="missing") if cell is None else to_cell(cell)

    def table(self, table_id: str, title: str, to_cell: ToCell, *, note: str = "") -> Table:
        """Rows block size, columns R/W mix from all writes to all reads."""
        sizes, mixes, shown = self.block_sizes_bytes, self.read_pcts, partial(self.shown, to_cell)
        return size_by_mix(f"{self.prefix}-{table_id}", title, sizes, mixes, shown, note=note)

    def absences(self, sector_bytes: int) -> str:
        """One sentence on the rows without values, empty if there are none."""
        reasons: dict[str, list[str]] = {}
        for size in self.block_sizes_bytes:
            if all(self.cell(size, read_pct) is None for read_pct in self.read_pcts):
                reasons.setdefault(self._absence(size, sector_bytes), []).append(block_size_kib(size))
        return " ".join(f"{', '.join(sizes)} KiB: n/a ({reason})." for reason, sizes in reasons.items())

    def _absence(self, block_size_bytes: int, sector_bytes: int) -> str:
        """Why a row has no values."""
        conditions = self.results.conditions
        if block_size_bytes in conditions.skipped_block_sizes_bytes:
            return f"not possible on sectors of {sector_bytes:,} bytes"
        if block_size_bytes not in conditions.block_sizes_bytes:
            return "not part of this run"
        return "no complete Round"


def mix(read_pct: int) -> str:
    """Reads/writes as the specification prints them."""
    return f"{read_pct}/{100 - read_pct}"


def size_by_mix(
    table_id: str,
    title: str,
    sizes_bytes: Sequence[int],
    read_pcts: Sequence[int],
    cell: Callable[[int, int], Cell],
    *,
    note: str = "",
    printed: bool = True,
) -> Table:
    """A row for each block size, a column for each R/W mix."""
    return grid(
        table_id,
        title,
        Col("Block size (KiB)", lambda size: Cell(block_size_kib(size), size / 1024), width=0.62),
        [(Column(mix(read_pct), float(read_pct)), read_pct) for read_pct in read_pcts],
        sizes_bytes,
        cell=cell,
        group="Read / Write Mix %",
        note=note,
        printed=printed,
    )


def mix_series(table: Table) -> tuple[Series, ...]:
    """A series per R/W mix."""
    return tuple(Series(f"R/W {c.label}", "column", (n,), n) for n, c in enumerate(table.columns))


_SURE_COUNT_FACTOR: Final = 1.5


def tail_cell(cell: MatrixCell) -> Cell:
    """99.999 %: mean of the rounds' percentiles, or with too few I/Os the maximum, marked as such."""
    tail = cell.tail
    if tail.mean_of_rounds_ns is not None:
        return cells.latency(tail.mean_of_rounds_ns, note=low_count(tail.fewest_ios))
    if not tail.fewest_ios and cell.max_latency_ns is not None:
        return cells.too_few(0)
    return cells.latency(cell.max_latency_ns, note=f"= MRT, N = {tail.fewest_ios:,}")


def low_count(ios: int, percentile: float = TAIL_PERCENTILE) -> str:
    """The specification recommends one and a half times the I/Os that a percentile needs (PTS 9.2)."""
    sure = _SURE_COUNT_FACTOR * ios_needed(percentile)
    return f"low n, N = {ios:,}" if ios < sure else ""
