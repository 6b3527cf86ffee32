"""Pages of the latency test beside those that all tests of rounds have (PTS 9.3.6)."""

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from math import fsum
from typing import Final

from msgspec import Struct

from openpts.analysis.latency import ios_needed
from openpts.analysis.response_times import ResponseTimes, nines_percentile, nines_supported, response_times
from openpts.procedures.kit.header import data_text
from openpts.procedures.kit.steps import ART, IOPS, MRT
from openpts.units import (
    KIB,
    NS_PER_MS,
    block_size_kib,
    format_block_size,
    format_duration,
    format_latency_ms,
)
from openpts.vocabulary.stimulus import AccessPattern
from openpts.vocabulary.verdict import RoundPoint
from openpts_pages import cells, ticks
from openpts_pages.kit import (
    NO_ROUND,
    Plot,
    PlotName,
    category_axis,
    heads_of,
    page,
    plot_page,
    rows_table,
    values_of,
)
from openpts_pages.model import Cell, Column, Page, PlotRule, Row, Series, Table, Verdict
from openpts_pts.shared.rounds.matrix_pages import (
    Matrix,
    absences_note,
    matrix_table,
    mix,
    mix_series,
    tail_cell,
)
from openpts_pts.shared.rounds.results import MINIMUM, TAIL_PERCENTILE, MatrixCell

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
