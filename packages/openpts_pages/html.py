"""Writes the report as one self-contained HTML file: tables and drawings first, interaction on top."""

import base64
import math
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

import jinja2
import msgspec
from markupsafe import Markup, escape

from openpts_pages.model import Block, Cell, Column, Figure, Page, Report, Row, Table
from openpts_pages.plots.series import slot_of
from openpts_pages.plots.svg import inline_svg
from openpts_pages.plots.theme import DARK, LIGHT, PLOT_WIDTH_PX, WEB_FONTS, ColorScheme, vega_config
from openpts_pages.plots.vega_lite import vega_lite_spec

_MOST_ROWS: Final = 5_000
_LEVEL: Final = 6  # the best one takes four times as long for a fortieth of the size


def packed(content: bytes) -> str:
    """Bytes as deflate in base64."""
    return encoded(zlib.compress(content, _LEVEL))


def encoded(deflated: bytes) -> str:
    """What is compressed already, as characters."""
    return base64.b64encode(deflated).decode()


def thinned_report(report: Report) -> tuple[Report, dict[str, dict[str, int]]]:
    """The report with at most 5,000 rows a table, and of each thinned one its own columns and rows."""
    thinned_tables = {
        table.id: {"columns": len(table.columns), "rows": len(table.rows)}
        for table in report.tables().values()
        if len(table.rows) > _MOST_ROWS
    }
    return (report.with_blocks(_thinned) if thinned_tables else report), thinned_tables


def plots_of(report: Report, thinned: dict[str, dict[str, int]]) -> bytes:
    """JSON of the interactive specifications, the configuration of each theme, and what was thinned."""
    tables = report.tables()
    return msgspec.json.encode(
        {
            "config": {
                name: {**vega_config(scheme), "font": WEB_FONTS}
                for name, scheme in (("light", LIGHT), ("dark", DARK))
            },
            "specs": {
                figure.id: vega_lite_spec(figure, tables, interactive=True)
                for figure in report.figures()
                if figure.kind != "columns3d"
            },
            "thinned": thinned,
        }
    )


def _thinned(block: Block) -> Block:
    return thinned_table(block) if isinstance(block, Table) and len(block.rows) > _MOST_ROWS else block


def thinned_table(table: Table) -> Table:
    """The table in at most 5,000 rows, each for as many neighbors.

    The columns hold the means; behind them are all least and then all largest values. The row heads are
    those of the neighbors' first rows.
    """
    size = math.ceil(len(table.rows) / _MOST_ROWS)
    columns = tuple(
        msgspec.structs.replace(column, label=f"{column.label}{what}")
        for what in (", mean", ", least", ", largest")
        for column in table.columns
    )
    rows = tuple(_bucket(table.rows[start : start + size]) for start in range(0, len(table.rows), size))
    return msgspec.structs.replace(table, columns=columns, rows=rows)


def _bucket(rows: Sequence[Row]) -> Row:
    buckets = []
    for cells in zip(*(row.cells for row in rows), strict=True):
        known = [cell for cell in cells if cell.value is not None]
        ends = (_mean(known), min(known, key=_value), max(known, key=_value)) if known else (cells[0],) * 3
        buckets.append(ends)
    return Row(rows[0].head, tuple(cell for kind in zip(*buckets, strict=True) for cell in kind))


def _value(cell: Cell) -> float:
    return cell.value or 0.0


def _mean(cells: Sequence[Cell]) -> Cell:
    """Mean of cells, with as many decimals as the first of them is printed with."""
    value = math.fsum(map(_value, cells)) / len(cells)
    decimals = len(cells[0].text.partition(".")[2])
    return Cell(f"{value:,.{decimals}f}", value)


TEMPLATES: Final = Path(__file__).parent / "templates"
VEGA: Final = TEMPLATES / "vega.js.zlib"
_SCRIPTS: Final = ("values", "views", "cursor", "tables", "page")
_LONGEST_TABLE: Final = 200
_LEAST_VALUES_TO_COLOUR: Final = 3


def render_html(report: Report, drawings: Mapping[str, str], *, embed_full: bool = False) -> str:
    """The whole report; ``drawings`` are the figures' SVGs by id, in light colors.

    It loads nothing from outside the file. Without scripts it shows drawings and tables, and names
    the files of the long ones. Of longer series it holds 5,000 points, or all with ``embed_full``.
    """
    model, thinned = (report, {}) if embed_full else thinned_report(report)
    return template("report.html.j2").render(
        report=report,
        tables=report.tables(),
        titles={page.id: page.title for page in report.pages()},
        of_specification=any(section.header.of_specification for section in report.sections),
        thinned=thinned,
        is_long=_is_long,
        has_heat=_has_heat,
        rows_of=_rows_of,
        rows_markup=rows_markup,
        units_of=_units_of,
        slot_of=slot_of,
        drawings={
            figure.id: inline_svg(drawings[figure.id], figure)
            for figure in report.figures()
            if figure.id in drawings
        },
        style=Markup(_style()),  # noqa: S704 - our own file
        script=Markup(_script()),  # noqa: S704 - our own files
        vega=encoded(VEGA.read_bytes()),
        plots=packed(plots_of(report, thinned)),
        model=packed(msgspec.json.encode(model)),
    )


@cache
def template(name: str) -> jinja2.Template:
    """One of ours, by its name, which escapes all that it is given."""
    ours, strict = jinja2.FileSystemLoader(TEMPLATES), jinja2.StrictUndefined
    environment = jinja2.Environment(
        loader=ours, autoescape=True, undefined=strict, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template(name)


def _is_long(table: Table) -> bool:
    """Whether the page shows the table only on demand, from the model."""
    return not table.printed and table.value_count > _LONGEST_TABLE


def _has_heat(table: Table) -> bool:
    """Whether colors mark small and large values: in a matrix, or in several columns."""
    columns = list(zip(*(row.cells for row in table.rows), strict=True))
    sets = [[cell for column in columns for cell in column]] if table.group else columns
    found = [{cell.value for cell in cells if cell.value is not None} for cells in sets]
    return sum(len(values) >= _LEAST_VALUES_TO_COLOUR for values in found) >= min(2, len(found))


def _rows_of(page: Page) -> list[list[Block]]:
    """The page's blocks in rows: of one block, or of figures that together are no wider than a page."""
    rows: list[list[Block]] = []
    for block in page.blocks:
        row = [*(rows[-1] if rows else ()), block]
        widths = [one.width_px for one in row if isinstance(one, Figure)]
        if len(row) == len(widths) > 1 and sum(widths) <= PLOT_WIDTH_PX:
            rows[-1] = row
        else:
            rows.append([block])
    return rows


def _units_of(figure: Figure) -> list[tuple[str, str]]:
    """What else the axes can be read in: the script's name of the choice, and the button's text."""
    if figure.kind != "lines":
        return []
    titles = (figure.x.title, figure.y.title)
    found = []
    if any("(ms)" in title for title in titles):
        found.append(("time", "ms / us"))
    if figure.transfer_bytes and any(title == "IOPS" or "(MB/s)" in title for title in titles):
        found.append(("rate", "IOPS / MB/s"))
    return found


def _style() -> str:
    """The style sheet behind the colors of both themes."""
    light, dark = _properties(LIGHT), _properties(DARK)
    return (
        f":root{{color-scheme:light;--font:{WEB_FONTS};{light}}}\n"
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}\n"
        f":root[data-theme=dark]{{color-scheme:dark;{dark}}}\n"
        f"@media print{{:root,:root:not(#never),:root[data-theme]{{color-scheme:light;{light}}}}}\n"
        + _text("report.css")
    )


def _properties(scheme: ColorScheme) -> str:
    return "".join(f"--{name}:{color};" for name, color in scheme.tokens().items())


def _script() -> str:
    """The parts of the script in one function, so that nothing of it is seen outside."""
    parts = "\n".join(_text(f"script/{name}.js") for name in _SCRIPTS)
    return f'(() => {{\n"use strict";\nconst root = document.documentElement;\n{parts}}})();'


def _text(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def rows_markup(table: Table, titles: Mapping[str, str]) -> Markup:
    """The table's body; ``titles`` are those of the pages that cells may link to, by id.

    A report has ten thousand cells, too many for a template's macro. Cells are right-aligned unless they have
    another class: most hold numbers.
    """
    head_class = _class(table.head, "", usual="left")
    lines = []
    for row in table.rows:
        cells = (
            f"<td{_class(column, cell.tone, usual='right')}>{_content(cell, titles)}</td>"
            for column, cell in zip(table.columns, row.cells, strict=True)
        )
        lines.append(
            f'<tr><th scope="row"{head_class}>{_content(row.head, titles)}</th>{"".join(cells)}</tr>'
        )
    return Markup("\n".join(lines))  # noqa: S704 - every text is escaped below


def _class(column: Column, tone: str, *, usual: str) -> str:
    names = " ".join(filter(None, (column.align if column.align != usual else "", tone)))
    return f' class="{escape(names)}"' if names else ""


def _content(cell: Cell, titles: Mapping[str, str]) -> str:
    text = str(escape(cell.text))
    if cell.link in titles:
        # without a text of its own a link is short, with the page's title for those who hover or listen
        title = escape(titles[cell.link])
        name = "" if text else f' aria-label="{title}" title="{title}"'
        text = f'<a href="#{escape(cell.link)}"{name}>{text or "show"}</a>'
    elif cell.struck:
        text = f'<s>{text}</s><span class="unseen"> (struck through: not kept)</span>'
    return f"{text}<small>{escape(cell.note)}</small>" if cell.note else text
