"""The report of the latency test: its header fields, its pages, its order (PTS 9.3)."""

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from functools import partial
from math import fsum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.latency import (
    BUCKET_WIDTH,
    ResponseTimes,
    ios_needed,
    nines_percentile,
    nines_supported,
    response_times,
)
from openpts.analysis.uncertainty import WIDTH, Block, of_rounds, rectangular, with_components
from openpts.procedures.kit import header
from openpts.procedures.kit.content import OVER_NINES, Curve, ReportContent
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
from openpts.vocabulary import engine_overhead as overhead
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import AccessPattern
from openpts.vocabulary.uncertainty import Uncertainty
from openpts.vocabulary.verdict import RoundPoint
from openpts_pages import cells, kit, ticks
from openpts_pages.kit import Plot, PlotName, Required, page, rows_table, values_of
from openpts_pages.measure import Measure, Measured, measured
from openpts_pages.model import Cell, Column, Page, PlotRule, Row, Series, Verdict
from openpts_pts.lat import LatencyConditions
from openpts_pts.lat.findings import engine_overhead
from openpts_pts.shared.confidence_page import Applied, confidence_page, times_figures
from openpts_pts.shared.preparation_page import loop_preparation_page
from openpts_pts.shared.rounds import results as rounds
from openpts_pts.shared.rounds.matrix_pages import Matrix, low_count, mix, mix_series, tail_cell
from openpts_pts.shared.rounds.report import RoundReport

_PREFIX: Final = "lat"
_READ_PCTS: Final = (0, 65, 100)
_KEY_READ_PCTS: Final = (0, 100, 65)
_ASKED_NINES: Final = 3
_BLOCK_SIZES_BYTES: Final = (KIB // 2, 4 * KIB, 8 * KIB)
_HISTOGRAM_WORKLOAD: Final = "RND 4 KiB RW0"
_SURE_COUNT_FACTOR: Final = 1.5
"""So many times the I/Os that a level takes are what the specification recommends (9.2 step 3.3.3)."""
_KEY_SIZE_BYTES: Final = 4 * KIB
_COLORS: Final = (3, 4, 2, 1)
_STEPS_PER_NINE, _MOST_NINES = 4, 7

_CONVERGENCE: Final = Required("convergence-rw0", "Plot 9-1")
_WINDOW: Final = Required("window-1", "Plot 9-2")
_TABLE: Final = Required("table", "Plot 9-3")
_HISTOGRAM: Final = Required("clp", "Plot 9-4")
REQUIRED: Final = (_CONVERGENCE, _WINDOW, _TABLE, _HISTOGRAM)


def _nines_cell(cell: rounds.MatrixCell, nines: int) -> Cell:
    """A percentile of all Rounds' I/Os together, if they suffice for it."""
    merged, level_pct = cell.tail.merged, nines_percentile(nines)
    value_ns = merged.percentile_ns(level_pct)
    if value_ns is None:
        return cells.missing(f"N = {merged.recorded_ios:,}")
    return cells.latency(value_ns, note=low_count(merged.recorded_ios, level_pct))


def _nines(key: str, nines: int) -> Measure[rounds.MatrixCell]:
    """The same percentile as a key value: that of Plot 9-3 is a mean of percentiles, which is none itself."""

    def uncertainty(cell: rounds.MatrixCell) -> Uncertainty:
        level_pct, blocks = nines_percentile(nines), []
        for one in cell.samples:
            value_ns = response_times([one]).percentile_ns(level_pct)
            if value_ns is None:
                return Uncertainty(reason="a Round has too few I/Os for its own percentile")
            blocks.append(Block(one.started_ns, one.elapsed_ns, value_ns / NS_PER_MS))
        merged_ms = (cell.tail.merged.percentile_ns(level_pct) or 0) / NS_PER_MS
        return with_components(of_rounds(blocks), rectangular(WIDTH, merged_ms * BUCKET_WIDTH))

    shown = partial(_nines_cell, nines=nines)
    headline = 6 if nines == _ASKED_NINES else 0
    return Measure(key, f"{{name}}, {nines} 9s", "ms", shown, uncertainty=uncertainty, headline=headline)


_merged_tail: Final = partial(_nines_cell, nines=5)


_MEASURES: Final[tuple[Measure[rounds.MatrixCell], ...]] = (
    ART.measure("art", "{name}, ART", with_engine=True),
    _nines("three_nines", _ASKED_NINES),
    _nines("five_nines", 5),
)
_TABULAR: Final[dict[str, Callable[[rounds.MatrixCell], Cell]]] = {
    IOPS.label: IOPS.cell,
    ART.label: ART.cell,
    "99.999 % (ms)": tail_cell,
    MRT.label: MRT.cell,
    "N of I/Os": lambda cell: cells.count(cell.tail.merged.recorded_ios),
}


class _Curve(Struct, frozen=True):
    """A line of the plot of levels; ``source`` is a sentence on the I/Os behind it."""

    label: str
    source: str
    times: ResponseTimes

    def is_sure(self, level_pct: float) -> bool:
        """Whether the I/Os are as many as the specification recommends for a level."""
        return self.times.recorded_ios >= _SURE_COUNT_FACTOR * ios_needed(level_pct)

    def pair(self, level: float, levels: Sequence[float]) -> tuple[Cell, Cell]:
        """The response time where the I/Os suffice, and where they barely do, which joins the former."""
        value_ns = self.times.percentile_ns(level)
        if value_ns is None:
            return Cell("-"), Cell("-")
        if not self.is_sure(level):
            return Cell("-"), cells.latency(value_ns)
        after = levels[levels.index(level) + 1 :]
        continues = after and not self.is_sure(after[0]) and self.times.percentile_ns(after[0]) is not None
        return cells.latency(value_ns), cells.latency(value_ns) if continues else Cell("-")


class LatencyReport(RoundReport, frozen=True):
    """What a run found, and its pages; ``times`` are those of the long histogram, None if it never began."""

    times: ResponseTimes | None

    @property
    def nines(self) -> int | None:
        """The nines for which the histogram has to have I/Os."""
        conditions = self.run.manifest.conditions
        return conditions.nines if isinstance(conditions, LatencyConditions) else None

    @property
    def matrix(self) -> Matrix:
        """All mixes and sizes of 9.2."""
        pattern, line = AccessPattern.RANDOM, self.head_line
        return Matrix(self.results, pattern, _BLOCK_SIZES_BYTES, _READ_PCTS, _PREFIX, line)

    def measures(self) -> Iterator[Measured]:
        """RND 4 KiB writes, reads and RW65; a percentile with too few I/Os is no key value."""
        for read_pct in _KEY_READ_PCTS:
            point = RoundPoint(AccessPattern.RANDOM, _KEY_SIZE_BYTES, read_pct)
            cell = self.results.cells.get(point)
            for one in measured(_MEASURES, cell, self.subject(str(point))):
                known = one.value is not None or one.key.endswith(".art")
                headline = one.headline if read_pct == 100 else 0
                yield replace(one, is_key=known, on_cover=known, headline=headline)

    def pages(self) -> Iterator[Page]:
        """In the order of 9.3, then what may be added."""
        results, matrix = self.results, self.matrix
        title = "LAT Purge Report and Pre-conditioning Report"
        yield loop_preparation_page(self.run, results, f"{_PREFIX}-preparation", title, loop_name="LAT Loop")
        yield from self.convergences()
        for index, variable in enumerate(results.conditions.tracking):
            size = format_block_size(variable.block_size_bytes)
            plot = replace(_WINDOW, key=f"window-{index + 1}")
            name = f"Steady State Measurement Window - RND/{size}".replace(" KiB", "KiB")
            yield self.window(index, "9.3.4", plot.named(_PREFIX, name))
        yield self.table(matrix)
        yield confidence_page(
            self.times,
            Applied(_HISTOGRAM_WORKLOAD, self.demand, self.nines),
            _HISTOGRAM.named(_PREFIX, "Response Time Histogram - Confidence Level Plot - RND 4KiB RW0"),
        )
        yield self.levels()
        yield _columns_page(matrix, "Plot 9-5", "Average", ART.cell)
        yield _columns_page(matrix, "Plot 9-6", "Maximum", MRT.cell)
        yield self.exceedance()

    def convergences(self) -> Iterator[Page]:
        """Averages of the writes, which the specification asks for; then their maxima and the other mixes."""
        for plot, read_pct, what, metric in (
            (_CONVERGENCE, 0, "Average", ART),
            (Required("convergence-rw0-maximum", "Plot 9-1b"), 0, "Maximum", MRT),
            (Required("convergence-rw65", "Plot 9-1c"), 65, "Average", ART),
            (Required("convergence-rw100", "Plot 9-1d"), 100, "Average", ART),
        ):
            of = {0: "100% Writes", 100: "100% Reads"}.get(read_pct, f"R/W {mix(read_pct)}")
            name = plot.named(_PREFIX, f"Steady State Convergence Plot - {what} Latency - {of}")
            points = (RoundPoint(AccessPattern.RANDOM, size, read_pct) for size in _BLOCK_SIZES_BYTES)
            known = [point for point in points if point in self.results.cells]
            shown = self.convergence(name, known, metric)
            yield shown if plot is _CONVERGENCE else replace(shown, mandatory=False)

    def table(self, matrix: Matrix) -> Page:
        """IOPS, ART, 99.999 % and MRT of all nine elements (Plot 9-3), with N below."""
        name = _TABLE.named(_PREFIX, "Ave, 5 9s, Max Response Times & IOPS - ALL RW Mix & BS - Tabular Data")
        shown = rows_table(
            f"{name.id}-values",
            f"{name.number} - {self.results.window.averaging}; MRT: the largest of them",
            (
                Column(f"DP={header.data_text(self.results.conditions)}", align="left", width=0.8),
                "RW mix:<0.6",
                *(Column(f"{block_size_kib(size)} KiB", size / 1024) for size in _BLOCK_SIZES_BYTES),
            ),
            (
                (
                    label if read_pct == _READ_PCTS[0] else "",
                    f"RW {read_pct}",
                    *(matrix.shown(to_cell, size, read_pct) for size in _BLOCK_SIZES_BYTES),
                )
                for label, to_cell in _TABULAR.items()
                for read_pct in _READ_PCTS
            ),
            note="99.999 %: mean of the Rounds' percentiles, each of which needs "
            f"{ios_needed(rounds.TAIL_PERCENTILE):,} I/Os; with fewer, the cell has the maximum and N, the "
            "smallest Round's count. " + matrix.absences(self.run.manifest.target.sector_bytes),
        )
        merged = "99.999 % Response Time (ms) of all Rounds' I/Os together (ours, beside the mean)"
        minimum = "Minimum Response Time (ms): minimum of the Rounds (ours)"
        return page(
            name,
            Verdict(matrix.head_line),
            shown,
            *self.host_part(),
            matrix.table("merged-tail", merged, _merged_tail),
            matrix.table("minimum", minimum, rounds.MINIMUM.cell),
        )

    def host_part(self) -> Iterator[Verdict]:
        """The engine's own share of the averages, and whether kernel threads carry out the target's I/O.

        Nothing where the record does not have them: of simulated drives, and in records from before they were
        measured.
        """
        share = engine_overhead(overhead.own_latency_ns(self.run.manifest.engine), self.results)
        if share is not None:
            point, largest_pct = share.largest
            text = (
                f"Own share: {share.own_ns / NS_PER_US:.1f} us (interrupt, wake-up and engine) of each "
                f"response time for which the thread sleeps, {overhead.share_text(share.smallest_pct)} to "
                f"{overhead.share_text(largest_pct)} of the averages (most: {point})."
            )
            yield Verdict(text, "fail" if largest_pct > overhead.LIMIT_PCT else "")
        fact = self.run.manifest.dut.get(overhead.KERNEL_THREADS)
        if fact is not None and fact.value not in {None, overhead.NO_KERNEL_THREADS}:
            yield Verdict(
                f"Kernel threads carry out the target's I/O ({fact.value}): each response time "
                "includes two hand-overs between threads, whose duration depends on the scheduler."
            )

    def curves(self) -> Iterator[_Curve]:
        """RW 0, 65 and 100 at 4 KiB over the window, and the long histogram, as far as they have I/Os."""
        window = self.results.window
        for read_pct in _READ_PCTS:
            point = RoundPoint(AccessPattern.RANDOM, _KEY_SIZE_BYTES, read_pct)
            samples = [one[point] for one in window.select(self.results.rounds) if point in one]
            if samples and (times := response_times(samples)).recorded_ios:
                yield _Curve(f"RW {read_pct}", f"Rounds {window.label} together", times)
        if self.times is not None and self.times.recorded_ios:
            source = f"the histogram of {format_duration(self.times.elapsed_ns)}"
            yield _Curve("RW 0, histogram", source, self.times)

    def levels(self) -> Page:
        """Response time over confidence level; dashed where N is low (ours)."""
        name = PlotName(f"{_PREFIX}-levels", "Plot X-LAT-1", "LAT Response Time v Confidence Level")
        curves = list(self.curves())
        if not curves:
            return page(name, kit.NO_ROUND, mandatory=False)
        most = max(nines_supported(one.times.recorded_ios) for one in curves)
        levels, size = _levels(most), format_block_size(_KEY_SIZE_BYTES)
        columns: dict[str, tuple[tuple[Cell, ...], int, str]] = {}  # cells, color and style of a line
        for one, color in zip(curves, _COLORS, strict=False):
            sure, low = zip(*(one.pair(level, levels) for level in levels), strict=True)
            of_all = (cells.latency(one.times.max_latency_ns), Cell(f"{one.times.recorded_ios:,}"))
            columns[one.label] = ((*sure, *of_all), color, "measured")
            if any(cell.value is not None for cell in low):
                columns[f"{one.label}, low n"] = ((*low, Cell("-"), Cell("-")), color, "dashed")
        heads = [Cell(f"{level:.10f}".rstrip("0").rstrip("."), level) for level in levels]
        heads += [Cell("100 (MRT)"), Cell("N of I/Os")]
        shown = rows_table(
            f"{name.id}-values",
            f"Values plotted: response time (ms) at {size}",
            ("Confidence level (%):0.9", *map(Column, columns)),
            (
                Row(head, tuple(column[n] for column, _, _ in columns.values()))
                for n, head in enumerate(heads)
            ),
            note="N nines take 10^N I/Os. Low n: fewer than 1.5 times that, drawn dashed (9.2 step 3.3.3).",
        )
        plot = Plot(
            x=ticks.nines_axis("Confidence level (%)", max(2, most)),
            y=ticks.log_axis("Response time (ms)", values_of(shown)),
            series=tuple(
                Series(label, "column", (n,), color, style=style)
                for n, (label, (_, color, style)) in enumerate(columns.items())
            ),
            alt=f"{len(curves)} curves at {size}, from {{low}} to {{high}} ms.",
            decimals=None,
            height_px=310,
        )
        sources = "; ".join(f"{one.label}: {one.source}, N = {one.times.recorded_ios:,}" for one in curves)
        text = f"Share of the I/Os that take no longer than the response time. {sources}."
        return page(name, plot.over(name, shown), Verdict(text), shown, mandatory=False)

    def exceedance(self) -> Page:
        """The share of I/Os slower than a response time, and of the run's time spent in them (ours)."""
        name = PlotName(f"{_PREFIX}-exceedance", "Plot X-LAT-2", "LAT Response Time Exceedance")
        if self.times is None or not self.times.recorded_ios:
            return page(name, Verdict("Exceedance: n/a (no histogram).", "fail"), mandatory=False)
        bins, rows = self.times.bins, []
        # time by the middle of each bin: the histogram is no finer
        middles = [(one.low_ns * one.high_ns) ** 0.5 * one.ios for one in bins]
        spent = fsum(middles)
        for index, one in enumerate(bins[:-1]):
            slower = (100 - one.level_pct, 100 * fsum(middles[index + 1 :]) / spent)
            head = Cell(format_latency_ms(one.high_ns), one.high_ns / NS_PER_MS)
            rows.append(Row(head, tuple(Cell(_share_text(share), share or None) for share in slower)))
        shown = rows_table(
            f"{name.id}-values",
            "Values plotted: share slower than a response time",
            "Response time (ms) | of the I/Os (%) | of the time (%)",
            rows,
            note="Shares of time rest on the middle of each bin, 20 bins to a decade.",
            printed=False,
        )
        shares = [share for share in values_of(shown) if share]
        if len(rows) < 2 or not shares:
            return page(name, Verdict("Exceedance: n/a (one response time only)."), shown, mandatory=False)
        plot = Plot(
            x=ticks.log_axis("Response time (ms)", [edge for edge in kit.heads_of(shown) if edge]),
            y=ticks.log_axis("Slower than that (%)", shares),
            series=(
                Series("by I/O count", "column", (0,), 2, style="line"),
                Series("by time", "column", (1,), 3, style="line"),
            ),
            alt=f"from {_share_text(max(shares))} % down to {_share_text(min(shares))} % of the "
            "I/Os or of the time.",
            rules=(PlotRule("0.001 % (5 9s)", 0.001, "limit"),) if min(shares) < 0.001 else (),
        )
        text = (
            f"{_HISTOGRAM_WORKLOAD}: share of the I/Os that took longer than a response time, and share of "
            "the time that all I/Os took together."
        )
        return page(name, plot.over(name, shown), Verdict(text), shown, mandatory=False)


def _columns_page(
    matrix: Matrix, number: str, what: str, to_cell: Callable[[rounds.MatrixCell], Cell]
) -> Page:
    """Nine columns of response time over block size and R/W mix (9.3.6, optional)."""
    name = PlotName(f"{_PREFIX}-3d-{what.lower()}", number, f"{what} Latency v BS and R/W Mix - 3D Plot")
    return kit.plot_page(
        name,
        None,
        lambda shown: Plot(
            kind="columns3d",
            x=kit.category_axis("Block size (KiB)", shown),
            y=lambda values: ticks.linear_axis(f"{what} response time (ms)", 0, max(values)),
            series=mix_series(shown),
            alt="{count} columns, from {low} to {high} ms.",
            decimals=None,
            palette="mix",
            depth_title="R/W mix %",
            height_px=400,
        ),
        matrix.table(f"{name.id}-values", f"{what} response time (ms)", to_cell),
        mandatory=False,
    )


def _levels(most_nines: int) -> list[float]:
    """Levels at which curves have points: each count of nines, and half way to the next one."""
    found = [10.0, 50.0, 90.0]
    for nines in range(2, most_nines + 1):
        half_way = 100 - (100 - nines_percentile(nines - 1)) / 2
        found += [round(half_way, 12), nines_percentile(nines)]
    return found


def _share_text(share_pct: float) -> str:
    """Three significant digits, without an exponent."""
    return f"{Decimal(f'{share_pct:.2e}'):f}"


def _confidence_curve(times: ResponseTimes) -> Curve:
    """Four levels to each nine, evenly spaced on the axis, as far as the I/Os suffice."""
    steps = range(1, _STEPS_PER_NINE * min(_MOST_NINES, nines_supported(times.recorded_ios)) + 1)
    levels_pct = (round(100 - 100 * 10 ** (-step / _STEPS_PER_NINE), 12) for step in steps)
    found = ((level_pct, times.percentile_ns(level_pct)) for level_pct in levels_pct)
    return Curve(
        "levels",
        "Response Time v Confidence Level - RND 4KiB RW0",
        "response time (ms) that so many per cent of the I/Os do not exceed",
        OVER_NINES,
        partial(ticks.log_axis, "Response time (ms)"),
        tuple((level_pct, value_ns) for level_pct, value_ns in found if value_ns is not None),
        cells.latency,
    )


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    histogram, results = run.phase(Phase.HISTOGRAM), rounds.analyze_cycle(run, 1)
    times = response_times([step.sample for step in histogram]) if histogram else None
    length = "NOT RUN" if times is None else format_duration(times.elapsed_ns)
    found = LatencyReport(run, results, times)
    measures = tuple(found.measures())
    return ReportContent(
        verdicts=(found.sentence, *found.short_form(measures)),
        measures=measures,
        sections=header.sections_of(
            run,
            header.TestSection(
                test=_PREFIX,
                title="Latency Test",
                bar="Latency Test (REQUIRED) - Report Page",
                heading="LAT - Response Time OIO=1",
                setup=found.setup_rows("LAT Loop"),
                test_rows=found.test_rows("LAT Loop", second=f"{_HISTOGRAM_WORKLOAD}, {length}"),
                red_lines=results.red_lines,
                pages=found.pages,
            ),
        ),
        figures=lambda: {**rounds.round_figures(results), "histogram": times_figures(times, found.nines)},
        curves=lambda: () if times is None or not times.recorded_ios else (_confidence_curve(times),),
    )
