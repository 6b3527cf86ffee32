"""What pages of a report say, for a snapshot: sentences, titles, notes, and the rows of tables if wanted."""

from collections.abc import Collection, Iterator

from openpts.pages.model import Figure, Page, Report, Table, Verdict


def words(report: Report, *page_ids: str, rows_of: Collection[str] = ()) -> str:
    """The red lines of the report and, in their order, what these pages say."""
    pages = [page for page in report.pages() if page.id in page_ids]
    assert len(pages) == len(page_ids), [page.id for page in report.pages()]
    lines = [f"! {alert}" for alert in report.alerts()]
    return "\n".join([*lines, *(line for page in pages for line in _of_page(page, rows_of))])


def _of_page(page: Page, rows_of: Collection[str]) -> Iterator[str]:
    yield f"# {page.title}"
    for block in page.blocks:
        match block:
            case Verdict():
                yield f"[{block.tone}] {block.text}"
            case Figure():
                yield f"figure {block.number}: {block.title}"
            case Table():
                yield f"table {block.title} | {block.note}"
                if block.id in rows_of:
                    yield from (
                        f"  {row.head.text}: {', '.join(cell.text for cell in row.cells)}"
                        for row in block.rows
                    )
