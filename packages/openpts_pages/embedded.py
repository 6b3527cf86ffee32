"""What the page holds for its script: the model once, specifications without data, the Vega libraries.

Each text is packed as deflate in base64, which browsers since 2023 unpack by themselves. The same text gives
the same characters: zlib writes neither time nor name.
"""

import base64
import math
import zlib
from collections.abc import Sequence
from typing import Final

import msgspec

from openpts_pages.model import Block, Cell, Page, Report, Row, Table
from openpts_pages.plots.theme import DARK, LIGHT, WEB_FONTS, vega_config
from openpts_pages.plots.vega_lite import vega_lite_spec

_MOST_ROWS: Final = 5_000
_LEVEL: Final = 6  # the best one takes four times as long for a fortieth of the size


def packed(text: str | bytes) -> str:
    """A text as deflate in base64."""
    content = text.encode() if isinstance(text, str) else text
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
    if not thinned_tables:
        return report, thinned_tables
    sections = tuple(
        msgspec.structs.replace(section, pages=_thinned_pages(section.pages)) for section in report.sections
    )
    front, back = _thinned_pages(report.front), _thinned_pages(report.back)
    return msgspec.structs.replace(report, front=front, sections=sections, back=back), thinned_tables


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


def _thinned_pages(pages: Sequence[Page]) -> tuple[Page, ...]:
    return tuple(
        msgspec.structs.replace(page, blocks=tuple(_thinned_block(block) for block in page.blocks))
        for page in pages
    )


def _thinned_block(block: Block) -> Block:
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
    means: list[Cell] = []
    lows: list[Cell] = []
    highs: list[Cell] = []
    for cells in zip(*(row.cells for row in rows), strict=True):
        known = [cell for cell in cells if cell.value is not None]
        if not known:
            means, lows, highs = [*means, cells[0]], [*lows, cells[0]], [*highs, cells[0]]
            continue
        lows.append(min(known, key=_value))
        highs.append(max(known, key=_value))
        means.append(_mean(known))
    return Row(rows[0].head, (*means, *lows, *highs))


def _value(cell: Cell) -> float:
    return cell.value or 0.0


def _mean(cells: Sequence[Cell]) -> Cell:
    """Mean of cells, with as many decimals as the first of them is printed with."""
    value = math.fsum(map(_value, cells)) / len(cells)
    decimals = len(cells[0].text.partition(".")[2])
    return Cell(f"{value:,.{decimals}f}", value)


def embeddable(report: Report, *, full: bool) -> tuple[bytes, dict[str, dict[str, int]]]:
    """The model that the page holds, as report.json has it, and what was thinned of it unless it is full."""
    if full:
        return msgspec.json.encode(report), {}
    thinned, thinned_tables = thinned_report(report)
    return msgspec.json.encode(thinned), thinned_tables
