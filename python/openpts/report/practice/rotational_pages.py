"""Pages of a rotational disk: throughput over its zones, and access in each and over all."""

from collections.abc import Sequence
from dataclasses import dataclass

from openpts.analysis.zones import ZoneRate
from openpts.pages import cells, ticks
from openpts.pages.model import Block, Cell, Column, Figure, Page, Row, Series, Table
from openpts.record.reader import Run
from openpts.report.practice.methodology import nothing_page
from openpts.units import GB, MB, format_block_size
from openpts.vocabulary.rotational_conditions import RotationalConditions

_READ_COLOR, _WRITE_COLOR = 2, 3
_COLORS = (2, 3, 1, 6, 4, 5)


@dataclass(frozen=True, slots=True)
class RotationalRun:
    """The rates in the zones and over the whole range, as far as they were measured."""

    run: Run
    conditions: RotationalConditions
    zones: tuple[ZoneRate, ...]
    whole: tuple[ZoneRate, ...]

    @property
    def starts_pct(self) -> tuple[float, ...]:
        """Where the zones begin that were measured at all."""
        return tuple(sorted({rate.first_pct for rate in self.zones}))

    def position_gb(self, pct: float) -> float:
        """A place in GB from the first LBA."""
        return pct / 100 * self.run.manifest.target.user_capacity_bytes / GB


def whole_rate(measured: RotationalRun, qd: int, *, read: bool) -> ZoneRate | None:
    """Random accesses over the whole range."""
    return _find(measured.whole, random=True, read=read, qd=qd)


def throughput_page(measured: RotationalRun) -> Page:
    """Sequential throughput over the position."""
    page_id, title = "hdd-throughput", "Throughput v Position"
    kinds = [
        (name, [_zone(measured, start, random=False, read=read) for start in measured.starts_pct])
        for name, read in (("Read", True), ("Write", False))
    ]
    if not any(rate for _, rates in kinds for rate in rates):
        return nothing_page(page_id, title, "no zone was measured")
    size = format_block_size(measured.conditions.sequential_block_size_bytes)
    table = Table(
        id=f"{page_id}-table",
        title=f"SEQ {size}, MB/s by zone",
        head=Column("Zone begins at (GB)", width=0),
        columns=tuple(Column(name) for name, _ in kinds),
        rows=tuple(
            Row(
                _position(measured, start),
                tuple(_rate_cell(None if r is None else r.bytes_per_s / MB, 1) for r in at),
            )
            for start, at in zip(
                measured.starts_pct, zip(*(rates for _, rates in kinds), strict=True), strict=True
            )
        ),
    )
    figure = _figure(measured, table, ("Plot X-HDD-1", f"SEQ {size} v position", "MB/s"), None)
    return Page(page_id, title, (figure, table), mandatory=True)


def access_page(measured: RotationalRun) -> Page:
    """Random IOPS over the position, and over the whole range with their access times."""
    page_id, title = "hdd-access", "Random Access v Position"
    size = format_block_size(measured.conditions.random_block_size_bytes)
    kinds = [
        (f"{name} QD {qd}", qd, read)
        for qd in measured.conditions.qds
        for name, read in (("Read", True), ("Write", False))
    ]
    blocks: list[Block] = []
    if any(rate.random for rate in measured.zones):
        table = Table(
            id=f"{page_id}-table",
            title=f"RND {size} within a zone, IOPS",
            head=Column("Zone begins at (GB)", width=0),
            columns=tuple(Column(label) for label, _, _ in kinds),
            rows=tuple(
                Row(
                    _position(measured, start),
                    tuple(
                        _rate_cell(None if rate is None else rate.iops, 1)
                        for _, qd, read in kinds
                        for rate in (_zone(measured, start, random=True, read=read, qd=qd),)
                    ),
                )
                for start in measured.starts_pct
            ),
        )
        blocks = [
            _figure(measured, table, ("Plot X-HDD-2", f"RND {size} v position", "IOPS"), _COLORS),
            table,
        ]
    if measured.whole:
        blocks.append(_whole_table(measured, page_id, size))
    if not blocks:
        return nothing_page(page_id, title, "no random access was measured")
    return Page(page_id, title, tuple(blocks), mandatory=True)


def _whole_table(measured: RotationalRun, page_id: str, size: str) -> Table:
    return Table(
        id=f"{page_id}-whole",
        title=f"RND {size} over the whole range",
        head=Column("Stimulus", align="left", width=0),
        columns=(Column("IOPS"), Column("Mean (ms)"), Column("Max (ms)")),
        rows=tuple(
            Row(
                Cell(f"{'Read' if rate.read else 'Write'} QD {rate.qd}"),
                (
                    cells.number(rate.iops, 1),
                    _rate_cell(None if rate.access_ns is None else rate.access_ns / 1e6, 3),
                    _rate_cell(None if rate.max_access_ns is None else rate.max_access_ns / 1e6, 3),
                ),
            )
            for rate in measured.whole
        ),
        note="At QD 1 the mean is the access time: the way of the arm, half a turn, and the transfer.",
    )


def _figure(
    measured: RotationalRun,
    table: Table,
    texts: tuple[str, str, str],
    colors: Sequence[int] | None,
) -> Figure:
    number, title, unit = texts
    values = [cell.value for row in table.rows for cell in row.cells if cell.value is not None]
    places = [measured.position_gb(pct) for pct in measured.starts_pct]
    palette = colors or (_READ_COLOR, _WRITE_COLOR)
    return Figure(
        id=f"{table.id}-plot",
        number=number,
        title=title,
        kind="lines",
        table_id=table.id,
        x=ticks.linear_axis("Zone begins at (GB)", 0, max(places)),
        y=ticks.linear_axis(unit, 0, max(values)),
        alt=f"{title}: {len(places)} zones, from {cells.fixed(min(values), 1)} to "
        f"{cells.fixed(max(values), 1)} {unit}.",
        series=tuple(
            Series(column.label, "column", (at,), palette[at % len(palette)])
            for at, column in enumerate(table.columns)
        ),
        height_px=260,
    )


def _position(measured: RotationalRun, pct: float) -> Cell:
    return cells.number(measured.position_gb(pct), 1)


def _rate_cell(value: float | None, decimals: int) -> Cell:
    return cells.number_or("not measured", value, decimals)


def _zone(
    measured: RotationalRun, start_pct: float, *, random: bool, read: bool, qd: int | None = None
) -> ZoneRate | None:
    here = [rate for rate in measured.zones if rate.first_pct == start_pct]
    return _find(here, random=random, read=read, qd=qd)


def _find(rates: Sequence[ZoneRate], *, random: bool, read: bool, qd: int | None) -> ZoneRate | None:
    found = (r for r in rates if r.random is random and r.read is read and qd in {None, r.qd})
    return next(found, None)
