"""The rows of tables as markup: a report has ten thousand cells, too many for a template's macro."""

from collections.abc import Mapping

from markupsafe import Markup, escape

from openpts.pages.model import Cell, Column, Table


def rows_markup(table: Table, titles: Mapping[str, str]) -> Markup:
    """The table's body; ``titles`` are those of the pages that cells may link to, by id.

    Cells stand right unless their class says otherwise: most hold numbers.
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
    words = " ".join(word for word in (column.align if column.align != usual else "", tone) if word)
    return f' class="{escape(words)}"' if words else ""


def _content(cell: Cell, titles: Mapping[str, str]) -> str:
    text = str(escape(cell.text))
    if cell.link in titles:
        text = _link(cell, titles[cell.link], text)
    elif cell.struck:
        text = f'<s>{text}</s><span class="unseen"> (struck through: not kept)</span>'
    return f"{text}<small>{escape(cell.note)}</small>" if cell.note else text


def _link(cell: Cell, title: str, text: str) -> str:
    """Without a text of its own a link is short, with the page's title for those who hover or listen."""
    name = "" if cell.text else f' aria-label="{escape(title)}" title="{escape(title)}"'
    return f'<a href="#{escape(cell.link)}"{name}>{text or "show"}</a>'
