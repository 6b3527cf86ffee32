"""Pages of a results matrix: block size by R/W mix as table, heat map, 2D plot and 3D columns (PTS 7.3.6)."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.latency import ios_needed
from openpts.analysis.rounds import test_point
from openpts.procedures.kit.drive_work.energy_page import NO_METER, efficiency_cell, power_cell
from openpts.procedures.kit.drive_work.work import DriveWork
from openpts.procedures.kit.steps import ART, CPU_IOWAIT, CPU_SYS, IOPS, MRT
from openpts.record.reader import Run, StepRecord
from openpts.units import block_size_kib
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import AccessPattern
from openpts.vocabulary.verdict import RoundPoint
from openpts_pages import cells, ticks
from openpts_pages.kit import NO_ROUND, Col, Plot, PlotName, category_axis, grid, heat_map, page, values_of
from openpts_pages.model import Block, Cell, Column, Figure, Page, Repeat, Series, Table, Verdict
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


def mix(read_pct: int) -> str:
    """Reads/writes as the specification prints them."""
    return f"{read_pct}/{100 - read_pct}"


def absence(matrix: Matrix, block_size_bytes: int, sector_bytes: int) -> str:
    """Why a row has no values."""
    if block_size_bytes in matrix.results.conditions.skipped_block_sizes_bytes:
        return f"not possible on sectors of {sector_bytes:,} bytes"
    if block_size_bytes not in matrix.results.conditions.block_sizes_bytes:
        return "not part of this run"
    return "no complete Round"


def matrix_table(matrix: Matrix, table_id: str, title: str, to_cell: ToCell, *, note: str = "") -> Table:
    """Rows block size, columns R/W mix from all writes to all reads."""

    return placed_table(matrix, table_id, title, partial(matrix.shown, to_cell), note=note)


def placed_table(
    matrix: Matrix, table_id: str, title: str, cell_at: Callable[[int, int], Cell], *, note: str = ""
) -> Table:
    """The same rows and columns with cells by block size in bytes and share of reads."""
    sizes, mixes = matrix.block_sizes_bytes, matrix.read_pcts
    return size_by_mix(f"{matrix.prefix}-{table_id}", title, sizes, mixes, cell_at, note=note)


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


def absences_note(matrix: Matrix, sector_bytes: int) -> str:
    """One sentence on the rows without values, empty if there are none."""
    reasons: dict[str, list[str]] = {}
    for size in matrix.block_sizes_bytes:
        if all(matrix.cell(size, read_pct) is None for read_pct in matrix.read_pcts):
            reasons.setdefault(absence(matrix, size, sector_bytes), []).append(block_size_kib(size))
    return " ".join(f"{', '.join(sizes)} KiB: n/a ({reason})." for reason, sizes in reasons.items())


def iops_table(matrix: Matrix, number: str, sector_bytes: int) -> Table:
    """The table of IOPS, one decimal (Plot 7-3)."""
    return matrix_table(
        matrix,
        "iops-table",
        f"{number} - average IOPS: {matrix.results.window.averaging}",
        IOPS.cell,
        note=absences_note(matrix, sector_bytes),
    )


def tabular_page(matrix: Matrix, table: Table, name: PlotName, *, heat_number: str) -> Page:
    """The table of IOPS and, for the eye, the same cells shaded with the range of their rounds."""
    sentence = Verdict(f"Each cell: {matrix.results.window.averaging}.{_extreme(table)}")
    return page(name, table, sentence, _heat_map(matrix, table, heat_number) if values_of(table) else None)


def _heat_map(matrix: Matrix, table: Table, number: str) -> Figure:
    return heat_map(
        PlotName(f"{matrix.prefix}-x1-plot", number, "Heat Map of IOPS and Range of the Rounds (%)"),
        table,
        f"{matrix.prefix}-ranges",
        ("R/W mix %", "Block size (KiB)"),
        f"{len(values_of(table))} cells.{_extreme(table)}",
    )


def ranges_table(matrix: Matrix) -> Table:
    """How far the rounds of each cell lie apart."""
    return matrix_table(
        matrix,
        "ranges",
        "Range of the Rounds in each cell: (max - min) in % of the mean",
        lambda cell: cells.percent(cell.range_pct),
    )


def _extreme(table: Table) -> str:
    measured = [
        (cell.value, cell.text, row.head.text, column.label)
        for row in table.rows
        for column, cell in zip(table.columns, row.cells, strict=True)
        if cell.value is not None
    ]
    if not measured:
        return ""
    _, text, size, of_mix = max(measured)
    return f" Highest: {text} IOPS at {size} KiB, R/W {of_mix}."


def plot_2d_page(shown: Table, name: PlotName) -> Page:
    """IOPS over block size, one series per R/W mix (Plot 7-4)."""
    sizes = [row.head.value for row in shown.rows if row.head.value and any(c.value for c in row.cells)]
    if not sizes:
        return page(name, NO_ROUND)
    plot = Plot(
        x=ticks.block_size_axis(sizes),
        y=partial(ticks.amount_axis, "IOPS"),
        series=mix_series(shown),
        alt=f"{len(shown.columns)} R/W mixes over {len(sizes)} block sizes.{_extreme(shown)}",
        palette="mix",
        height_px=390,
    )
    return page(name, plot.over(name, shown), Repeat(shown.id))


def columns_3d_page(shown: Table, name: PlotName) -> Page:
    """IOPS as columns over block size and R/W mix (Plot 7-5)."""
    if not values_of(shown):
        return page(name, NO_ROUND)
    plot = Plot(
        kind="columns3d",
        x=category_axis("Block size (KiB)", shown),
        y=lambda values: ticks.linear_axis("IOPS", 0, max(values)),
        series=mix_series(shown),
        alt=f"{{count}} columns, writes in front, reads behind.{_extreme(shown)}",
        palette="mix",
        depth_title="R/W mix %",
        height_px=400,
    )
    sentence = Verdict(
        "Front row 0/100 (all writes), back row 100/0 (all reads). Exact values are in the table."
    )
    return page(name, plot.over(name, shown), sentence, Repeat(shown.id))


def mix_series(table: Table) -> tuple[Series, ...]:
    """A series per R/W mix."""
    return tuple(Series(f"R/W {c.label}", "column", (n,), n) for n, c in enumerate(table.columns))


_SURE_COUNT_FACTOR: Final = 1.5
_NO_CPU: Final = "CPU System Usage and CPU IO Wait: not recorded in any step of this run."


def response_times_page(matrix: Matrix, title: str) -> Page:
    """Average, 99.999 % and maximum response times (Table 7-6)."""
    return Page(
        f"{matrix.prefix}-response-times",
        title,
        (
            Verdict(matrix.head_line),
            matrix_table(
                matrix, "art", "Average Response Time, ART (ms): mean of the Rounds' averages", ART.cell
            ),
            matrix_table(
                matrix,
                "tail",
                "99.999 % Response Time (ms): mean of the Rounds' percentiles",
                tail_cell,
                note=f"Five nines need {ios_needed(TAIL_PERCENTILE):,} I/Os in each Round; with fewer, the "
                "cell has the maximum and N, the smallest Round's count.",
            ),
            matrix_table(matrix, "mrt", "Maximum Response Time, MRT (ms): maximum of the Rounds", MRT.cell),
        ),
    )


def merged_tail_page(matrix: Matrix, run: Run, title: str) -> Page:
    """The percentile of all rounds' I/Os together, the host's processor use, and why there is no power."""
    no_power = Verdict(f"Average Power, IOPS/W: not measured ({NO_METER}).")
    return Page(
        f"{matrix.prefix}-merged-tail-cpu",
        title,
        (
            Verdict(matrix.head_line),
            matrix_table(
                matrix,
                "merged-tail",
                "99.999 % Response Time (ms) of all Rounds' I/Os together (ours, beside the mean)",
                _tail_merged,
            ),
            *_cpu_blocks(matrix),
            *(() if DriveWork(run).meter else (no_power,)),
        ),
    )


def power_page(matrix: Matrix, run: Run, title: str) -> Page | None:
    """Average power and IOPS per watt of the rounds of the window; None where nothing metered the drive."""
    work = DriveWork(run)
    if work.meter is None:
        return None
    steps: dict[RoundPoint | None, list[StepRecord]] = {}
    for number in matrix.results.window.rounds:
        for step in run.phase(Phase.ROUND, number=number):
            steps.setdefault(test_point(step.sample.step.stimulus), []).append(step)

    def by(cell: Callable[[DriveWork, list[StepRecord]], Cell]) -> Callable[[int, int], Cell]:
        def cell_at(block_size_bytes: int, read_pct: int) -> Cell:
            found = steps.get(RoundPoint(matrix.access_pattern, block_size_bytes, read_pct))
            return cell(work, found) if found else Cell("n/a", tone="missing")

        return cell_at

    source = f"Power of the drive: {work.meter[1]}."
    tables = (
        placed_table(matrix, "power", "Average Power (mW)", by(power_cell), note=source),
        placed_table(matrix, "iops-per-w", "IOPS/W", by(efficiency_cell)),
    )
    return Page(f"{matrix.prefix}-power", title, (Verdict(matrix.head_line), *tables))


def _cpu_blocks(matrix: Matrix) -> tuple[Block, ...]:
    """Two tables, or a sentence where no step has a figure for them: two pages of n/a would not help."""
    measured = matrix.results.cells.values()
    if measured and all(cell.cpu is None for cell in measured):
        return (Verdict(_NO_CPU),)
    return (
        matrix_table(matrix, "cpu-sys", "CPU System Usage (%)", replace(CPU_SYS, decimals=1).cell),
        matrix_table(
            matrix,
            "cpu-iowait",
            CPU_IOWAIT.label,
            replace(CPU_IOWAIT, decimals=1).cell,
            note="Share of all processors.",
        ),
    )


def tail_cell(cell: MatrixCell) -> Cell:
    """99.999 %: mean of the rounds' percentiles, or with too few I/Os the maximum, marked as such."""
    tail = cell.tail
    if tail.mean_of_rounds_ns is not None:
        return cells.latency(tail.mean_of_rounds_ns, note=_low_count(tail.fewest_ios))
    if not tail.fewest_ios and cell.max_latency_ns is not None:
        return cells.too_few(0)
    return cells.latency(cell.max_latency_ns, note=f"= MRT, N = {tail.fewest_ios:,}")


def _tail_merged(cell: MatrixCell) -> Cell:
    tail = cell.tail
    if tail.merged_ns is None:
        return cells.missing(f"N = {tail.merged_ios:,}")
    return cells.latency(tail.merged_ns, note=_low_count(tail.merged_ios))


def _low_count(ios: int) -> str:
    """The specification recommends one and a half times the I/Os that a percentile needs (PTS 9.2)."""
    sure = _SURE_COUNT_FACTOR * ios_needed(TAIL_PERCENTILE)
    return f"low n, N = {ios:,}" if ios < sure else ""
