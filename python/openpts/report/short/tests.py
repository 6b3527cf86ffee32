"""The pages of tests in the short report: those that TKperf knows in its order, others by key values."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from openpts.pages import ticks
from openpts.pages.cells import fixed
from openpts.pages.model import Block, Cell, Column, Figure, Page, Row, Section, Series, Table, Verdict
from openpts.report.run_part import RunPart
from openpts.report.short.picking import Picked, steady_state_table
from openpts.report.short.setup import run_table
from openpts.report.short.words import PROCEDURES

_ART: Final = "ART (ms)"


def test_pages(parts: Sequence[RunPart]) -> tuple[Page, ...]:
    """A page for each run of a test that TKperf knows, and one for all others."""
    known = [part for part in parts if part.test in _PAGES]
    others = [part for part in parts if part.test not in _PAGES]
    pages = tuple(_page(part) for part in known)
    if not others:
        return pages
    blocks = tuple(block for part in others for block in (run_table(part), *_by_key_values(part)))
    return (*pages, Page("short-others", "Other tests" if known else "Tests", blocks))


def _page(part: RunPart) -> Page:
    test = part.test
    blocks = (Verdict(PROCEDURES[test]), run_table(part), *_PAGES[test](part))
    return Page(f"short-{part.name.lower().replace(' ', '')}", part.title, blocks)


# TKP-IOPS-05 to 08
def _iops(part: RunPart) -> list[Block]:
    (section,) = part.sections
    picked = Picked(section)
    return [
        steady_state_table(picked, "a3", picked.sentences("a1-rw0")),
        *picked.plot(
            "a1-rw0",
            "IOPS of random writes in each Round, a line for each block size: level lines at "
            "the right mean that the drive has settled.",
        ),
        *picked.plot("a3", _verification("IOPS of random writes of 4 KiB"), printed=True),
        *_summary(picked),
        *picked.plot(
            "a7",
            "Average IOPS in the measurement window over block size, a line for each mix of reads "
            "and writes.",
        ),
        *picked.plot("a8", "The same averages as columns: block size from left to right, the mix in depth."),
    ]


def _verification(what: str) -> str:
    return (
        f"{what} in the measurement window: all points within the shaded band, which is 20 % of the average "
        "wide, and a best-fit line that climbs or falls by 10 % of the average at most, make steady state."
    )


def _summary(picked: Picked) -> list[Block]:
    """The table of averages with the mixes from all reads to all writes."""
    table = picked.any_table(f"{picked.section.test}-iops-table")
    if table is None:
        return []
    rows = tuple(replace(row, cells=row.cells[::-1]) for row in table.rows)
    return [
        replace(
            table,
            id=f"short-{picked.section.test}-summary",
            title="Average IOPS by block size and R/W mix",
            columns=table.columns[::-1],
            rows=rows,
        )
    ]


# TKP-TP-03, 04
def _throughput(part: RunPart) -> list[Block]:
    blocks: list[Block] = []
    for section in part.sections:
        picked = Picked(section)
        size = section.title.rpartition(" - ")[2]
        blocks += [
            Verdict(f"{size}:"),
            steady_state_table(picked, "window", picked.sentences("write")),
            *picked.plot("write", f"Sequential writes of {size}: MB/s (base 10) in each Round."),
            *picked.plot("read", f"Sequential reads of {size}: MB/s (base 10) in each Round."),
            *picked.plot("window", _verification(f"MB/s of sequential writes of {size}"), printed=True),
            *picked.plot("bars", f"Average MB/s of reads and writes of {size} in the measurement window."),
        ]
    return [*_throughput_summary(part.sections), *blocks]


def _throughput_summary(sections: tuple[Section, ...]) -> list[Block]:
    """Reads and writes of each block size in one table."""
    rows = []
    for section in sections:
        table = Picked(section).any_table(f"{section.test}-table")
        if table is None:
            continue
        by_read_pct = {column.value: n for n, column in enumerate(table.columns)}
        rows += [
            Row(row.head, tuple(row.cells[by_read_pct[read_pct]] for read_pct in (100, 0)))
            for row in table.rows
        ]
    if not rows:
        return []
    columns = (Column("Read"), Column("Write"))
    head = Column("Block size (KiB)", width=0.62)
    table_id = f"short-{sections[0].test}-summary"
    return [Table(table_id, "Average MB/s (base 10) by block size", head, columns, tuple(rows))]


# TKP-LAT-03, 04
def _latency(part: RunPart) -> list[Block]:
    (section,) = part.sections
    picked = Picked(section)
    convergence = "Mean latency of random {} in each Round, a line for each block size."
    return [
        steady_state_table(picked, "window-1", picked.sentences("convergence-rw0")),
        *picked.plot("convergence-rw100", convergence.format("reads")),
        *picked.plot("convergence-rw65", convergence.format("I/Os of which 65 % are reads")),
        *picked.plot("convergence-rw0", convergence.format("writes")),
        *picked.plot("window-1", _verification("Mean latency of random writes of 4 KiB"), printed=True),
        *picked.plot(
            "3d-average",
            "Average latency in the measurement window, for each block size and mix.",
            printed=True,
        ),
        *picked.plot(
            "3d-maximum",
            "Longest latency in the measurement window, for each block size and mix.",
            printed=True,
        ),
    ]


# TKP-WSAT-02, 03
def _saturation(part: RunPart) -> list[Block]:
    blocks: list[Block] = []
    for section in part.sections:
        picked = Picked(section)
        blocks += picked.sentences("iops-time")[:1]
        blocks += picked.plot(
            "iops-time",
            "IOPS of each minute, which is a round here, with its slowest and fastest interval.",
        )
        blocks += _mean_latency(picked)
    return blocks


def _mean_latency(picked: Picked) -> list[Block]:
    """Mean latency over the same minutes, from the table that the plot of IOPS is drawn from."""
    page = picked.page("iops-time")
    like = next((block for block in page.blocks if isinstance(block, Figure)), None) if page else None
    table = picked.any_table(like.table_id) if like else None
    if like is None or table is None:
        return []
    column = [entry.label for entry in table.columns].index(_ART)
    values = [value for row in table.rows if (value := row.cells[column].value) is not None]
    if not values:
        return [Verdict("Mean latency: n/a (no I/O).")]
    title = like.title.replace("IOPS v", "Mean Latency v")
    figure = Figure(
        id=f"short-{picked.section.test}-latency",
        number=f"Plot X-{picked.section.test.upper()}-LATENCY",
        title=title,
        kind="lines",
        table_id=table.id,
        x=like.x,
        y=ticks.linear_axis("Mean latency (ms)", 0, max(values)),
        alt=f"{title}: from {fixed(min(values), 3)} to {fixed(max(values), 3)} ms.",
        series=(Series("Mean latency of a minute", "column", (column,), 2, style="mean"),),
        zoom_group=like.zoom_group,
    )
    return [figure, Verdict("Mean latency of the same minutes.")]


# the tests that TKperf does not know
def _by_key_values(part: RunPart) -> list[Block]:
    return [
        *part.verdicts,
        Table(
            id=f"short-{part.name.lower().replace(' ', '')}-values",
            title=f"{part.title}: key values",
            head=Column("Key value", align="left", width=1.6),
            columns=(Column("Result"), Column("Unit", align="left", width=0.5)),
            rows=tuple(
                Row(Cell(one.label), (one.noted_cell, Cell(one.unit))) for one in part.measures if one.is_key
            ),
        ),
    ]


_PAGES: Final[Mapping[str, Callable[[RunPart], list[Block]]]] = {
    "iops": _iops,
    "tp": _throughput,
    "lat": _latency,
    "wsat": _saturation,
}
