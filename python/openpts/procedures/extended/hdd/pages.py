"""Pages of a rotational disk: throughput over its zones, and access in each and over all."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from openpts.pages import cells, ticks
from openpts.pages.kit import Col, Plot, PlotName, column_series, grid, page, table
from openpts.pages.model import Block, Cell, Column, Page, Table
from openpts.procedures.extended.hdd.conditions import RotationalConditions
from openpts.procedures.extended.hdd.results import ZoneRate
from openpts.procedures.shared.methodology import nothing_page
from openpts.record.reader import Run
from openpts.units import GB, MB, format_block_size

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
    size = format_block_size(measured.conditions.sequential_block_size_bytes)
    if not any(not rate.random for rate in measured.zones):
        return nothing_page("hdd-throughput", "Throughput v Position", "no zone was measured")
    shown = _zones_table(
        measured,
        "hdd-throughput-table",
        f"SEQ {size}, MB/s by zone",
        {name: _Kind(random=False, read=read) for name, read in (("Read", True), ("Write", False))},
        lambda rate: rate.bytes_per_s / MB,
    )
    name = PlotName(shown.id, "Plot X-HDD-1", f"SEQ {size} v position")
    figure = _plot(measured, shown, "MB/s", (_READ_COLOR, _WRITE_COLOR)).over(name, shown)
    return page(PlotName("hdd-throughput", "", "Throughput v Position"), figure, shown)


def access_page(measured: RotationalRun) -> Page:
    """Random IOPS over the position, and over the whole range with their access times."""
    name = PlotName("hdd-access", "Plot X-HDD-2", "Random Access v Position")
    size = format_block_size(measured.conditions.random_block_size_bytes)
    kinds = {
        f"{word} QD {qd}": _Kind(random=True, read=read, qd=qd)
        for qd in measured.conditions.qds
        for word, read in (("Read", True), ("Write", False))
    }
    blocks: list[Block] = []
    if any(rate.random for rate in measured.zones):
        shown = _zones_table(
            measured, f"{name.id}-table", f"RND {size} within a zone, IOPS", kinds, lambda rate: rate.iops
        )
        of_plot = PlotName(shown.id, name.number, f"RND {size} v position")
        blocks = [_plot(measured, shown, "IOPS", _COLORS).over(of_plot, shown), shown]
    if measured.whole:
        blocks.append(_whole_table(measured, name.id, size))
    if not blocks:
        return nothing_page(name.id, name.title, "no random access was measured")
    return page(name, *blocks)


def _whole_table(measured: RotationalRun, page_id: str, size: str) -> Table:
    columns: list[Col[ZoneRate]] = [
        Col("IOPS", lambda rate: cells.number(rate.iops, 1)),
        Col("Mean (ms)", lambda rate: _milliseconds(rate.access_ns)),
        Col("Max (ms)", lambda rate: _milliseconds(rate.max_access_ns)),
    ]
    return table(
        f"{page_id}-whole",
        f"RND {size} over the whole range",
        Col(
            "Stimulus",
            lambda rate: Cell(f"{'Read' if rate.read else 'Write'} QD {rate.qd}"),
            align="left",
            width=0,
        ),
        columns,
        measured.whole,
        note="At QD 1 the mean is the access time: arm movement, half a turn, and transfer.",
    )


def _milliseconds(time_ns: float | None) -> Cell:
    return _rate_cell(None if time_ns is None else time_ns / 1e6, 3)


class _Kind(NamedTuple):
    """What a column holds of each zone."""

    random: bool
    read: bool
    qd: int | None = None


def _zones_table(
    measured: RotationalRun,
    table_id: str,
    title: str,
    kinds: Mapping[str, _Kind],
    value_of: Callable[[ZoneRate], float],
) -> Table:
    def cell(start_pct: float, kind: _Kind) -> Cell:
        here = [rate for rate in measured.zones if rate.first_pct == start_pct]
        rate = _find(here, random=kind.random, read=kind.read, qd=kind.qd)
        return _rate_cell(None if rate is None else value_of(rate), 1)

    return grid(
        table_id,
        title,
        Col("Zone begins at (GB)", lambda pct: cells.number(measured.position_gb(pct), 1), width=0),
        [(Column(name), kind) for name, kind in kinds.items()],
        measured.starts_pct,
        cell=cell,
    )


def _plot(measured: RotationalRun, shown: Table, unit: str, colors: Sequence[int]) -> Plot:
    return Plot(
        x=ticks.linear_axis("Zone begins at (GB)", 0, max(map(measured.position_gb, measured.starts_pct))),
        y=lambda values: ticks.linear_axis(unit, 0, max(values)),
        series=column_series(shown, color_of=lambda n, _column: colors[n % len(colors)]),
        alt=f"{{rows}} zones, from {{low}} to {{high}} {unit}.",
        decimals=1,
        height_px=260,
    )


def _rate_cell(value: float | None, decimals: int) -> Cell:
    return cells.number_or("not measured", value, decimals)


def _find(rates: Sequence[ZoneRate], *, random: bool, read: bool, qd: int | None) -> ZoneRate | None:
    found = (r for r in rates if r.random is random and r.read is read and qd in {None, r.qd})
    return next(found, None)
