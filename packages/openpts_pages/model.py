"""The report as data: all that PDF, HTML and terminal show, each number once (report.json).

A value is in one cell, raw beside its text; figures point at the cells of tables, so that nothing
can be plotted that can't be read. Renderers compute nothing.

Version 1: front pages, sections with the common header, pages of blocks.
Version 2: several runs in one report, pages behind the tests, links, claims struck through, small figures
side by side, paper, style, redaction.
Version 3: the answer at the front.
"""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

SCHEMA_VERSION: Final = 1
HEIGHT_PX: Final = 380  # of a plot: a field that holds this very object is left out of report.json
WIDTH_PX: Final = 720


class Cell(msgspec.Struct, frozen=True, omit_defaults=True):
    """One cell of a table. ``value`` is the unrounded number in the column's unit, if it is one.

    ``note`` is a second, smaller line that belongs to the value. ``tone`` is ``pass``, ``fail``,
    ``missing`` or empty. ``struck``: a claim that was not kept, struck through. ``link`` is the id of a page
    of this report; where there is a link and no text, print shows the number of that page.
    """

    text: str
    value: float | None = None
    note: str = ""
    tone: str = ""
    struck: bool = False
    link: str = ""


class Column(msgspec.Struct, frozen=True, omit_defaults=True):
    """A column's head. ``value`` is its place on an axis (a round number), where it has one.

    ``align`` is ``left``, ``right`` or ``center``; ``width`` is the share of the page's width, 0 for
    as wide as its content.
    """

    label: str
    value: float | None = None
    align: str = "right"
    width: float = 1


class Row(msgspec.Struct, frozen=True, omit_defaults=True):
    """A row: its head and its cells."""

    head: Cell
    cells: tuple[Cell, ...]


class Table(msgspec.Struct, frozen=True, omit_defaults=True, tag="table"):
    """A table; ``head`` is the heading of the row heads, ``group`` one over all other columns.

    ``printed`` is False for tables too long for paper: the HTML and report.json hold them.
    """

    id: str
    title: str
    head: Column
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    group: str = ""
    note: str = ""
    printed: bool = True

    @property
    def value_count(self) -> int:
        """How many cells hold a number."""
        return sum(cell.value is not None for row in self.rows for cell in row.cells)


class Axis(msgspec.Struct, frozen=True, omit_defaults=True):
    """An axis: ``scale`` is ``linear``, ``log``, ``nines`` or ``category``.

    On a nines scale per cents lie as -log10(1 - value / 100), so that 90, 99, 99.9 % are equally far apart.
    Of a category axis ``labels`` name the places 0, 1, ...; of another one they replace the ticks' numbers.
    ``commas`` is False where the numbers are names, such as the block size 1024.
    """

    title: str
    scale: str
    domain: tuple[float, float]
    ticks: tuple[float, ...]
    labels: tuple[str, ...] = ()
    commas: bool = True


class Series(msgspec.Struct, frozen=True, omit_defaults=True):
    """A series of a figure: cells of the figure's table.

    ``by`` says what ``lines`` are: ``row`` (x from the column heads) or ``column`` (x from the row
    heads). With category axes each line gives the points of one category. ``color`` is an index into
    the figure's palette, from its start again beyond its end. ``style`` is ``measured`` (markers and line),
    ``line``, ``dashed`` (it rests on few I/Os, or lies among other lines), ``points``, ``bars``, ``spline``
    (markers, and a monotone cubic through them), ``mean`` (bold line, no markers), ``fit``, or on a category
    axis ``whiskers`` (from the least point to the largest). A ``range`` is from the cell of its first line to
    that of its second, on a numeric axis as a shaded band.
    Lines go from point to point in the table's order. ``second_axis``: it belongs to the figure's ``y2``.
    """

    label: str
    by: str
    lines: tuple[int, ...]
    color: int
    style: str = "measured"
    emphasis: bool = False
    second_axis: bool = False


class PlotRule(msgspec.Struct, frozen=True, omit_defaults=True):
    """A constant line across the plot at a place on ``axis``; ``style`` is ``average`` or ``limit``.

    Labels of places on y are at the plot's right side, those of places on x above it.
    """

    label: str
    value: float
    style: str
    axis: str = "y"


class Mark(msgspec.Struct, frozen=True, omit_defaults=True):
    """A ringed and labeled point of the plot."""

    label: str
    x: float
    y: float


class Band(msgspec.Struct, frozen=True, omit_defaults=True):
    """A range along ``axis`` (x or y), shaded as ``window`` or ``allowed``, or only labeled: ``plain``.

    Labels are above the plot. Neighbors have different styles.
    """

    axis: str
    start: float
    end: float
    style: str
    label: str = ""


class Figure(msgspec.Struct, frozen=True, omit_defaults=True, tag="figure"):
    """A plot: which cells, on which axes. ``kind`` is lines, bars, strip, heat or columns3d.

    ``bars`` stand on a category axis, side by side for several series, with their cells' texts as labels: a
    series of bars has one line, whose cells belong to the categories 0, 1, ...; points and whiskers have one
    line per category, or one line likewise. On the numeric axes of ``lines`` a series of bars has a bar from
    each x to the next, as histograms have; the last x may have no value and only ends the last bar. A series
    of style ``line`` with thousands of points is drawn as an envelope of minimum and maximum with their mean.
    ``columns3d`` has the table's rows along x and its columns in depth, under ``depth_title``.

    ``number`` is the specification's plot number or ours (``X-IOPS-1``); ``palette`` is ``series`` or
    ``mix``; ``alt`` says in words what the plot shows. A heat map prints the cell of ``detail_table_id``
    below that of ``table_id``; where its rows and columns have values, it has the lines of
    ``contour_table_id`` over the cells: rows of one head and first cell are a line, whose points are the next
    two cells, among the values of the columns and of the rows. Neighbors that together are no wider than a
    page (``width_px`` 240: three) stand side by side. Figures of the same ``zoom_group`` have the same x and
    are zoomed together. ``sides_px`` is the least room left and right of the plot, so that panels lie above
    each other. ``transfer_bytes`` is the size of all its I/Os, 0 where they differ: one size lets IOPS be
    read as MB/s.
    """

    id: str
    number: str
    title: str
    kind: str
    table_id: str
    x: Axis
    y: Axis
    alt: str
    detail_table_id: str = ""
    contour_table_id: str = ""
    series: tuple[Series, ...] = ()
    rules: tuple[PlotRule, ...] = ()
    bands: tuple[Band, ...] = ()
    marks: tuple[Mark, ...] = ()
    y2: Axis | None = None
    palette: str = "series"
    depth_title: str = ""
    height_px: int = HEIGHT_PX
    width_px: int = WIDTH_PX
    zoom_group: str = ""
    sides_px: tuple[float, float] = (0, 0)
    transfer_bytes: int = 0

    @property
    def finding(self) -> str:
        """What the plot shows, in one sentence without its full stop; empty where ``alt`` only names it."""
        return self.alt.removeprefix(self.title).removeprefix(": ").partition(". ")[0].removesuffix(".")


class Answer(msgspec.Struct, frozen=True, omit_defaults=True, tag="answer"):
    """The question of a test, and first key values as large figures.

    ``rows`` are places in the table of key values ``table_id``, whose first cells are label, value and unit;
    ``explanations`` has one of each label without terms of the specification, or is empty.
    ``of_several``: the head of a row, which names its test, belongs to the label.
    """

    question: str
    table_id: str
    rows: tuple[int, ...]
    explanations: tuple[str, ...] = ()
    of_several: bool = False


class Repeat(msgspec.Struct, frozen=True, tag="repeat"):
    """A table of another page, shown again below a plot of its values."""

    table_id: str


class Verdict(msgspec.Struct, frozen=True, omit_defaults=True, tag="verdict"):
    """A sentence with its rule; ``tone`` is ``pass``, ``fail`` or ``info``."""

    text: str
    tone: str = "info"


Block = Figure | Table | Repeat | Verdict | Answer


class Page(msgspec.Struct, frozen=True, omit_defaults=True):
    """A page: ``title`` is the text of the yellow bar; ``mandatory`` if the specification demands it."""

    id: str
    title: str
    blocks: tuple[Block, ...]
    mandatory: bool = False

    @property
    def is_brief(self) -> bool:
        """Whether it has sentences alone, which need no page: most of them say why there is no value."""
        return all(isinstance(block, Verdict) for block in self.blocks)


class HeaderRow(msgspec.Struct, frozen=True):
    """A field of the common header."""

    label: str
    value: str


class HeaderGroup(msgspec.Struct, frozen=True):
    """One of the four column groups; ``tint`` is ``platform``, ``dut``, ``setup`` or ``test``."""

    title: str
    tint: str
    rows: tuple[HeaderRow, ...]


class Header(msgspec.Struct, frozen=True, omit_defaults=True):
    """The common header of all pages of a test (PTS Annex A).

    ``of_specification`` is False for a test beyond it: then the header names no specification.
    """

    test_run_date: str
    report_run_date: str
    bar: str
    title: str
    revision: str
    vendor: str
    model: str
    sponsor: str
    groups: tuple[HeaderGroup, ...]
    of_specification: bool = True


class Section(msgspec.Struct, frozen=True):
    """One test: header, red lines for each of its pages, pages."""

    test: str
    title: str
    header: Header
    alerts: tuple[str, ...]
    pages: tuple[Page, ...]


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A whole report. ``red_line`` is on each page, empty if there is no reason for one.

    ``stem`` is what its files are called where reports of many drives lie together. ``paper`` is ``a4`` or
    ``us-letter``. ``style`` is ``full``, ``specification`` or ``short``.
    ``redacted``: serial numbers are replaced; ``for_customer``: people, paths and the host are left out, too.
    """

    schema_version: int = SCHEMA_VERSION
    title: str
    subtitle: str
    run_name: str
    report_date: str = ""
    red_line: str = ""
    footer: str
    front: tuple[Page, ...]
    sections: tuple[Section, ...] = ()
    back: tuple[Page, ...] = ()
    deviation_count: int = 0
    stem: str = "report"
    paper: str = "a4"
    style: str = "full"
    redacted: bool = False
    for_customer: bool = False

    def pages(self) -> tuple[Page, ...]:
        """All pages in order."""
        return (*self.front, *(page for section in self.sections for page in section.pages), *self.back)

    def with_blocks(self, block_of: Callable[[Block], Block]) -> "Report":
        """The report with another block in the place of each."""

        def pages(own: Sequence[Page]) -> tuple[Page, ...]:
            return tuple(replace(page, blocks=tuple(map(block_of, page.blocks))) for page in own)

        sections = tuple(replace(section, pages=pages(section.pages)) for section in self.sections)
        return replace(self, front=pages(self.front), sections=sections, back=pages(self.back))

    def alerts(self) -> tuple[str, ...]:
        """The red lines of the report and of all tests, each once."""
        lines = (self.red_line, *(line for section in self.sections for line in section.alerts))
        return tuple(dict.fromkeys(line for line in lines if line))

    def tables(self) -> dict[str, Table]:
        """All tables by id."""
        return {block.id: block for page in self.pages() for block in page.blocks if isinstance(block, Table)}

    def figures(self) -> tuple[Figure, ...]:
        """All figures in order."""
        return tuple(block for page in self.pages() for block in page.blocks if isinstance(block, Figure))


def points_of(series: Series, table: Table) -> list[tuple[float, float]]:
    """The (x, y) of a series on numeric axes, without the cells that hold no number."""
    return [(x, y) for x, y in _pairs_of(series, table) if x is not None and y is not None]


def bars_of(series: Series, table: Table) -> list[tuple[float, float, float]]:
    """(from, to, value) of a series of bars on numeric axes: each reaches to the next x of the table.

    A last x with a value has a bar as long as the one before it, or 1 if it is alone.
    """
    places = [(x, value) for x, value in _pairs_of(series, table) if x is not None]
    if not places:
        return []
    last = places[-1][0]
    ends = [x for x, _ in places[1:]] + [last + (last - places[-2][0] if len(places) > 1 else 1)]
    return [(x, end, value) for (x, value), end in zip(places, ends, strict=True) if value is not None]


def _pairs_of(series: Series, table: Table) -> list[tuple[float | None, float | None]]:
    line = series.lines[0]
    if series.by == "column":
        return [(row.head.value, row.cells[line].value) for row in table.rows]
    cells = table.rows[line].cells
    return [(column.value, cell.value) for column, cell in zip(table.columns, cells, strict=True)]
