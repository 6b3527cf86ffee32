"""The map of streams over time: rates of each in each step, and the queue depth."""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from openpts.pages.cells import fixed
from openpts.pages.kit import Plot, PlotName, rows_table
from openpts.pages.model import Cell, Column, Figure, Series, Table
from openpts.pages.ticks import linear_axis, time_axis
from openpts.units import per_second
from openpts_traces.characteristics.tables import figure

OTHER: Final = "other"
_COLORS: Final = 8
"""From here on colors come again, with another line."""


class MapStep(Struct, frozen=True):
    """I/Os of a step by stream; ``depth`` is the mean over time, None where it is unknown."""

    start_ns: int
    length_ns: int
    ios: Mapping[str, int]
    depth: float | None

    def rate_of(self, column: str, named: Sequence[str]) -> float:
        """IOPS of a stream; those of all that have no name of their own."""
        ios = (
            sum(count for name, count in self.ios.items() if name not in named)
            if column == OTHER
            else self.ios.get(column, 0)
        )
        return per_second(ios, self.length_ns)


def stream_map(
    name: PlotName, steps: Sequence[MapStep], named: Sequence[str], no_depth: str, highest_iops: float = 0.0
) -> tuple[Figure, Table]:
    """A line for each stream of ``named``, one for the others, and one for the queue depth.

    Order and colors are those of ``named``, so that maps of one capture compare; so do their axes, if each
    gets the highest rate of all.
    """
    end_ns = max((step.start_ns + step.length_ns for step in steps), default=0)
    axis = time_axis("Time", 0, end_ns)
    is_more = any(set(step.ios) - set(named) for step in steps)
    columns = [*named, *((OTHER,) if is_more else ())]

    def cells_of(step: MapStep) -> tuple[Cell, ...]:
        rates = (figure(step.rate_of(column, named)) for column in columns)
        return (*rates, figure(step.depth, no_depth))

    shown = rows_table(
        f"{name.id}-table",
        "IOPS by stream, and queue depth",
        (Column(axis.axis.title), *(Column(column) for column in (*columns, "Queue depth"))),
        (
            (Cell(f"{axis.place(step.start_ns):g}", axis.place(step.start_ns)), *cells_of(step))
            for step in steps
        ),
        printed=False,
    )
    lines = tuple(
        Series(column, "column", (n,), n, style="line" if n < _COLORS else "dashed")
        for n, column in enumerate(columns)
    )
    depth = Series("Queue depth", "column", (len(columns),), len(columns), style="mean", second_axis=True)
    depths = [step.depth for step in steps if step.depth is not None]
    rates = [step.rate_of(column, named) for step in steps for column in columns]
    plot = Plot(
        x=axis.axis,
        y=linear_axis("IOPS", 0, max([*rates, highest_iops]) or 1),
        y2=linear_axis("Queue depth", 0, max(depths)) if depths else None,
        series=(*lines, *((depth,) if depths else ())),
        alt=f"{len(steps)} steps, {len(columns)} streams, up to {fixed(max(rates, default=0.0), 0)} IOPS.",
    )
    return plot.over(name, shown), shown


def highest_rate(steps: Sequence[MapStep], named: Sequence[str]) -> float:
    """The highest rate of any line."""
    return max((step.rate_of(column, named) for step in steps for column in (*named, OTHER)), default=0.0)
