"""A figure of each kind and style with plausible values: nothing was measured."""

import math
import random
from collections.abc import Sequence
from functools import cache

from openpts_pages import ticks
from openpts_pages.model import (
    Axis,
    Band,
    Cell,
    Column,
    Figure,
    Header,
    HeaderGroup,
    HeaderRow,
    Mark,
    Page,
    PlotRule,
    Report,
    Row,
    Section,
    Series,
    Table,
)

HOUR_NS = 3600 * 10**9
SECONDS = 21_600
DEMANDS = (1, 2, 4, 6, 8, 16, 32)
Drawn = tuple[Figure, Table]


def table_of(
    table_id: str, heads: Sequence[str], rows: Sequence[tuple[float, Sequence[float | None]]]
) -> Table:
    """Columns of values over x in the row heads; too long for paper from 200 values on."""
    return Table(
        id=table_id,
        title=f"Values of {table_id}",
        head=Column("x"),
        columns=tuple(Column(head) for head in heads),
        rows=tuple(
            Row(
                Cell(f"{x:g}", x),
                tuple(Cell("", None) if v is None else Cell(f"{v:,.1f}", v) for v in values),
            )
            for x, values in rows
        ),
        printed=len(rows) * len(heads) < 200,
    )


def columns(names: Sequence[str], style: str) -> tuple[Series, ...]:
    return tuple(Series(name, "column", (n,), n, style=style) for n, name in enumerate(names))


def write_saturation() -> Drawn:
    """Six hours of seconds with short drops, and the means of the minutes."""
    generator = random.Random(3)
    rows: list[tuple[float, tuple[float | None, float | None]]] = []
    for second in range(SECONDS):
        level = 180_000 if second < 1500 else 30_000 + 150_000 * math.exp(-(second - 1500) / 800)
        drop = 0.3 if generator.random() < 0.001 else 1.0
        iops = level * drop * (1 + generator.gauss(0, 0.05))
        rows.append((second / 3600, (iops, level if second % 60 == 30 else None)))
    series = (
        Series("1 s", "column", (0,), 6, style="line"),
        Series("1 min mean", "column", (1,), 1, style="mean"),
    )
    figure = Figure(
        "wsat", "Plot 1", "IOPS v Time", "lines", "wsat-values",
        ticks.time_axis("Time", 0, 6 * HOUR_NS).axis, ticks.linear_axis("IOPS", 0, 210_000),
        "IOPS fall from 180,000 to 30,000.", series=series,
        rules=(PlotRule("4 x user capacity", 4.8, "limit", "x"),),
    )  # fmt: skip
    return figure, table_of("wsat-values", ("1 s", "1 min"), rows)


def response_times() -> Drawn:
    """A histogram with its confidence levels and five labeled lines, two of them close."""
    edges = [10 ** (-2 + n / 20) for n in range(52)]
    counts = [int(1e6 * math.exp(-(((n - 12) / 5) ** 2)) + 30 * math.exp(-n / 12)) for n in range(51)]
    below = [100 * sum(counts[:n]) / sum(counts) for n in range(52)]
    rows = [(edge, (float(count), level)) for edge, count, level in zip(edges, counts, below, strict=False)]
    rows.append((edges[-1], (None, 100.0)))  # type: ignore[arg-type]
    figure = Figure(
        "clp", "Plot 2", "Response Time Histogram", "lines", "clp-values",
        ticks.log_axis("Response time (ms)", [edges[0], edges[-1]]), ticks.count_axis("I/Os", max(counts)),
        "Most response times lie around 0.04 ms.",
        series=(
            Series("I/Os, N = 8,862,500", "column", (0,), 6, style="bars"),
            Series("Confidence level", "column", (1,), 3, style="line", second_axis=True),
        ),
        rules=(
            PlotRule("ART 0.0421 ms", 0.0421, "average", "x"), PlotRule("3 9s 0.109 ms", 0.109, "limit", "x"),
            PlotRule("4 9s 0.121 ms", 0.121, "limit", "x"), PlotRule("5 9s 0.84 ms", 0.84, "limit", "x"),
            PlotRule("MRT 3.51 ms", 3.51, "limit", "x"),
        ),
        y2=ticks.nines_axis("Confidence level", 6),
    )  # fmt: skip
    return figure, table_of("clp-values", ("I/Os", "%"), rows)


def demand_intensity() -> Drawn:
    """Seven curves on one path, ringed at three points."""
    rows = []
    for n, tc in enumerate(DEMANDS):
        for qd in DEMANDS:
            iops = 60_000 * tc * qd / (tc * qd + 20) * (1 - 0.00008 * max(0, tc * qd - 300))
            values: list[float | None] = [None] * len(DEMANDS)
            values[n] = tc * qd / iops * 1000
            rows.append((iops, values))
    table = table_of("di-values", [f"TC {tc}" for tc in DEMANDS], rows)
    arts = [cell.value for row in table.rows for cell in row.cells if cell.value is not None]
    lowest, middle, highest = rows[0], rows[18], rows[-8]
    figure = Figure(
        "di", "Plot 3", "Demand Intensity", "lines", table.id, ticks.linear_axis("IOPS", 0, 60_000),
        ticks.log_axis("Average response time (ms)", arts), "IOPS grow with demand up to 58,000.",
        series=columns([f"TC {tc}" for tc in DEMANDS], "spline"), rules=(PlotRule("5 ms limit", 5, "limit"),),
        marks=tuple(
            Mark(name, x, next(v for v in values if v is not None))
            for name, (x, values) in (("MinIOPS", lowest), ("MidIOPS", middle), ("MaxIOPS", highest))
        ),
    )  # fmt: skip
    return figure, table


def wait_states() -> Drawn:
    """Five shaded segments with thousands of points, the first too narrow for their names."""
    generator = random.Random(4)
    rows: list[tuple[float, tuple[float | None, float | None]]] = []
    bands, now_s = [], 0
    for number, idle_s in ((1, 5), (2, 10), (3, 15), (5, 25), (10, 50)):
        start_s = now_s
        for _ in range(360):
            rows.append((now_s / 3600, (30_000 * (1 + idle_s / 100) * (1 + generator.gauss(0, 0.03)), None)))
            now_s += 5 + idle_s
        style = "allowed" if len(bands) % 2 else "window"
        bands.append(Band("x", start_s / 3600, now_s / 3600, style, f"Wait state {number}: {idle_s} s idle"))
        for _ in range(360):
            rows.append((now_s / 3600, (None, 30_000 * (1 + generator.gauss(0, 0.03)))))
            now_s += 5
    figure = Figure(
        "hir", "Plot 4", "IOPS v Time for All Wait States", "lines", "hir-values",
        ticks.time_axis("Time", 0, now_s * 10**9).axis, ticks.linear_axis("IOPS", 0, 50_000),
        "IOPS grow with idle time.", series=columns(["Access", "Return to baseline"], "points"),
        rules=(PlotRule("Baseline mean", 30_000, "average"),), bands=tuple(bands),
    )  # fmt: skip
    return figure, table_of("hir-values", ("Access", "Baseline"), rows)


def pre_writes() -> Drawn:
    """More series than the palette has colors, each named above its place."""
    generator = random.Random(5)
    rows, bands = [], []
    for number in range(12):
        bands.append(Band("x", 5 * number, 5 * number + 5, "plain", str(number + 1)))
        for minute in range(5):
            values: list[float | None] = [None] * 12
            values[number] = 30_000 + generator.gauss(0, 800)
            rows.append((5 * number + minute + 0.5, values))
    names = [f"Round {number + 1}" for number in range(12)]
    figure = Figure(
        "prewrites", "Plot 5", "Inter-Round Pre Writes", "lines", "prewrite-values",
        ticks.time_axis("Time", 0, HOUR_NS).axis, ticks.linear_axis("IOPS", 0, 33_000),
        "IOPS stay at 30,000.",
        series=columns(names, "points"), bands=tuple(bands),
    )  # fmt: skip
    return figure, table_of("prewrite-values", names, rows)


def confidence() -> Drawn:
    """A nines scale along x."""
    shares = (0, 50, 90, 99, 99.9, 99.99, 99.999)
    rows = [(pct, (0.04 * (1 + n), 0.06 * (1 + n) ** 1.3)) for n, pct in enumerate(shares)]
    figure = Figure(
        "nines", "Plot 6", "Response Time v Confidence Level", "lines", "nines-values",
        ticks.nines_axis("Confidence level", 5), ticks.log_axis("Response time (ms)", [0.04, 0.8]),
        "Response times grow with confidence.", series=columns(["RW 0", "RW 65"], "measured"),
    )  # fmt: skip
    return figure, table_of("nines-values", ("RW 0", "RW 65"), rows)


def category_axis(title: str, names: Sequence[str]) -> Axis:
    return Axis(title, "category", (0, len(names)), (), tuple(names))


def throughput() -> Drawn:
    """Two bars side by side in each of two categories."""
    rows = [(1024, (476.4, 530.4)), (128, (465.9, 520.7))]
    series = (
        Series("SEQ 1024 KiB", "row", (0,), 2, style="bars"),
        Series("SEQ 128 KiB", "row", (1,), 5, style="bars"),
    )
    figure = Figure(
        "bars", "Plot 7", "Throughput", "bars", "bars-values", category_axis("R/W mix %", ("0/100", "100/0")),
        ticks.linear_axis("Throughput (MB/s)", 0, 530.4), "Reads are faster than writes.", series=series,
    )  # fmt: skip
    return figure, table_of("bars-values", ("0/100", "100/0"), rows)


def demand_bars(*, whiskers: bool) -> Drawn:
    """Many bars with values along them, or with whiskers."""
    demands = sorted({tc * qd for tc in DEMANDS for qd in DEMANDS})
    means = [60_000 * toio / (toio + 20) for toio in demands]
    rows = [(float(toio), (mean, 0.9 * mean, 1.1 * mean)) for toio, mean in zip(demands, means, strict=True)]
    name = "whiskers" if whiskers else "values"
    series = [Series("Mean", "column", (0,), 6, style="bars")]
    if whiskers:
        series.append(Series("Range", "row", tuple(range(len(rows))), 0, style="whiskers"))
    figure = Figure(
        f"toio-{name}", "Plot 8", "IOPS v Total OIO", "bars", f"toio-{name}-values",
        category_axis("Total outstanding I/O", [str(toio) for toio in demands]),
        ticks.linear_axis("IOPS", 0, 66_000), "IOPS grow with demand.", series=tuple(series),
    )  # fmt: skip
    return figure, table_of(f"toio-{name}-values", ("Mean", "Least", "Most"), rows)


def processor_use() -> Drawn:
    """Columns over two demands."""
    rows = [(float(qd), [min(60.0, 1.2 * (qd * tc) ** 0.6) for tc in DEMANDS]) for qd in DEMANDS]
    names = [f"TC {tc}" for tc in DEMANDS]
    figure = Figure(
        "cpu", "Plot 9", "System CPU Utilization", "columns3d", "cpu-values",
        category_axis("Queue depth", [str(qd) for qd in DEMANDS]),
        ticks.linear_axis("CPU system usage (%)", 0, 60),
        "CPU use grows with demand.", series=columns(names, "bars"), depth_title="Thread count",
    )  # fmt: skip
    return figure, table_of("cpu-values", names, rows)


@cache
def all_figures() -> list[Drawn]:
    return [
        write_saturation(), response_times(), demand_intensity(), wait_states(), pre_writes(), confidence(),
        throughput(), demand_bars(whiskers=True), demand_bars(whiskers=False), processor_use(),
    ]  # fmt: skip


@cache
def gallery(*names: str) -> Report:
    """A report of nothing but these, or of those that are named."""
    drawn = [one for one in all_figures() if not names or one[0].id in names]
    pages = tuple(Page(f"page-{figure.id}", figure.title, (figure, table)) for figure, table in drawn)
    tints = ("platform", "dut", "setup", "test")
    groups = tuple(HeaderGroup(tint, tint, (HeaderRow("-", "-"),)) for tint in tints)
    header = Header("-", "-", "Gallery", "Gallery", "PTS-E 2.0.1", "-", "-", "-", groups)
    return Report(
        schema_version=1,
        title="Gallery",
        subtitle="Figures of all kinds",
        run_name="gallery",
        report_date="2025-01-14T15:02:00Z",
        red_line="",
        footer="Gallery",
        front=(),
        sections=(Section("gallery", "Gallery", header, (), pages),),
        back=(),
        deviation_count=0,
    )
