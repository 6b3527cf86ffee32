"""The report of the latency test: its header fields, its pages, its order (PTS 9.3)."""

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from functools import partial
from math import fsum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.latency import (
    ResponseTimes,
    ios_needed,
    nines_percentile,
    nines_supported,
    response_times,
)
from openpts.analysis.uncertainty import scaled
from openpts.procedures.kit.content import OVER_NINES, Curve, ReportContent
from openpts.procedures.kit.header import TestSection, data_text, head_line, sections_of
from openpts.procedures.kit.steps import ART, IOPS, MRT
from openpts.record.reader import Run
from openpts.units import (
    KIB,
    NS_PER_MS,
    NS_PER_US,
    block_size_kib,
    format_block_size,
    format_duration,
    format_latency_ms,
)
from openpts.vocabulary.engine_overhead import (
    KERNEL_THREADS,
    LIMIT_PCT,
    NO_KERNEL_THREADS,
    own_latency_ns,
    share_text,
)
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import AccessPattern
from openpts.vocabulary.uncertainty import Uncertainty
from openpts.vocabulary.verdict import RoundPoint
from openpts_pages import cells, ticks
from openpts_pages.kit import (
    NO_ROUND,
    Plot,
    PlotName,
    Required,
    category_axis,
    heads_of,
    page,
    plot_page,
    rows_table,
    values_of,
)
from openpts_pages.measure import Measure, Measured, Subject, measured
from openpts_pages.model import Cell, Column, Page, PlotRule, Row, Series, Table, Verdict
from openpts_pts.lat import LatencyConditions
from openpts_pts.lat.findings import engine_overhead
from openpts_pts.shared.confidence_page import Applied, confidence_page, times_figures
from openpts_pts.shared.preparation_page import loop_preparation_page
from openpts_pts.shared.rounds.matrix_pages import (
    Matrix,
    absences_note,
    matrix_table,
    mix,
    mix_series,
    tail_cell,
)
from openpts_pts.shared.rounds.results import (
    MINIMUM,
    TAIL_PERCENTILE,
    MatrixCell,
    RoundTestResults,
    analyze_cycle,
    round_figures,
)
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
from openpts_pts.shared.steady_state_pages import (
    convergence_page,
    steady_state_sentence,
    window_of,
    window_page,
)

SURE_COUNT_FACTOR: Final = 1.5
_BLOCK_SIZE_BYTES: Final = 4 * KIB
_BELOW_ONE_NINE: Final = (10.0, 50.0)
_COLORS: Final = (3, 4, 2, 1)


class _Curve(Struct, frozen=True):
    """A line of the plot; ``words`` is a sentence on the I/Os behind it."""

    label: str
    words: str
    times: ResponseTimes

    def is_sure(self, level_pct: float) -> bool:
        """Whether the I/Os are those that the specification recommends for a level (9.2 step 3.3.3)."""
        return self.times.recorded_ios >= SURE_COUNT_FACTOR * ios_needed(level_pct)


class _PlotColumn(Struct, frozen=True):
    """A column of the table, which is a line of the plot."""

    label: str
    cells: tuple[Cell, ...]
    color: int
    style: str = "measured"


def levels_page(matrix: Matrix, histogram: ResponseTimes | None, name: PlotName) -> Page:
    """RW 0, 65 and 100 at 4 KiB over the window, the long histogram beside them; dashed where N is low."""
    curves = [curve for curve in _curves(matrix, histogram) if curve.times.recorded_ios]
    if not curves:
        return page(name, NO_ROUND, mandatory=False)
    most = max(nines_supported(curve.times.recorded_ios) for curve in curves)
    levels = _levels(most)
    columns = [column for n, curve in enumerate(curves) for column in _columns(curve, _COLORS[n], levels)]
    shown = _table(f"{name.id}-values", columns, levels)
    plot = Plot(
        x=ticks.nines_axis("Confidence level (%)", max(2, most)),
        y=ticks.log_axis("Response time (ms)", values_of(shown)),
        series=tuple(
            Series(one.label, "column", (n,), one.color, style=one.style) for n, one in enumerate(columns)
        ),
        alt=f"{len(curves)} curves at {format_block_size(_BLOCK_SIZE_BYTES)}, from {{low}} to {{high}} ms.",
        decimals=None,
        height_px=310,
    )
    return page(name, plot.over(name, shown), Verdict(_sentence(curves)), shown, mandatory=False)


def _curves(matrix: Matrix, histogram: ResponseTimes | None) -> list[_Curve]:
    results = matrix.results
    rounds = results.window.select(results.rounds)
    curves = []
    for read_pct in matrix.read_pcts:
        point = RoundPoint(matrix.access_pattern, _BLOCK_SIZE_BYTES, read_pct)
        samples = [samples[point] for samples in rounds if point in samples]
        if samples:
            words = f"Rounds {results.window.label} together"
            curves.append(_Curve(f"RW {read_pct}", words, response_times(samples)))
    if histogram is not None:
        length = format_duration(histogram.elapsed_ns)
        curves.append(_Curve("RW 0, histogram", f"the histogram of {length}", histogram))
    return curves


def _levels(most_nines: int) -> tuple[float, ...]:
    """Levels at which curves have points: each count of nines, and half way to the next one."""
    found = [*_BELOW_ONE_NINE, 90.0]
    for nines in range(2, most_nines + 1):
        half_way = 100 - (100 - nines_percentile(nines - 1)) / 2
        found += [round(half_way, 12), nines_percentile(nines)]
    return tuple(found)


def _columns(curve: _Curve, color: int, levels: Sequence[float]) -> Iterator[_PlotColumn]:
    """What is sure of the curve, and beside it what rests on a low N, if anything does."""
    sure, low = zip(*(_pair(curve, level, levels) for level in levels), strict=True)
    of_all = (cells.latency(curve.times.max_latency_ns), Cell(f"{curve.times.recorded_ios:,}"))
    yield _PlotColumn(curve.label, (*sure, *of_all), color)
    if any(cell.value is not None for cell in low):
        yield _PlotColumn(f"{curve.label}, low n", (*low, Cell("-"), Cell("-")), color, style="dashed")


def _table(table_id: str, columns: Sequence[_PlotColumn], levels: Sequence[float]) -> Table:
    """A row for each level, and two for all I/Os."""
    heads = [*(_level_cell(level) for level in levels), Cell("100 (MRT)"), Cell("N of I/Os")]
    return rows_table(
        table_id,
        f"Values plotted: response time (ms) at {format_block_size(_BLOCK_SIZE_BYTES)}",
        ("Confidence level (%):0.9", *(Column(column.label) for column in columns)),
        ((head, *(column.cells[number] for column in columns)) for number, head in enumerate(heads)),
        note="N nines take 10^N I/Os. Low n: fewer than 1.5 times that, drawn dashed (9.2 step 3.3.3).",
    )


def _level_cell(level: float) -> Cell:
    return Cell(f"{level:.10f}".rstrip("0").rstrip("."), level)


def _pair(curve: _Curve, level: float, levels: Sequence[float]) -> tuple[Cell, Cell]:
    """The response time where the I/Os suffice; beside it where they barely do, from the last sure one on."""
    value_ns = curve.times.percentile_ns(level)
    if value_ns is None:
        return Cell("-"), Cell("-")
    if not curve.is_sure(level):
        return Cell("-"), cells.latency(value_ns)
    after = levels[levels.index(level) + 1 :]
    goes_on = bool(after) and not curve.is_sure(after[0]) and curve.times.percentile_ns(after[0]) is not None
    return cells.latency(value_ns), cells.latency(value_ns) if goes_on else Cell("-")


def _sentence(curves: Sequence[_Curve]) -> str:
    reported = "; ".join(
        f"{curve.label}: {curve.words}, N = {curve.times.recorded_ios:,}" for curve in curves
    )
    return f"Share of the I/Os that take no longer than the response time. {reported}."


READ_PCTS: Final = (0, 65, 100)
BLOCK_SIZES_KIB: Final = (0.5, 4, 8)


def tabular_page(
    matrix: Matrix, name: PlotName, sector_bytes: int, host_part: tuple[Verdict, ...] = ()
) -> Page:
    """IOPS, ART, 99.999 % and MRT of all nine elements (Plot 9-3), with N below.

    ``host_part``: verdicts on the host's share of the response times.
    """
    table = rows_table(
        f"{name.id}-values",
        f"{name.number} - {matrix.results.window.averaging}; MRT: the largest of them",
        (
            Column(f"DP={data_text(matrix.results.conditions)}", align="left", width=0.8),
            "RW mix:<0.6",
            *(Column(f"{block_size_kib(size)} KiB", size / 1024) for size in matrix.block_sizes_bytes),
        ),
        (
            (
                head if read_pct == matrix.read_pcts[0] else "",
                f"RW {read_pct}",
                *(matrix.shown(to_cell, size, read_pct) for size in matrix.block_sizes_bytes),
            )
            for head, to_cell in _BLOCKS
            for read_pct in matrix.read_pcts
        ),
        note="99.999 %: mean of the Rounds' percentiles, each of which needs "
        f"{ios_needed(TAIL_PERCENTILE):,} I/Os; with fewer, the cell has the maximum and N, the smallest "
        "Round's count. " + absences_note(matrix, sector_bytes),
    )
    merged = matrix_table(
        matrix,
        "merged-tail",
        "99.999 % Response Time (ms) of all Rounds' I/Os together (ours, beside the mean)",
        _merged,
    )
    minimum = matrix_table(
        matrix, "minimum", "Minimum Response Time (ms): minimum of the Rounds (ours)", MINIMUM.cell
    )
    return Page(
        name.id, name.title, (Verdict(matrix.head_line), table, *host_part, merged, minimum), mandatory=True
    )


def _merged(cell: MatrixCell) -> Cell:
    tail = cell.tail
    return (
        cells.missing(f"N = {tail.merged_ios:,}") if tail.merged_ns is None else cells.latency(tail.merged_ns)
    )


_BLOCKS: Final[Sequence[tuple[str, Callable[[MatrixCell], Cell]]]] = (
    (IOPS.label, IOPS.cell),
    (ART.label, ART.cell),
    ("99.999 % (ms)", tail_cell),
    (MRT.label, MRT.cell),
    ("N of I/Os", lambda cell: Cell(f"{cell.tail.merged_ios:,}", float(cell.tail.merged_ios))),
)


def columns_3d_page(matrix: Matrix, name: PlotName, what: str, to_cell: Callable[[MatrixCell], Cell]) -> Page:
    """Nine columns of response time over block size and R/W mix (9.3.6, optional)."""
    shown = matrix_table(matrix, f"{name.id}-values", f"{what} response time (ms)", to_cell)
    return plot_page(
        name,
        None,
        lambda shown: Plot(
            kind="columns3d",
            x=category_axis("Block size (KiB)", shown),
            y=lambda values: ticks.linear_axis(f"{what} response time (ms)", 0, max(values)),
            series=mix_series(shown),
            alt="{count} columns, from {low} to {high} ms.",
            decimals=None,
            palette="mix",
            depth_title="R/W mix %",
            height_px=400,
        ),
        shown,
        mandatory=False,
    )


def exceedance_page(times: ResponseTimes | None, name: PlotName, workload: str) -> Page:
    """The share of I/Os slower than a response time, and of the run's time spent in them (ours)."""
    if times is None or not times.recorded_ios:
        return page(name, Verdict("Exceedance: n/a (no histogram).", "fail"), mandatory=False)
    shown = _exceedance_table(f"{name.id}-values", times)
    shares = [share for share in values_of(shown) if share]
    if len(shown.rows) < 2 or not shares:
        return page(name, Verdict("Exceedance: n/a (one response time only)."), shown, mandatory=False)
    plot = Plot(
        x=ticks.log_axis("Response time (ms)", [edge for edge in heads_of(shown) if edge]),
        y=ticks.log_axis("Slower than that (%)", shares),
        series=(
            Series("by I/O count", "column", (0,), 2, style="line"),
            Series("by time", "column", (1,), 3, style="line"),
        ),
        alt=f"from {_share_text(max(shares))} % down to {_share_text(min(shares))} % of the "
        "I/Os or of the time.",
        rules=(PlotRule("0.001 % (5 9s)", 0.001, "limit"),) if min(shares) < 0.001 else (),
    )
    sentence = Verdict(
        f"{workload}: share of the I/Os that took longer than a response time, and share of the time that "
        "all I/Os took together."
    )
    return page(name, plot.over(name, shown), sentence, shown, mandatory=False)


def _exceedance_table(table_id: str, times: ResponseTimes) -> Table:
    """Time by the middle of each bin: the histogram is no finer."""
    middles = [(found.low_ns * found.high_ns) ** 0.5 * found.ios for found in times.bins]
    spent = fsum(middles)
    rows = []
    for index, found in enumerate(times.bins):
        slower_ios, slower_time = 100 - found.level_pct, 100 * fsum(middles[index + 1 :]) / spent
        rows.append(
            Row(
                Cell(format_latency_ms(found.high_ns), found.high_ns / NS_PER_MS),
                tuple(Cell(_share_text(share), share or None) for share in (slower_ios, slower_time)),
            )
        )
    return rows_table(
        table_id,
        "Values plotted: share slower than a response time",
        "Response time (ms) | of the I/Os (%) | of the time (%)",
        rows[:-1],
        note="Shares of time rest on the middle of each bin, 20 bins to a decade.",
        printed=False,
    )


def _share_text(share_pct: float) -> str:
    """Three significant digits, without an exponent."""
    return f"{Decimal(f'{share_pct:.2e}'):f}"


def measured_points(matrix: Matrix, read_pct: int) -> list[RoundPoint]:
    """The sizes measured at a mix, small to large."""
    points = (RoundPoint(AccessPattern.RANDOM, size, read_pct) for size in matrix.block_sizes_bytes)
    return [point for point in points if point in matrix.results.cells]


def mix_title(read_pct: int) -> str:
    """As the specification's titles have it for all writes, and likewise for the others."""
    return {0: "100% Writes", 100: "100% Reads"}.get(read_pct, f"R/W {mix(read_pct)}")


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
        curves=lambda: () if times is None or not times.recorded_ios else (_confidence_curve(times),),
    )


def _confidence_curve(times: ResponseTimes) -> Curve:
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
