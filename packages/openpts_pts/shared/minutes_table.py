"""Tables of continuous stimuli: a row for each minute, figures with their I/O size (PTS 11.2, 13.2)."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from msgspec.structs import replace

from openpts.analysis.minutes import Minute
from openpts.procedures.kit.steps import ART, CPU_SYS, IOPS, MRT, Metric
from openpts.units import NS_PER_S
from openpts_pages import cells, ticks
from openpts_pages.kit import Col, table
from openpts_pages.model import Block, Cell, Figure, Page, Table
from openpts_pages.ticks import TimeAxis

T = TypeVar("T")


def minutes_axis(minutes: Sequence[Minute]) -> TimeAxis:
    """Time from the start of the stimulus to the end of its last minute, and a bit behind it if alone."""
    room = 1.1 if len(minutes) == 1 else 1.0
    return ticks.time_axis("Time", 0, room * max((minute.end_ns for minute in minutes), default=0))


def list_minutes(
    table_id: str,
    title: str,
    columns: Iterable[Col[T]],
    minutes: Iterable[T],
    *,
    time: TimeAxis,
    end_ns: Callable[[T], int],
    printed: bool | int = False,
) -> Table:
    """A row for each minute, or each access, under the time of its end."""
    head: Col[T] = Col(f"Elapsed ({time.unit_name})", lambda one: elapsed_cell(end_ns(one), time), width=0)
    return table(table_id, title, head, columns, minutes, printed=printed)


MinuteSpread = tuple[Minute, tuple[float, float] | None]
"""A minute, and its lowest and highest interval (IOPS)."""


def spread_columns(absent: str, *metrics: Metric[Minute]) -> tuple[Col[MinuteSpread], ...]:
    """IOPS of minutes with those of their lowest and highest intervals, then further figures."""

    def interval(label: str, end: int) -> Col[MinuteSpread]:
        return Col(f"{label} interval (IOPS)", lambda one: cells.number_or(absent, one[1] and one[1][end], 1))

    others = (metric.column(_minute) for metric in metrics)
    return (IOPS.column(_minute), interval("Lowest", 0), interval("Highest", 1), *others)


def _minute(point: MinuteSpread) -> Minute:
    return point[0]


def iops_column(minute_ns: int) -> Col[Minute]:
    """IOPS of minutes; a part of one, at the end of a stimulus, is marked and not plotted."""

    def cell(minute: Minute) -> Cell:
        iops = IOPS.cell(minute)
        if minute.number == 1 or 2 * minute.elapsed_ns >= minute_ns:
            return iops
        return cells.words(iops.text, note=f"in {cells.fixed(minute.elapsed_ns / NS_PER_S, 3)} s")

    return Col(IOPS.label, cell)


TIMES_AND_CPU: Final[tuple[Metric[Minute], ...]] = (ART, MRT, replace(CPU_SYS, decimals=1))
"""What tables of minutes have beside IOPS."""


def elapsed_cell(elapsed_ns: int, time: TimeAxis) -> Cell:
    """A time on the axis."""
    return cells.number(time.place(elapsed_ns), 3)


def with_transfer_size(pages: Iterable[Page], sizes_bytes: Iterable[int]) -> tuple[Page, ...]:
    """The pages of a test whose I/Os have these sizes; they stay as they are if there are several."""
    sizes = set(sizes_bytes)
    if len(sizes) != 1:
        return tuple(pages)
    (size,) = sizes

    def sized(block: Block) -> Block:
        return replace(block, transfer_bytes=size) if isinstance(block, Figure) else block

    return tuple(replace(page, blocks=tuple(map(sized, page.blocks))) for page in pages)
