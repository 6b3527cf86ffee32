"""The page of random bursts by fill level."""

from collections.abc import Sequence

from openpts.pages import cells, ticks
from openpts.pages.model import Axis, Cell, Column, Figure, Page, Row, Series, Table, Verdict
from openpts.report.practice.methodology import nothing_page
from openpts.units import GB, format_duration
from openpts.vocabulary.sample import Sample

_PAGE_ID = "fill-bursts"
_COLOR = 2


def bursts_page(bursts: Sequence[tuple[float, Sample]], workload: str, burst_ns: int) -> Page:
    """IOPS of a burst at each fill level; ``workload`` names what it is of: ``RND 4 KiB W``."""
    title = f"{workload} Bursts by Fill Level"
    if not bursts:
        return nothing_page(_PAGE_ID, title, "no burst was measured")
    table = Table(
        id=f"{_PAGE_ID}-values",
        title=f"{workload}, {format_duration(burst_ns)} at each fill level",
        head=Column("Fill level (%)"),
        columns=(
            Column("IOPS"),
            Column("Of the first (%)"),
            Column("ART (ms)"),
            Column("MRT (ms)"),
            Column("Written (GB)"),
        ),
        rows=tuple(_row(level, sample, bursts[0][1]) for level, sample in bursts),
    )
    rates = [sample.iops for _, sample in bursts]
    figure = Figure(
        id=f"{_PAGE_ID}-plot",
        number="Plot X-FILL-3",
        title=title,
        kind="lines",
        table_id=table.id,
        x=Axis("Fill level (%)", "linear", (-3, 103), tuple(float(n) for n in range(0, 101, 10))),
        y=ticks.linear_axis("IOPS", 0, max(rates)),
        alt=f"{title}: {len(rates)} levels, from {cells.fixed(min(rates), 0)} to "
        f"{cells.fixed(max(rates), 0)}.",
        series=(Series("IOPS of the burst", "column", (0,), _COLOR, emphasis=True),),
        height_px=300,
    )
    rule = Verdict(
        "The drive was purged again and filled in sequence up to each level. The burst goes to what is "
        "filled; on the empty drive, to what is filled next."
    )
    return Page(_PAGE_ID, title, (figure, rule, table), mandatory=True)


def _row(level: float, sample: Sample, first: Sample) -> Row:
    return Row(
        Cell(f"{level:g}", level),
        (
            cells.number(sample.iops, 0),
            cells.percent(100 * sample.iops / first.iops) if first.iops else cells.missing("no I/O"),
            cells.latency(sample.mean_latency_ns),
            cells.latency(sample.max_latency_ns),
            cells.number(sample.write.bytes / GB, 2),
        ),
    )
