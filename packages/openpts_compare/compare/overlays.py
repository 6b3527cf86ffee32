"""The curves that tests offer, those of several runs in one plot."""

from collections.abc import Sequence
from itertools import count
from operator import itemgetter
from typing import Final

from openpts.procedures.kit.content import MedianRun
from openpts.procedures.kit.curve import Curve
from openpts_pages import cells
from openpts_pages.kit import heads_of, rows_table, values_of
from openpts_pages.model import Block, Cell, Column, Figure, Series, Table, Verdict

_PRINTED_VALUES: Final = 60
# Markers beyond that would hide what lies below them.
_MOST_MARKERS: Final = 30
# Colors that are far from each other in thin lines and small dots come first.
_COLORS: Final = (2, 3, 4, 7, 5, 0, 6, 1)

_Drawn = Sequence[tuple[MedianRun, Curve]]


def color_of(place: int) -> int:
    """The palette's index for the set at a place."""
    return _COLORS[place % len(_COLORS)]


def overlays(test: str, typical: Sequence[MedianRun]) -> tuple[Block, ...]:
    """A plot and its table for each curve that two runs have, after a sentence on whose runs they are."""
    found: dict[str, list[tuple[MedianRun, Curve]]] = {}
    for one in typical:
        for curve in one.content.curves():
            if curve.points:
                found.setdefault(curve.key, []).append((one, curve))
    shared = [drawn for drawn in found.values() if len(drawn) > 1]
    if not shared:
        return ()
    runs = "; ".join(f"{one.name}: {one.run.manifest.test_id}" for one in typical)
    sentence = Verdict(
        f"In the plots below each set has one run: that with the median of its first key value. {runs}."
    )
    plots = (block for number, drawn in enumerate(shared, start=1) for block in _plot(test, number, drawn))
    return (sentence, *plots)


def _plot(test: str, number: int, drawn: _Drawn) -> tuple[Figure, Table]:
    first = drawn[0][1]
    x_axis, x_unit = first.along.axis([x for _, curve in drawn for x, _ in curve.points])
    page_id = f"compare-{test}-course-{number}"
    table = _table(page_id, x_axis.title, x_unit, drawn)
    values = values_of(table)
    style = _style(first, len(heads_of(table)))
    figure = Figure(
        id=page_id,
        number=f"Plot X-COMPARE-{test.upper()}-{number + 1}",
        title=first.title,
        kind="lines",
        table_id=table.id,
        x=x_axis,
        y=first.y(values),
        alt=f"{first.title} of {', '.join(one.name for one, _ in drawn)}: from {min(values):,.4g} to "
        f"{max(values):,.4g}.",
        series=tuple(
            # thin lines differ by more than their color
            Series(
                one.name,
                "column",
                (n,),
                color_of(one.place),
                style="dashed" if style == "line" and one.place % 2 else style,
            )
            for n, (one, _) in enumerate(drawn)
        ),
    )
    return figure, table


def _style(curve: Curve, points: int) -> str:
    if curve.dots:
        return "points"
    return "measured" if points <= _MOST_MARKERS else "line"


def _table(page_id: str, x_title: str, x_unit: float, drawn: _Drawn) -> Table:
    """A row for each place on x, a column for each set; a set that has nothing there has no value."""
    first = drawn[0][1]
    places: dict[tuple[float, int], dict[int, Cell]] = {}
    for number, (_, curve) in enumerate(drawn):
        for x, value in curve.points:
            again = next(n for n in count() if number not in places.get((x, n), {}))
            places.setdefault((x, again), {})[number] = curve.cell(value)
    return rows_table(
        f"{page_id}-values",
        f"Values plotted: {first.values}",
        (Column(x_title), *(Column(one.name) for one, _ in drawn)),
        (
            (
                cells.number(x / x_unit, first.along.decimals),
                *(found.get(number, cells.none()) for number in range(len(drawn))),
            )
            for (x, _), found in sorted(places.items(), key=itemgetter(0))
        ),
        printed=sum(len(found) for found in places.values()) <= _PRINTED_VALUES,
    )
