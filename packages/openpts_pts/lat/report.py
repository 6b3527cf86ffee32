"""The report of the latency test: its header fields, its pages, its order (PTS 9.3)."""

from functools import partial
from typing import Final

from msgspec.structs import replace

from openpts.analysis.response_times import ResponseTimes, nines_supported, response_times
from openpts.analysis.uncertainty import scaled
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.curve import OVER_NINES, Curve
from openpts.procedures.kit.header import TestSection, head_line, sections_of
from openpts.procedures.kit.steps import ART, MRT
from openpts.record.reader import Run
from openpts.units import KIB, NS_PER_MS, NS_PER_US, format_block_size, format_duration
from openpts.vocabulary.engine_overhead import (
    KERNEL_THREADS,
    LIMIT_PCT,
    NO_KERNEL_THREADS,
    own_latency_ns,
    share_text,
)
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.stimulus import AccessPattern
from openpts.vocabulary.uncertainty import Uncertainty
from openpts.vocabulary.verdict import RoundPoint
from openpts_pages import cells, ticks
from openpts_pages.kit import PlotName, Required
from openpts_pages.measure import Measure, Measured, Subject, measured
from openpts_pages.model import Page, Verdict
from openpts_pts.lat import LatencyConditions
from openpts_pts.lat.findings import engine_overhead
from openpts_pts.lat.pages import (
    BLOCK_SIZES_KIB,
    READ_PCTS,
    columns_3d_page,
    exceedance_page,
    levels_page,
    measured_points,
    mix_title,
    tabular_page,
)
from openpts_pts.shared.confidence_page import Applied, confidence_page, times_figures
from openpts_pts.shared.preparation_page import loop_preparation_page
from openpts_pts.shared.rounds.matrix_pages import Matrix, tail_cell
from openpts_pts.shared.rounds.results import MatrixCell, RoundTestResults, analyze_cycle, round_figures
from openpts_pts.shared.rounds.words import (
    demand,
    loop_setup_rows,
    loop_test_rows,
    not_steady,
    red_lines,
    short_form_words,
    summary_state,
    verification_record,
)
from openpts_pts.shared.steady_state_pages import convergence_page, steady_state_sentence
from openpts_pts.shared.window_page import window_of, window_page

PREFIX: Final = "lat"
_CONVERGENCE: Final = Required("convergence-rw0", "Plot 9-1")
_TABLE: Final = Required("table", "Plot 9-3")
_HISTOGRAM: Final = Required("clp", "Plot 9-4")
BLOCK_SIZES_BYTES: Final = tuple(round(kib * KIB) for kib in BLOCK_SIZES_KIB)
HISTOGRAM_WORKLOAD: Final = "RND 4 KiB RW0"
_STEPS_PER_NINE: Final = 4
_MOST_NINES: Final = 7


def _tail_uncertainty(cell: MatrixCell) -> Uncertainty:
    if not cell.tail.by_round_ns:
        return Uncertainty(reason="the maximum stands in for the percentile")
    return scaled(cell.tail.uncertainty, 1 / NS_PER_MS)


_MEASURES: Final[tuple[Measure[MatrixCell], ...]] = (
    ART.measure("art", "{name}, ART", with_engine=True),
    Measure(
        "five_nines",
        "{name}, 5 9s",
        "ms",
        tail_cell,
        stands_in=lambda cell: cell.tail.mean_of_rounds_ns is None,
        uncertainty=_tail_uncertainty,
    ),
)


def _window(index: int) -> Required:
    """The plot of a tracking variable's window."""
    return Required(f"window-{index + 1}", "Plot 9-2")


REQUIRED: Final = (_CONVERGENCE, _window(0), _TABLE, _HISTOGRAM)


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    results = analyze_cycle(run, 1)
    measures = _measures(results)
    histogram = run.phase(Phase.HISTOGRAM)
    times = response_times([step.sample for step in histogram]) if histogram else None
    return ReportContent(
        verdicts=(steady_state_sentence(results), *short_form_words(results, measures)),
        measures=measures,
        sections=sections_of(
            run,
            TestSection(
                test=PREFIX,
                title="Latency Test",
                bar="Latency Test (REQUIRED) - Report Page",
                heading="LAT - Response Time OIO=1",
                setup=loop_setup_rows(run, results, "LAT Loop"),
                test_rows=loop_test_rows(
                    run, results, "LAT Loop", second=f"{HISTOGRAM_WORKLOAD}, {_length(times)}"
                ),
                red_lines=red_lines(results),
                pages=lambda: (*_evidence_pages(run, results), *_result_pages(run, results, times)),
            ),
        ),
        figures=lambda: {**round_figures(results), "histogram": times_figures(times, _nines(run))},
        curves=lambda: () if times is None or not times.recorded_ios else (_levels(times),),
    )


def _levels(times: ResponseTimes) -> Curve:
    """Four levels to each nine, evenly spaced on the axis, as far as the I/Os suffice."""
    nines = min(_MOST_NINES, nines_supported(times.recorded_ios))
    levels_pct = [
        round(100 - 100 * 10 ** (-step / _STEPS_PER_NINE), 12)
        for step in range(1, _STEPS_PER_NINE * nines + 1)
    ]
    found = [(level_pct, times.percentile_ns(level_pct)) for level_pct in levels_pct]
    return Curve(
        "levels",
        "Response Time v Confidence Level - RND 4KiB RW0",
        "response time (ms) that so many per cent of the I/Os do not exceed",
        OVER_NINES,
        partial(ticks.log_axis, "Response time (ms)"),
        tuple((level_pct, value_ns) for level_pct, value_ns in found if value_ns is not None),
        cells.latency,
    )


def _nines(run: Run) -> int | None:
    conditions = run.manifest.conditions
    return conditions.nines if isinstance(conditions, LatencyConditions) else None


def _measures(results: RoundTestResults) -> tuple[Measured, ...]:
    """RND 4 KiB at RW0, RW65 and RW100."""
    points = [RoundPoint(AccessPattern.RANDOM, 4 * KIB, read_pct) for read_pct in READ_PCTS]
    steady, state = summary_state(results), not_steady(results)
    return tuple(
        one
        for point in points
        for one in measured(
            _MEASURES, results.cells.get(point), Subject(str(point), steady=steady, state=state)
        )
    )


def _length(times: ResponseTimes | None) -> str:
    return "NOT RUN" if times is None else format_duration(times.elapsed_ns)


def _evidence_pages(run: Run, results: RoundTestResults) -> tuple[Page, ...]:
    """Preparation, convergence, window."""
    matrix = _matrix(run, results)
    return (
        loop_preparation_page(
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
                _window(index).named(
                    PREFIX,
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
        (_CONVERGENCE, 0, "Average", ART),
        (Required("convergence-rw0-maximum", "Plot 9-1b"), 0, "Maximum", MRT),
        (Required("convergence-rw65", "Plot 9-1c"), 65, "Average", ART),
        (Required("convergence-rw100", "Plot 9-1d"), 100, "Average", ART),
    )
    pages = [
        convergence_page(
            results,
            plot.named(PREFIX, f"Steady State Convergence Plot - {what} Latency - {mix_title(read_pct)}"),
            measured_points(matrix, read_pct),
            metric,
        )
        for plot, read_pct, what, metric in shown
    ]
    return (pages[0], *(replace(page, mandatory=False) for page in pages[1:]))


def _result_pages(run: Run, results: RoundTestResults, times: ResponseTimes | None) -> tuple[Page, ...]:
    """Table, histogram, and what may be added."""
    matrix = _matrix(run, results)
    return (
        tabular_page(
            matrix,
            _TABLE.named(PREFIX, "Ave, 5 9s, Max Response Times & IOPS - ALL RW Mix & BS - Tabular Data"),
            run.manifest.target.sector_bytes,
            host_part(run, results),
        ),
        confidence_page(
            times,
            Applied(HISTOGRAM_WORKLOAD, demand(results), _nines(run)),
            _HISTOGRAM.named(PREFIX, "Response Time Histogram - Confidence Level Plot - RND 4KiB RW0"),
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
            ART.cell,
        ),
        columns_3d_page(
            matrix,
            PlotName(f"{PREFIX}-3d-maximum", "Plot 9-6", "Maximum Latency v BS and R/W Mix - 3D Plot"),
            "Maximum",
            MRT.cell,
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
    line = head_line(
        run, Phase.ROUND, demand=demanded, more=f"Rounds {results.window.label.replace(' ', '')}"
    )
    return Matrix(results, AccessPattern.RANDOM, BLOCK_SIZES_BYTES, READ_PCTS, PREFIX, line)


def host_part(run: Run, results: RoundTestResults) -> tuple[Verdict, ...]:
    """The engine's own share of the averages, and whether kernel threads carry out the target's I/O.

    Empty where the record does not have them: of simulated drives, and in records from before they were
    measured.
    """
    return (*_own_share(run, results), *_kernel_threads(run))


def _own_share(run: Run, results: RoundTestResults) -> tuple[Verdict, ...]:
    share = engine_overhead(own_latency_ns(run.manifest.engine), results)
    if share is None:
        return ()
    point, largest_pct = share.largest
    text = (
        f"Own share: {share.own_ns / NS_PER_US:.1f} us (interrupt, wake-up and engine) of each response time "
        f"for which the thread sleeps, {share_text(share.smallest_pct)} to {share_text(largest_pct)} of the "
        f"averages (most: {point})."
    )
    return (Verdict(text, "fail" if largest_pct > LIMIT_PCT else ""),)


def _kernel_threads(run: Run) -> tuple[Verdict, ...]:
    fact = run.manifest.dut.get(KERNEL_THREADS)
    if fact is None or fact.value in {None, NO_KERNEL_THREADS}:
        return ()
    return (
        Verdict(
            f"Kernel threads carry out the target's I/O ({fact.value}): each response time "
            "includes two hand-overs between threads, whose duration depends on the scheduler."
        ),
    )
