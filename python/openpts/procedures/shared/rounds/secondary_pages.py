"""Secondary metrics over the cells of a results matrix: response times and processor use (PTS 7.3.6.4)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from openpts.analysis.latency import ios_needed
from openpts.analysis.rounds import test_point
from openpts.pages import cells
from openpts.pages.model import Block, Cell, Page, Verdict
from openpts.procedures.kit.drive_work.energy_page import NO_METER, efficiency_cell, power_cell
from openpts.procedures.kit.drive_work.work import DriveWork
from openpts.procedures.kit.steps import ART, CPU_IOWAIT, CPU_SYS, MRT
from openpts.procedures.shared.rounds.matrix import TAIL_PERCENTILE, MatrixCell
from openpts.procedures.shared.rounds.matrix_pages import Matrix, matrix_table, placed_table
from openpts.record.reader import Run, StepRecord
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.verdict import RoundPoint

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
