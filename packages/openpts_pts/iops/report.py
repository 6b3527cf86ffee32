"""The report of the IOPS test: its header fields, its pages, its order (PTS 7.3, Annex A.1)."""

from collections.abc import Sequence
from typing import Final

from openpts.analysis.run_comparison import relative_standard_error_pct
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.header import TestSection, head_line, sections_of
from openpts.procedures.kit.steps import IOPS
from openpts.record.reader import Run
from openpts.units import KIB, block_size_kib, format_block_size
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import AccessPattern
from openpts.vocabulary.verdict import RoundPoint
from openpts_pages import cells, ticks
from openpts_pages.kit import Plot, PlotName, Required, labels_axis, page, rows_table, values_of
from openpts_pages.measure import Measured, Subject
from openpts_pages.model import Band, Cell, Column, Page, PlotRule, Series, Table, Verdict
from openpts_pts.shared.preparation_page import loop_preparation_page
from openpts_pts.shared.rounds.matrix_pages import (
    Matrix,
    columns_3d_page,
    iops_table,
    merged_tail_page,
    mix,
    plot_2d_page,
    power_page,
    ranges_table,
    response_times_page,
    tabular_page,
)
from openpts_pts.shared.rounds.results import MatrixCell, RoundTestResults, analyze_cycle, round_figures
from openpts_pts.shared.rounds.words import (
    loop_setup_rows,
    loop_test_rows,
    not_steady,
    red_lines,
    short_form_words,
    short_name,
    summary_state,
    verification_record,
)
from openpts_pts.shared.steady_state_pages import (
    convergence_page,
    share_of_average_page,
    steady_state_sentence,
    window_of,
    window_page,
)

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
        x=labels_axis("Block size (KiB)", [*map(block_size_kib, sizes)]),
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
        rules=(
            PlotRule("mean", 0, "average"),
            PlotRule("+10 %", 10, "limit"),
            PlotRule("-10 %", -10, "limit"),
        ),
        bands=(Band("y", -10, 10, "allowed"),),
        palette="mix",
        height_px=360,
    )
    wide, ranges = _wide_cells(matrix, sizes, read_pcts), ranges_table(matrix)
    return page(name, plot.over(name, shown), wide, ranges, shown, mandatory=False)


def _deviations_table(matrix: Matrix, sizes: Sequence[int], read_pcts: Sequence[int]) -> Table:
    return rows_table(
        f"{matrix.prefix}-deviations",
        "Values plotted: deviation of each Round from its cell's mean (%)",
        (
            "Cell:<0",
            *(Column(f"R{number}", float(number)) for number in matrix.results.window.rounds),
            "RSE of the mean",
        ),
        (
            (
                f"{format_block_size(size)}, R/W {mix(read_pct)}",
                *(cells.percent(value, 2, plus=True) for value in cell.deviations_pct),
                _error_cell(cell),
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


PREFIX: Final = "iops"


def _window(index: int) -> Required:
    """The plot of a tracking variable's window."""
    return Required(f"a{index + 3}", f"Plot A.{index + 3}")


_CONVERGENCE: Final = {
    0: Required("a1-rw0", "Plot A.1"),
    65: Required("a1-rw65", "Plot A.1b"),
    100: Required("a1-rw100", "Plot A.1c"),
}
_TRACKED: Final = Required("a2", "Plot A.2")
_TABLE: Final = Required("a6", "Plot A.6")
_PLOT_2D: Final = Required("a7", "Plot A.7")
_COLUMNS_3D: Final = Required("a8", "Plot A.8")
REQUIRED: Final = (*_CONVERGENCE.values(), _TRACKED, *map(_window, range(3)), _TABLE, _PLOT_2D, _COLUMNS_3D)
BLOCK_SIZES_BYTES: Final = tuple(int(kib * KIB) for kib in (0.5, 4, 8, 16, 32, 64, 128, 1024))
READ_PCTS: Final = (0, 5, 35, 50, 65, 95, 100)
_KEY_READ_PCTS: Final = (0, 65, 100)
_KEY_BLOCK_SIZE_BYTES: Final = 4 * KIB
_SECONDARY_TITLE: Final = "IOPS - ALL RW Mix & BS - Optional Secondary Metrics"

_IOPS: Final = IOPS.measure("iops", "{name}", decimals=0)


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    results = analyze_cycle(run, 1)
    measures = _measures(results)
    return ReportContent(
        verdicts=(steady_state_sentence(results), *short_form_words(results, measures)),
        measures=measures,
        sections=sections_of(
            run,
            TestSection(
                test=PREFIX,
                title="IOPS Test",
                bar="IOPS Test (REQUIRED) - Report Page",
                heading="IOPS - Block Size x RW Mix Matrix",
                setup=loop_setup_rows(run, results, "IOPS Loop"),
                test_rows=loop_test_rows(run, results, "IOPS Loop"),
                red_lines=red_lines(results),
                pages=lambda: (*_evidence_pages(run, results), *_result_pages(run, results)),
            ),
        ),
        figures=lambda: round_figures(results),
    )


def _measures(results: RoundTestResults) -> tuple[Measured, ...]:
    """RND 4 KiB at RW0, RW65 and RW100."""
    points = [
        RoundPoint(AccessPattern.RANDOM, _KEY_BLOCK_SIZE_BYTES, read_pct) for read_pct in _KEY_READ_PCTS
    ]
    steady, state = summary_state(results), not_steady(results)
    return tuple(
        _IOPS.of(results.cells.get(point), Subject(str(point), steady=steady, state=state))
        for point in points
    )


def _evidence_pages(run: Run, results: RoundTestResults) -> tuple[Page, ...]:
    """Preparation, convergence and windows: pages 1 to 5 of the sample report."""
    convergence = "IOPS Steady State Convergence Plot - All Block Sizes"
    window = "IOPS Steady State Measurement Window"
    return (
        loop_preparation_page(
            run,
            results,
            f"{PREFIX}-preparation",
            "IOPS Purge Report and Pre-conditioning Report",
            loop_name="IOPS Loop",
        ),
        *(
            convergence_page(
                results,
                plot.named(PREFIX, f"{convergence} - RW {mix(read_pct)}" if read_pct else convergence),
                _measured_points(results, read_pct),
            )
            for read_pct, plot in _CONVERGENCE.items()
        ),
        share_of_average_page(results, _TRACKED.named(PREFIX, window)),
        *(
            window_page(
                window_of(results, index, verification_record(results, "7.3.4")),
                _window(index).named(PREFIX, f"{window} - {short_name(variable)}"),
            )
            for index, variable in enumerate(results.conditions.tracking)
        ),
    )


def _measured_points(results: RoundTestResults, read_pct: int) -> list[RoundPoint]:
    points = (RoundPoint(AccessPattern.RANDOM, size, read_pct) for size in BLOCK_SIZES_BYTES)
    return [point for point in points if point in results.cells]


def _result_pages(run: Run, results: RoundTestResults) -> tuple[Page, ...]:
    """Table, plots, secondary metrics and our own checks: pages 6 and up."""
    matrix = Matrix(
        results, AccessPattern.RANDOM, BLOCK_SIZES_BYTES, READ_PCTS, PREFIX, _head_line(run, results)
    )
    tabular = _TABLE.named(PREFIX, "IOPS - ALL RW Mix & BS - Tabular Data")
    table = iops_table(matrix, tabular.number, run.manifest.target.sector_bytes)
    return (
        tabular_page(matrix, table, tabular, heat_number="Plot X-IOPS-1"),
        plot_2d_page(table, _PLOT_2D.named(PREFIX, "IOPS - All RW Mix & BS - 2D Plot")),
        columns_3d_page(table, _COLUMNS_3D.named(PREFIX, "IOPS - All RW Mix & BS - 3D Columns")),
        response_times_page(matrix, _SECONDARY_TITLE),
        merged_tail_page(matrix, run, f"{_SECONDARY_TITLE} (2)"),
        *(() if (power := power_page(matrix, run, f"{_SECONDARY_TITLE} (3)")) is None else (power,)),
        repeatability_page(matrix, PlotName(f"{PREFIX}-x2", "Plot X-IOPS-2", "IOPS Round Repeatability")),
    )


def _head_line(run: Run, results: RoundTestResults) -> str:
    conditions = results.conditions
    demanded = f"T{conditions.tc}/Q{conditions.qd}"
    return head_line(
        run, Phase.ROUND, demand=demanded, more=f"Rounds {results.window.label.replace(' ', '')}"
    )
