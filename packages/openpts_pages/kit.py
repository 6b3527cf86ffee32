"""Pages as declarations: a table of things, a plot over that table, and the parts derived from both.

Ids, the plot's number, the text that describes it with its ranges, and the page with the reason why there is
nothing to plot, are derived; so nothing can be plotted that can't be read.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Generic, TypeVar

import msgspec
from msgspec import Struct

from openpts.units import NS_PER_MS, format_latency_ms
from openpts.vocabulary.document import filled
from openpts_pages import cells
from openpts_pages.model import (
    HEIGHT_PX,
    WIDTH_PX,
    Axis,
    Band,
    Block,
    Cell,
    Column,
    Figure,
    Mark,
    Page,
    PlotRule,
    Row,
    Series,
    Table,
    Verdict,
)

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)
C = TypeVar("C")

_HEAD: Final = re.compile(r"(?P<label>.*?)(?::(?P<align>[<^]?)(?P<width>[0-9.]*))?")
_ALIGNED: Final = {"": "right", "<": "left", "^": "center"}
Cells = Sequence[str | Cell]  # a row of a table: its head, then its cells
NO_ROUND = Verdict("No Round was completed: there is nothing to plot.", "fail")


class PlotName(Struct, frozen=True):
    """What a page with a plot is called: its id, the plot's number and the title of both."""

    id: str
    number: str
    title: str


class Required(Struct, frozen=True):
    """A plot or table that the specification demands: its page's id behind the section's name, its number."""

    key: str
    number: str

    def named(self, prefix: str, title: str) -> PlotName:
        """The plot's name in the section of that prefix."""
        return PlotName(f"{prefix}-{self.key}", self.number, title)


class Col(Struct, Generic[T_contra], frozen=True):
    """A column, and its cell of a row's thing. ``place`` is the column's on an axis, where it has one."""

    label: str
    cell: Callable[[T_contra], Cell]
    place: float | None = None
    align: str = "right"
    width: float = 1

    @property
    def column(self) -> Column:
        """Head of the column as the model of pages has it."""
        return Column(self.label, None if self.place is None else float(self.place), self.align, self.width)


def columns_of(*heads: str | Column) -> tuple[Column, ...]:
    """Columns by their labels, between bars: ``Bytes | File:<2 | Found:^``; those that are columns stay.

    Behind a colon stand where a label is aligned, if not right, and its column's width, if not 1.
    """
    split = (one for head in heads for one in (head.split(" | ") if isinstance(head, str) else (head,)))
    return tuple(_column(one) if isinstance(one, str) else one for one in split)


def _column(head: str) -> Column:
    found = _HEAD.fullmatch(head)
    assert found is not None  # noqa: S101 any text is a label
    width = msgspec.json.decode(found["width"] or "1", type=int | float)
    return Column(found["label"], align=_ALIGNED[found["align"] or ""], width=width)


def table(
    table_id: str,
    title: str,
    head: Col[T],
    columns: Iterable[Col[T]],
    things: Iterable[T],
    *,
    group: str = "",
    note: str = "",
    printed: bool | int = True,
) -> Table:
    """A row for each thing; ``printed`` may be the number of cells beyond which it is too long for paper."""
    chosen = (head, *columns)
    rows = [[column.cell(thing) for column in chosen] for thing in things]
    if not isinstance(printed, bool):
        printed = len(rows) * (len(chosen) - 1) <= printed
    heads = [column.column for column in chosen]
    return rows_table(table_id, title, heads, rows, group=group, note=note, printed=printed)


def rows_table(
    table_id: str,
    title: str,
    heads: str | Iterable[str | Column],
    rows: Iterable[Row | Cells],
    *,
    group: str = "",
    note: str = "",
    printed: bool = True,
) -> Table:
    """A table of rows, each its head and its cells; ``heads`` as in ``columns_of``, that of rows first."""
    head, *columns = columns_of(*((heads,) if isinstance(heads, str) else heads))
    made = tuple(row if isinstance(row, Row) else _row(row) for row in rows)
    return Table(table_id, title, head, tuple(columns), made, group, note, printed)


def _row(values: Cells) -> Row:
    head, *others = (one if isinstance(one, Cell) else Cell(one) for one in values)
    return Row(head, tuple(others))


def grid(
    table_id: str,
    title: str,
    head: Col[T],
    columns: Iterable[tuple[Column, C]],
    things: Iterable[T],
    *,
    cell: Callable[[T, C], Cell],
    group: str = "",
    note: str = "",
    printed: bool | int = True,
) -> Table:
    """A row for each thing, a column for each of what ``columns`` pair with their heads."""

    def of(column: Column, key: C) -> Col[T]:
        return Col(column.label, lambda thing: cell(thing, key), column.value, column.align, column.width)

    made = [of(column, key) for column, key in columns]
    return table(table_id, title, head, made, things, group=group, note=note, printed=printed)


def values_of(shown: Table, column: int | None = None) -> list[float]:
    """All numbers of a table, or of one of its columns."""
    found = (row.cells if column is None else (row.cells[column],) for row in shown.rows)
    return [cell.value for cells_of_row in found for cell in cells_of_row if cell.value is not None]


def heads_of(shown: Table) -> list[float]:
    """The numbers of the rows' heads."""
    return [row.head.value for row in shown.rows if row.head.value is not None]


def labels_axis(title: str, labels: Sequence[str]) -> Axis:
    """A place for each label."""
    return Axis(title, "category", (0, len(labels)), (), tuple(labels))


def category_axis(title: str, shown: Table) -> Axis:
    """A place for each row, under its head."""
    return labels_axis(title, [row.head.text for row in shown.rows])


def heat_map(
    name: PlotName,
    shown: Table,
    details_id: str,
    titles: tuple[str, str],
    alt: str,
    *,
    contour_id: str = "",
    height_px: int = 360,
) -> Figure:
    """A table's cells, shaded, each above that of another; ``titles`` are of its columns and its rows."""
    along, up = titles
    return Figure(
        id=name.id,
        number=name.number,
        title=name.title,
        kind="heat",
        table_id=shown.id,
        detail_table_id=details_id,
        contour_table_id=contour_id,
        x=labels_axis(along, [column.label for column in shown.columns]),
        y=category_axis(up, shown),
        alt=f"{name.title}: {alt}",
        palette="mix",
        height_px=height_px,
    )


def column_series(
    shown: Table, *, style: str = "measured", color_of: Callable[[int, Column], int] = lambda n, _column: n
) -> tuple[Series, ...]:
    """A series for each column, called like it."""
    return tuple(
        Series(column.label, "column", (n,), color_of(n, column), style=style)
        for n, column in enumerate(shown.columns)
    )


class Plot(Struct, frozen=True, kw_only=True):
    """A plot over a table: axes, series, and the text of its description behind the title.

    ``y`` may be made of the values plotted. ``alt`` may name ``{count}`` of values, ``{rows}``, and the range
    ``{low}`` and ``{high}``, with ``decimals``, or as response times in ms where these are None.
    """

    x: Axis
    y: Axis | Callable[[Sequence[float]], Axis]
    series: tuple[Series, ...]
    alt: str
    decimals: int | None = 0
    kind: str = "lines"
    rules: tuple[PlotRule, ...] = ()
    bands: tuple[Band, ...] = ()
    marks: tuple[Mark, ...] = ()
    y2: Axis | None = None
    palette: str = "series"
    depth_title: str = ""
    height_px: int = HEIGHT_PX
    width_px: int = WIDTH_PX
    zoom_group: str = ""
    part: str = "plot"

    def over(self, name: PlotName, shown: Table) -> Figure:
        """Figure of the plot, with id, number and title from ``name`` and values from the table ``shown``."""
        values = self._values(shown)
        alt = self.alt
        for name_in_alt, text in (
            ("{count}", str(len(values))),
            ("{rows}", str(len(shown.rows))),
            ("{low}", self._text(min(values, default=0.0))),
            ("{high}", self._text(max(values, default=0.0))),
        ):
            alt = alt.replace(name_in_alt, text)
        return filled(
            Figure,
            self,
            id=f"{name.id}-{self.part}",
            number=name.number,
            title=name.title,
            table_id=shown.id,
            y=self.y if isinstance(self.y, Axis) else self.y(values),
            alt=f"{name.title}: {alt}",
        )

    def _values(self, shown: Table) -> list[float]:
        """Values of the table's rows or columns that the series draw."""
        lines = {(series.by, line) for series in self.series for line in series.lines}
        return [
            cell.value
            for r, row in enumerate(shown.rows)
            for c, cell in enumerate(row.cells)
            if cell.value is not None and (("row", r) in lines or ("column", c) in lines)
        ]

    def _text(self, value: float) -> str:
        if self.decimals is None:
            return format_latency_ms(value * NS_PER_MS)
        return cells.fixed(value, self.decimals)


def page(name: PlotName, *blocks: Block | None, mandatory: bool = True) -> Page:
    """A page of the blocks that there are."""
    shown = tuple(block for block in blocks if block is not None)
    return Page(name.id, name.title, shown, mandatory=mandatory)


def page_of(name: PlotName, *blocks: Block | None, absent: str) -> Page:
    """A required page of the blocks that there are; without one, of the reason why."""
    shown = [block for block in blocks if block is not None]
    return page(name, *(shown or [Verdict(f"{name.title}: n/a ({absent}).", "fail")]))


def plot_page(
    name: PlotName,
    lead: Block | None,
    plot: Callable[[Table], Plot],
    shown: Table,
    *below: Block | None,
    absent: Verdict = NO_ROUND,
    mandatory: bool = True,
) -> Page:
    """A plot with the text ``below`` it and its table; ``absent`` in their place if there is no value."""
    if not values_of(shown):
        return page(name, lead, absent, mandatory=mandatory)
    return page(name, lead, plot(shown).over(name, shown), *below, shown, mandatory=mandatory)
