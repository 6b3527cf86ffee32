"""The report of the IOPS test: its header fields, its pages, its order (PTS 7.3, Annex A.1)."""

from typing import Final

from openpts.analysis.round_test import RoundTestResults, analyse_round_test
from openpts.analysis.rounds import TestPoint
from openpts.record.reader import Run
from openpts.report.cover_page import key_value, summary_table
from openpts.report.header import Rows, common_header, write_cache
from openpts.report.matrix_pages import (
    Matrix,
    columns_3d_page,
    iops_table,
    mix,
    plot_2d_page,
    tabular_page,
)
from openpts.report.model import Page, Section, Table
from openpts.report.preparation_page import precondition_amount, preparation_page
from openpts.report.printable import brief, printable
from openpts.report.repeatability_page import repeatability_page
from openpts.report.secondary_pages import merged_tail_page, response_times_page
from openpts.report.standing import Standing
from openpts.report.steady_state_pages import (
    PlotName,
    convergence_page,
    rounds_reason,
    share_of_average_page,
)
from openpts.report.window_page import window_page
from openpts.units import KIB, NS_PER_S, format_block_size, format_capacity
from openpts.vocabulary.stimulus import AccessPattern
from openpts.vocabulary.verdict import TrackingVariable

PREFIX: Final = "iops"
BLOCK_SIZES_BYTES: Final = tuple(int(kib * KIB) for kib in (0.5, 4, 8, 16, 32, 64, 128, 1024))
READ_PCTS: Final = (0, 5, 35, 50, 65, 95, 100)
_STEP_NS: Final = 60 * NS_PER_S
_PASSES: Final = 2.0
_MAX_ROUNDS: Final = 25
_KEY_READ_PCTS: Final = (0, 65, 100)
_KEY_BLOCK_SIZE_BYTES: Final = 4 * KIB
_SECONDARY_TITLE: Final = "IOPS - ALL RW Mix & BS - Optional Secondary Metrics"


def analyse(run: Run) -> RoundTestResults:
    """The test's results from the samples in the record."""
    return analyse_round_test(
        run.manifest.conditions,
        ((step.round_number, step.sample) for step in run.steps if step.round_number is not None),
        run.manifest.outcome.steady_round if run.manifest.outcome else None,
    )


def shortened(run: Run, results: RoundTestResults) -> bool:
    """Whether steps, passes, rounds or test points were cut short of PTS 7.2."""
    conditions = run.manifest.conditions
    sizes = {*conditions.block_sizes_bytes, *conditions.skipped_block_sizes_bytes}
    return (
        conditions.step_duration_ns < _STEP_NS
        or conditions.precondition_passes < _PASSES
        or (conditions.max_rounds < _MAX_ROUNDS and not results.steady)
        or not sizes >= set(BLOCK_SIZES_BYTES)
        or not set(conditions.read_pcts) >= set(READ_PCTS)
    )


def summary(run: Run, results: RoundTestResults) -> Table:
    """Key values for the cover: RND 4 KiB at RW0, RW65 and RW100."""
    values = []
    for read_pct in _KEY_READ_PCTS:
        cell = results.cells.get(TestPoint(AccessPattern.RANDOM, _KEY_BLOCK_SIZE_BYTES, read_pct))
        name = f"RND {format_block_size(_KEY_BLOCK_SIZE_BYTES)} RW{read_pct}"
        values.append((name, key_value(cell.iops if cell else None), "IOPS"))
    return summary_table("IOPS", _summary_state(results), len(run.ledger), tuple(values))


def _summary_state(results: RoundTestResults) -> str:
    if results.steady:
        return f"reached in Round {results.window.rounds[-1]}"
    return "not reached" if results.window.is_full else f"n/a ({rounds_reason(results)})"


def section(run: Run, results: RoundTestResults, standing: Standing, report_date: str) -> Section:
    """All pages of the test with their common header."""
    return Section(
        test=PREFIX,
        title="IOPS Test",
        header=common_header(
            run.manifest,
            report_date,
            bar="IOPS Test (REQUIRED) - Report Page",
            title="IOPS - Block Size x RW Mix Matrix",
            setup=_setup_rows(run, results),
            test=_test_rows(run, results),
        ),
        alerts=_alerts(results, standing),
        pages=(*_evidence_pages(run, results), *_result_pages(run, results)),
    )


def _alerts(results: RoundTestResults, standing: Standing) -> tuple[str, ...]:
    lines = [standing.red_line] if standing.red_line else []
    if results.window.is_full and not results.steady:
        lines.append("STEADY STATE NOT REACHED - last five Rounds shown")
    elif not results.window.is_full:
        lines.append(f"STEADY STATE NOT REACHED - {rounds_reason(results)} completed")
    return tuple(lines)


def _demand(results: RoundTestResults) -> str:
    return f"TC {results.conditions.tc} / QD {results.conditions.qd}"


def _steady_rounds(results: RoundTestResults) -> str:
    return results.window.label if results.steady else "NOT REACHED"


def _window_rounds(results: RoundTestResults) -> str:
    return results.window.label if results.steady else f"{results.window.label}, not steady"


def _active_range(results: RoundTestResults) -> str:
    covered = results.conditions.active_range
    if covered.start_pct == 0:
        return f"{covered.end_pct:g} %"
    return f"{covered.start_pct:g} to {covered.end_pct:g} %"


def _setup_rows(run: Run, results: RoundTestResults) -> Rows:
    conditions = results.conditions
    return (
        ("Data Pattern", "RND"),
        ("AR", _active_range(results)),
        ("AR Segments", "N/A"),
        ("Pre Condition 1", f"SEQ {format_block_size(conditions.precondition_block_size_bytes)} W"),
        ("TOIO - TC/QD", _demand(results)),
        ("Duration", precondition_amount(run)),
        ("Pre Condition 2", "IOPS Loop"),
        ("TOIO - TC/QD", _demand(results)),
        ("SS Rounds", _window_rounds(results)),
        ("Note", f"{len(run.ledger)} deviation{'' if len(run.ledger) == 1 else 's'}" if run.ledger else "-"),
    )


def _test_rows(run: Run, results: RoundTestResults) -> Rows:
    target, conditions = run.manifest.target, results.conditions
    start, end = conditions.active_range.bytes_of(target.user_capacity_bytes, target.sector_bytes)
    return (
        ("Data Pattern", "RND"),
        ("AR & Amount", f"{_active_range(results)}, {format_capacity(end - start)}"),
        ("Test Stimulus 1", "IOPS Loop"),
        ("RW Mix", "Outer Loop"),
        ("Block Sizes", "Inner Loop"),
        ("TOIO - TC/QD", _demand(results)),
        ("Steady State", _steady_rounds(results)),
        ("Test Stimulus 2", "-"),
        ("TOIO - TC/QD", "-"),
        ("Steady State", "-"),
    )


def _evidence_pages(run: Run, results: RoundTestResults) -> tuple[Page, ...]:
    """Preparation, convergence and windows: pages 1 to 5 of the sample report."""
    convergence = "IOPS Steady State Convergence Plot - All Block Sizes"
    window = "IOPS Steady State Measurement Window"
    return (
        preparation_page(
            run,
            results,
            f"{PREFIX}-preparation",
            "IOPS Purge Report and Pre-conditioning Report",
            "IOPS Loop",
        ),
        *(
            convergence_page(
                results,
                PlotName(
                    f"{PREFIX}-a1-rw{read_pct}",
                    f"Plot A.1{letter}",
                    f"{convergence} (RW {mix(read_pct)})",
                ),
                _measured_points(results, read_pct),
            )
            for read_pct, letter in ((0, ""), (65, "b"), (100, "c"))
        ),
        share_of_average_page(results, PlotName(f"{PREFIX}-a2", "Plot A.2", window)),
        *(
            window_page(
                results,
                index,
                PlotName(
                    f"{PREFIX}-a{index + 3}",
                    f"Plot A.{index + 3}",
                    f"{window} - {_short_name(variable)}",
                ),
                conditions=_verification_record(results),
            )
            for index, variable in enumerate(results.conditions.tracking)
        ),
    )


def _measured_points(results: RoundTestResults, read_pct: int) -> list[TestPoint]:
    points = (TestPoint(AccessPattern.RANDOM, size, read_pct) for size in BLOCK_SIZES_BYTES)
    return [point for point in points if point in results.cells]


def _short_name(variable: TrackingVariable) -> str:
    """As the specification's titles have it: ``RND/4KiB RW0``."""
    size = format_block_size(variable.block_size_bytes).replace(" ", "")
    return f"{variable.access_pattern.short}/{size} RW{variable.read_pct}"


def _verification_record(results: RoundTestResults) -> str:
    covered = results.conditions.active_range
    return (
        f"ActiveRange = ({covered.start_pct:g},{covered.end_pct:g}); OIO/Thread = {results.conditions.qd}; "
        f"Thread Count = {results.conditions.tc}; Data Pattern = RND [7.3.4]."
    )


def _result_pages(run: Run, results: RoundTestResults) -> tuple[Page, ...]:
    """Table, plots, secondary metrics and our own checks: pages 6 and up."""
    matrix = Matrix(
        results, AccessPattern.RANDOM, BLOCK_SIZES_BYTES, READ_PCTS, PREFIX, _head_line(run, results)
    )
    table = iops_table(matrix, "Plot A.6", run.manifest.target.sector_bytes)
    return (
        tabular_page(matrix, table, "IOPS - ALL RW Mix & BS - Tabular Data", heat_number="Plot X-IOPS-1"),
        plot_2d_page(matrix, table, "Plot A.7", "IOPS - All RW Mix & BS - 2D Plot"),
        columns_3d_page(matrix, table, "Plot A.8", "IOPS - All RW Mix & BS - 3D Columns"),
        response_times_page(matrix, _SECONDARY_TITLE),
        merged_tail_page(matrix, f"{_SECONDARY_TITLE} (2)"),
        repeatability_page(matrix, "Plot X-IOPS-2", "IOPS Round Repeatability"),
    )


def _head_line(run: Run, results: RoundTestResults) -> str:
    """The line above the secondary tables: test id, class, cache, T/Q, data pattern, AR (Plot 7-5)."""
    conditions = results.conditions
    return "  |  ".join(
        (
            brief(printable(run.manifest.test_id)),
            conditions.profile.revision,
            write_cache(run.manifest.write_cache),
            f"T{conditions.tc}/Q{conditions.qd}",
            "DP=RND",
            f"AR={_active_range(results)}",
            f"Rounds {results.window.label}",
        )
    )
