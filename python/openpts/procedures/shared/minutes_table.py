"""Minutes of a continuous stimulus as rows of a table (PTS 11.2 step 3.1, 13.2 step 3.2.1)."""

from collections.abc import Iterable, Sequence

from openpts.analysis.minutes import Minute
from openpts.pages import cells, ticks
from openpts.pages.model import Cell, Column, Row
from openpts.pages.ticks import TimeAxis
from openpts.units import NS_PER_S


def minutes_axis(minutes: Sequence[Minute]) -> TimeAxis:
    """Time from the start of the stimulus to the end of its last minute, and a bit behind it if alone."""
    room = 1.1 if len(minutes) == 1 else 1.0
    return ticks.time_axis("Time", 0, room * max((minute.end_ns for minute in minutes), default=0))


def elapsed_column(time: TimeAxis) -> Column:
    """The heading of the rows' heads."""
    return Column(f"Elapsed ({time.unit_name})", width=0)


def minute_columns(*, extra: Iterable[Column] = ()) -> tuple[Column, ...]:
    """Heads for ``minute_row``: IOPS first, then what is particular, then response times and CPU."""
    return (Column("IOPS"), *extra, Column("ART (ms)"), Column("MRT (ms)"), Column("CPU Sys (%)"))


def minute_row(minute: Minute, time: TimeAxis, minute_ns: int, *, extra: Iterable[Cell] = ()) -> Row:
    """A minute; its head is the time from the first I/O of the stimulus to its end."""
    return Row(
        elapsed_cell(minute.end_ns, time),
        (
            _iops(minute, minute_ns),
            *extra,
            cells.latency(minute.mean_latency_ns),
            cells.latency(minute.max_latency_ns),
            cells.missing("not recorded") if minute.cpu is None else cells.percent(minute.cpu.sys_pct),
        ),
    )


def _iops(minute: Minute, minute_ns: int) -> Cell:
    """IOPS of a minute; a part of one, at the end of a stimulus, is marked and not plotted."""
    iops = cells.number(minute.iops, 1)
    if minute.number == 1 or 2 * minute.elapsed_ns >= minute_ns:
        return iops
    return cells.words(iops.text, note=f"in {cells.fixed(minute.elapsed_ns / NS_PER_S, 3)} s")


def elapsed_cell(elapsed_ns: int, time: TimeAxis) -> Cell:
    """A time on the axis."""
    return cells.number(time.place(elapsed_ns), 3)
