"""All that is on pages of a report, in lines for a snapshot."""

from collections.abc import Iterator

from openpts_pages.model import Axis, Cell, Figure, Page, Report, Section, Table, Verdict

_MOST_ROWS = 20
"""Of a longer table the first and the last rows stand for all."""


def transcript_of(report: Report, *page_ids: str) -> str:
    """Cover, headers and pages of the tests, or these pages: plots with axes and series, tables."""
    lines = [f"! {alert}" for alert in report.alerts()]
    if page_ids:
        pages = {page.id: page for page in report.pages()}
        return "\n".join([*lines, *(line for name in page_ids for line in lines_of(pages[name]))]) + "\n"
    lines += [f"{report.title} | {report.subtitle} | {report.footer.partition('  |  ')[0]}"]
    lines += [f"pages before and behind: {', '.join(_name(page) for page in (*report.front, *report.back))}"]
    lines += lines_of(report.front[0])
    return "\n".join([*lines, *(line for section in report.sections for line in _section(section))]) + "\n"


def _section(section: Section) -> Iterator[str]:
    header = section.header
    yield f"\n=== {section.title} | {header.title} | {header.bar} | {header.revision}"
    for group in header.groups:
        yield f"{group.title}: {'; '.join(f'{row.label} = {row.value}' for row in group.rows)}"
    for page in section.pages:
        yield from lines_of(page)


def _name(page: Page) -> str:
    return f"{page.id} (mandatory)" if page.mandatory else page.id


def lines_of(page: Page) -> Iterator[str]:
    """A page in lines."""
    yield f"\n# {_name(page)}: {page.title}"
    for block in page.blocks:
        match block:
            case Verdict():
                yield f"[{block.tone}] {block.text}"
            case Figure():
                yield from _figure(block)
            case Table():
                yield from _table(block)


def _figure(figure: Figure) -> Iterator[str]:
    axes = [figure.x, figure.y, *([figure.y2] if figure.y2 else [])]
    yield f"{figure.number} {figure.kind} of {figure.table_id}: {figure.title}"
    zoom = f" | zoomed with {figure.zoom_group}" * bool(figure.zoom_group)
    yield f"  {' / '.join(_axis(axis) for axis in axes)} | {figure.alt}{zoom}"
    parts = (
        ("series", [f"{one.label or '-'} ({one.style}{', bold' * one.emphasis})" for one in figure.series]),
        ("rules", [f"{one.label} at {one.axis} {one.value:.6g}" for one in figure.rules]),
        ("marks", [f"{one.label} at {one.x:.6g}, {one.y:.6g}" for one in figure.marks]),
        ("bands", [f"{one.label or one.style} {one.start:.6g} to {one.end:.6g}" for one in figure.bands]),
    )
    yield from (f"  {name}: {'; '.join(found)}" for name, found in parts if found)


def _axis(axis: Axis) -> str:
    if axis.labels:
        return f"{axis.title}: {', '.join(axis.labels)}"
    low, high = axis.domain
    return f"{axis.title}, {axis.scale} {low:.4g} to {high:.4g}"


def _table(table: Table) -> Iterator[str]:
    yield f"{table.id}: {table.title}{' | ' * bool(table.note)}{table.note}"
    yield f"  {table.head.label}: {', '.join(column.label for column in table.columns)}"
    rows = [f"  {_cell(row.head)}: {', '.join(_cell(cell) for cell in row.cells)}" for row in table.rows]
    if len(rows) > _MOST_ROWS:
        rows[4:-2] = [f"  ... {len(rows) - 6} rows"]
    yield from rows


def _cell(cell: Cell) -> str:
    text = f"~{cell.text}~" if cell.struck else cell.text
    return text + f" ({cell.note})" * bool(cell.note) + f" [{cell.tone}]" * bool(cell.tone)
