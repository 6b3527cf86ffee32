"""The report of the latency test: its header fields, its pages, its order (PTS 9.3)."""

from typing import Final

from msgspec.structs import replace

from openpts.analysis.matrix import MatrixCell
from openpts.analysis.response_times import ResponseTimes, response_times
from openpts.analysis.round_test import RoundTestResults
from openpts.pages.measure import Measure, Measured, Subject, measured
from openpts.pages.model import Page, Section
from openpts.record.reader import Run
from openpts.report.confidence_page import Applied, confidence_page
from openpts.report.content import TestContent
from openpts.report.header import Rows, common_header
from openpts.report.header_rows import (
    active_range_amount_text,
    active_range_text,
    data_text,
    demand_text,
    deviations_text,
    head_line,
    segments_text,
)
from openpts.report.histogram_figures import times_figures
from openpts.report.host_part import host_part
from openpts.report.latency_pages import (
    BLOCK_SIZES_KIB,
    READ_PCTS,
    columns_3d_page,
    exceedance_page,
    measured_points,
    mix_title,
    tabular_page,
)
from openpts.report.levels_page import levels_page
from openpts.report.matrix_pages import Matrix
from openpts.report.metric import MAX_LATENCY, METRICS
from openpts.report.preparation_page import precondition_amount, preparation_page
from openpts.report.round_results import analyse_cycle, round_figures
from openpts.report.round_words import (
    alerts,
    demand,
    not_steady,
    steady_rounds,
    summary_state,
    verification_record,
    window_rounds,
)
from openpts.report.secondary_pages import art_cell, mrt_cell, tail_cell
from openpts.report.standing import Standing
from openpts.report.steady_state_pages import PlotName, convergence_page, steady_state_sentence
from openpts.report.window_page import window_of, window_page
from openpts.units import KIB, format_block_size, format_duration
from openpts.vocabulary.conditions import LatencyConditions
from openpts.vocabulary.part import Part
from openpts.vocabulary.stimulus import AccessPattern
from openpts.vocabulary.stop import SteadyFigure
from openpts.vocabulary.verdict import TestPoint

PREFIX: Final = "lat"
BLOCK_SIZES_BYTES: Final = tuple(round(kib * KIB) for kib in BLOCK_SIZES_KIB)
HISTOGRAM_WORKLOAD: Final = "RND 4 KiB RW0"
_MEAN_LATENCY: Final = METRICS[SteadyFigure.MEAN_LATENCY]

_MEASURES: Final[tuple[Measure[MatrixCell], ...]] = (
    Measure("art", "{name}, ART", "ms", art_cell),
    Measure(
        "five_nines",
        "{name}, 5 9s",
        "ms",
        tail_cell,
        stands_in=lambda cell: cell.tail.mean_of_rounds_ns is None,
    ),
)


def report(run: Run) -> TestContent:
    """The test's part of a report, from the samples in the record."""
    results = analyse_cycle(run, 1)
    histogram = run.part(Part.HISTOGRAM)
    times = response_times([step.sample for step in histogram]) if histogram else None
    return TestContent(
        verdicts=(steady_state_sentence(results),),
        measures=_measures(results),
        sections=lambda standing, report_date: (_section(run, results, times, standing, report_date),),
        figures={**round_figures(results), "histogram": times_figures(times, _nines(run))},
    )


def _nines(run: Run) -> int | None:
    conditions = run.manifest.conditions
    return conditions.nines if isinstance(conditions, LatencyConditions) else None


def _measures(results: RoundTestResults) -> tuple[Measured, ...]:
    """RND 4 KiB at RW0, RW65 and RW100."""
    points = [TestPoint(AccessPattern.RANDOM, 4 * KIB, read_pct) for read_pct in READ_PCTS]
    steady, state = summary_state(results), not_steady(results)
    return tuple(
        one
        for point in points
        for one in measured(
            _MEASURES, results.cells.get(point), Subject(str(point), steady=steady, state=state)
        )
    )


def _section(
    run: Run, results: RoundTestResults, times: ResponseTimes | None, standing: Standing, report_date: str
) -> Section:
    """All pages of the test with their common header."""
    return Section(
        test=PREFIX,
        title="Latency Test",
        header=common_header(
            run.manifest,
            report_date,
            bar="Latency Test (REQUIRED) - Report Page",
            title="LAT - Response Time OIO=1",
            setup=_setup_rows(run, results),
            test=_test_rows(run, results, times),
        ),
        alerts=alerts(results, standing),
        pages=(*_evidence_pages(run, results), *_result_pages(run, results, times)),
    )


def _setup_rows(run: Run, results: RoundTestResults) -> Rows:
    conditions = results.conditions
    return (
        ("Data Pattern", data_text(conditions)),
        ("AR", active_range_text(conditions)),
        ("AR Segments", segments_text(conditions)),
        ("Pre Condition 1", f"SEQ {format_block_size(conditions.precondition_block_size_bytes)} W"),
        (
            "TOIO - TC/QD",
            demand_text(
                conditions.precondition_tc or conditions.tc, conditions.precondition_qd or conditions.qd
            ),
        ),
        ("Duration", precondition_amount(run)),
        ("Pre Condition 2", "LAT Loop"),
        ("TOIO - TC/QD", demand(results)),
        ("SS Rounds", window_rounds(results)),
        ("Note", deviations_text(run)),
    )


def _test_rows(run: Run, results: RoundTestResults, times: ResponseTimes | None) -> Rows:
    length = "NOT RUN" if times is None else format_duration(times.elapsed_ns)
    return (
        ("Data Pattern", data_text(results.conditions)),
        ("AR & Amount", active_range_amount_text(run)),
        ("Test Stimulus 1", "LAT Loop"),
        ("RW Mix", "Outer Loop"),
        ("Block Sizes", "Inner Loop"),
        ("TOIO - TC/QD", demand(results)),
        ("Steady State", steady_rounds(results)),
        ("Test Stimulus 2", f"{HISTOGRAM_WORKLOAD}, {length}"),
        ("TOIO - TC/QD", demand(results)),
        ("Steady State", "N/A"),
    )


def _evidence_pages(run: Run, results: RoundTestResults) -> tuple[Page, ...]:
    """Preparation, convergence, window (PTS-LAT-22 to 31)."""
    matrix = _matrix(run, results)
    return (
        preparation_page(
            run,
            results,
            f"{PREFIX}-preparation",
            "LAT Purge Report and Pre-conditioning Report",
            loop_name="LAT Loop",
        ),
        *_convergence_pages(results, matrix),
        *(
            window_page(
                window_of(results, index, verification_record(results, "9.3.4")),
                PlotName(
                    f"{PREFIX}-window-{index + 1}",
                    "Plot 9-2",
                    f"Steady State Measurement Window - RND/{format_block_size(v.block_size_bytes)}".replace(
                        " KiB", "KiB"
                    ),
                ),
            )
            for index, v in enumerate(results.conditions.tracking)
        ),
    )


def _convergence_pages(results: RoundTestResults, matrix: Matrix) -> tuple[Page, ...]:
    """Averages of the writes, which the specification asks for; then their maxima and the other mixes."""
    shown = (
        (0, "Average", _MEAN_LATENCY),
        (0, "Maximum", MAX_LATENCY),
        (65, "Average", _MEAN_LATENCY),
        (100, "Average", _MEAN_LATENCY),
    )
    pages = [
        convergence_page(
            results,
            PlotName(
                f"{PREFIX}-convergence-rw{read_pct}{'' if what == 'Average' else '-maximum'}",
                f"Plot 9-1{letter}",
                f"Steady State Convergence Plot - {what} Latency - {mix_title(read_pct)}",
            ),
            measured_points(matrix, read_pct),
            metric,
        )
        for (read_pct, what, metric), letter in zip(shown, ("", "b", "c", "d"), strict=True)
    ]
    return (pages[0], *(replace(page, mandatory=False) for page in pages[1:]))


def _result_pages(run: Run, results: RoundTestResults, times: ResponseTimes | None) -> tuple[Page, ...]:
    """Table, histogram, and what may be added."""
    matrix = _matrix(run, results)
    return (
        tabular_page(
            matrix,
            PlotName(
                f"{PREFIX}-table",
                "Plot 9-3",
                "Ave, 5 9s, Max Response Times & IOPS - ALL RW Mix & BS - Tabular Data",
            ),
            run.manifest.target.sector_bytes,
            host_part(run, results),
        ),
        confidence_page(
            times,
            Applied(HISTOGRAM_WORKLOAD, demand(results), _nines(run)),
            PlotName(
                f"{PREFIX}-clp",
                "Plot 9-4",
                "Response Time Histogram - Confidence Level Plot - RND 4KiB RW0",
            ),
        ),
        levels_page(
            matrix,
            times,
            PlotName(f"{PREFIX}-levels", "Plot X-LAT-1", "LAT Response Time v Confidence Level"),
        ),
        columns_3d_page(
            matrix,
            PlotName(f"{PREFIX}-3d-average", "Plot 9-5", "Average Latency v BS and R/W Mix - 3D Plot"),
            "Average",
            art_cell,
        ),
        columns_3d_page(
            matrix,
            PlotName(f"{PREFIX}-3d-maximum", "Plot 9-6", "Maximum Latency v BS and R/W Mix - 3D Plot"),
            "Maximum",
            mrt_cell,
        ),
        exceedance_page(
            times,
            PlotName(f"{PREFIX}-exceedance", "Plot X-LAT-2", "LAT Response Time Exceedance"),
            HISTOGRAM_WORKLOAD,
        ),
    )


def _matrix(run: Run, results: RoundTestResults) -> Matrix:
    conditions = results.conditions
    demanded = f"T{conditions.tc}/Q{conditions.qd}"
    line = head_line(run, Part.ROUND, demand=demanded, more=f"Rounds {results.window.label.replace(' ', '')}")
    return Matrix(results, AccessPattern.RANDOM, BLOCK_SIZES_BYTES, READ_PCTS, PREFIX, line)
