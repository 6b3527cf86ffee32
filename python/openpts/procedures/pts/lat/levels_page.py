"""Response times over confidence level, the R/W mixes of one block size together (ours)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from openpts.analysis.latency import ios_needed
from openpts.analysis.response_times import ResponseTimes, nines_percentile, nines_supported, response_times
from openpts.pages import cells, ticks
from openpts.pages.kit import NO_ROUND, Plot, PlotName, page, rows_table, values_of
from openpts.pages.model import Cell, Column, Page, Series, Table, Verdict
from openpts.procedures.shared.rounds.matrix_pages import Matrix
from openpts.units import KIB, format_block_size, format_duration
from openpts.vocabulary.verdict import RoundPoint

SURE_COUNT_FACTOR: Final = 1.5
_BLOCK_SIZE_BYTES: Final = 4 * KIB
_BELOW_ONE_NINE: Final = (10.0, 50.0)
_COLORS: Final = (3, 4, 2, 1)


@dataclass(frozen=True, slots=True)
class _Curve:
    """A line of the plot; ``words`` is a sentence on the I/Os behind it."""

    label: str
    words: str
    times: ResponseTimes

    def is_sure(self, level_pct: float) -> bool:
        """Whether the I/Os are those that the specification recommends for a level (9.2 step 3.3.3)."""
        return self.times.recorded_ios >= SURE_COUNT_FACTOR * ios_needed(level_pct)


@dataclass(frozen=True, slots=True)
class _Column:
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


def _columns(curve: _Curve, color: int, levels: Sequence[float]) -> Iterator[_Column]:
    """What is sure of the curve, and beside it what rests on a low N, if anything does."""
    sure, low = zip(*(_pair(curve, level, levels) for level in levels), strict=True)
    of_all = (cells.latency(curve.times.max_latency_ns), Cell(f"{curve.times.recorded_ios:,}"))
    yield _Column(curve.label, (*sure, *of_all), color)
    if any(cell.value is not None for cell in low):
        yield _Column(f"{curve.label}, low n", (*low, Cell("-"), Cell("-")), color, style="dashed")


def _table(table_id: str, columns: Sequence[_Column], levels: Sequence[float]) -> Table:
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
    told = "; ".join(f"{curve.label}: {curve.words}, N = {curve.times.recorded_ios:,}" for curve in curves)
    return f"Share of the I/Os that take no longer than the response time. {told}."
