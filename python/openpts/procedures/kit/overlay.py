"""Curves of several drives in one plot: what tests add to a comparison of runs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from operator import itemgetter
from typing import Final

from msgspec.structs import replace

from openpts.pages import cells
from openpts.pages.kit import PlotName
from openpts.pages.model import Axis, Block, Cell, Column, Figure, Row, Series, Table, Verdict
from openpts.procedures.kit.content import ReportContent
from openpts.record.reader import Run

_PRINTED_VALUES = 60
# Colors that are far from each other in thin lines and small dots come first.
_COLORS: Final = (2, 3, 4, 7, 5, 0, 6, 1)

Point = tuple[float, Cell]


@dataclass(frozen=True, slots=True)
class Typical:
    """The run that stands for a set, that with its median, under the set's name; ``place`` is the set's."""

    name: str
    run: Run
    content: ReportContent
    place: int
    is_base: bool


Curve = tuple[Typical, list[Point]]


def color_of(place: int) -> int:
    """The palette's index for the set at a place."""
    return _COLORS[place % len(_COLORS)]


def with_sentence(typical: Sequence[Typical], blocks: Sequence[Block]) -> tuple[Block, ...]:
    """The plots, if there are any, after a sentence that says which runs they show."""
    runs = "; ".join(f"{one.name}: {one.run.manifest.test_id}" for one in typical)
    sentence = Verdict(
        f"In the plots below each set has one run: that with the median of its first key value. {runs}."
    )
    return (sentence, *blocks) if blocks else ()


def overlay(
    name: PlotName,
    table_title: str,
    curves: Sequence[Curve],
    axes: Callable[[Table], tuple[Axis, Axis]],
    *,
    x_title: str,
    decimals: int,
    style: str = "measured",
) -> tuple[Block, ...]:
    """A plot of the curves that have points, and the table of its values; nothing for fewer than two."""
    shown = [(one, points) for one, points in curves if points]
    if len(shown) < 2:
        return ()
    table = _table(f"{name.id}-values", f"Values plotted: {table_title}", x_title, shown, decimals)
    return _figure(name, table, axes(table), [one for one, _ in shown], style), table


def values_of(table: Table) -> list[float]:
    """All values of a table."""
    return [cell.value for row in table.rows for cell in row.cells if cell.value is not None]


def _table(table_id: str, title: str, x_title: str, curves: Sequence[Curve], decimals: int) -> Table:
    """A row for each place on x, a column for each set; a set that has nothing there has no value."""
    places: dict[tuple[float, int], dict[int, Cell]] = {}
    for number, (_, points) in enumerate(curves):
        for x, cell in points:
            again = next(n for n in count() if number not in places.get((x, n), {}))
            places.setdefault((x, again), {})[number] = cell
    table = Table(
        id=table_id,
        title=title,
        head=Column(x_title),
        columns=tuple(Column(one.name) for one, _ in curves),
        rows=tuple(
            Row(
                Cell(cells.fixed(x, decimals), x),
                tuple(found.get(number, Cell("-")) for number in range(len(curves))),
            )
            for (x, _), found in sorted(places.items(), key=itemgetter(0))
        ),
    )
    return replace(table, printed=table.value_count <= _PRINTED_VALUES)


def _style(style: str, place: int) -> str:
    """Lines without markers are told apart by more than their colour."""
    return "dashed" if style == "line" and place % 2 else style


def _figure(
    name: PlotName,
    table: Table,
    axes: tuple[Axis, Axis],
    shown: Sequence[Typical],
    style: str,
) -> Figure:
    values = values_of(table)
    whose = ", ".join(one.name for one in shown)
    return Figure(
        id=name.id,
        number=name.number,
        title=name.title,
        kind="lines",
        table_id=table.id,
        x=axes[0],
        y=axes[1],
        alt=f"{name.title} of {whose}: from {min(values):,.4g} to {max(values):,.4g}.",
        series=tuple(
            Series(one.name, "column", (n,), color_of(one.place), style=_style(style, one.place))
            for n, one in enumerate(shown)
        ),
    )
