"""Merges pages that several runs have in common: what is the same for all is shown once, the rest names its
runs.

So eight tests of one drive on one machine have one set-up page, not eight.
"""

from collections.abc import Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from openpts_pages.model import Answer, Block, Cell, Figure, Page, Repeat, Row, Section, Table, Verdict


def merged_page(pages: Sequence[tuple[str, Page]]) -> Page:
    """One page of the same page of several runs, each with its run's name; a single one stays as it is.

    Tables with the same id are merged row by row, equal sentences are shown once. Figures and their tables
    belong to one run: they keep its name in their titles and ids.
    """
    first = pages[0][1]
    if len(pages) == 1:
        return first
    names = tuple(name for name, _ in pages)
    merging = _Merging(names)
    for name, page in pages:
        merging.add(name, page)
    return replace(first, blocks=merging.blocks(), mandatory=any(page.mandatory for _, page in pages))


def prefixed(section: Section, prefix: str) -> Section:
    """The section with ids of its own, where a report has the same test twice."""
    pages = tuple(
        replace(
            page, id=f"{prefix}{page.id}", blocks=tuple(_with_prefix(block, prefix) for block in page.blocks)
        )
        for page in section.pages
    )
    return replace(section, test=f"{prefix}{section.test}", pages=pages)


def _with_prefix(block: Block, prefix: str) -> Block:
    match block:
        case Table():
            return replace(block, id=f"{prefix}{block.id}")
        case Figure():
            return replace(
                block,
                id=f"{prefix}{block.id}",
                table_id=f"{prefix}{block.table_id}",
                detail_table_id=f"{prefix}{block.detail_table_id}" if block.detail_table_id else "",
                contour_table_id=f"{prefix}{block.contour_table_id}" if block.contour_table_id else "",
                zoom_group=f"{prefix}{block.zoom_group}" if block.zoom_group else "",
            )
        case Repeat(table_id):
            return Repeat(f"{prefix}{table_id}")
        case _:
            return block


class _Rows(Struct):
    """The rows of a table as the runs came: each with the names of the runs that have it."""

    table: Table
    rows: list[tuple[Row, list[str]]] = field(default_factory=list)

    def add(self, name: str, table: Table) -> None:
        """New rows go beside rows of the same head, otherwise where their run has them."""
        place = 0
        for row in table.rows:
            found = next((n for n, (known, _) in enumerate(self.rows) if known == row), None)
            if found is not None:
                names = self.rows[found][1]
                if name not in names:
                    names.append(name)
                place = found + 1
                continue
            likes = [n for n, (known, _) in enumerate(self.rows) if known.head.text == row.head.text]
            place = likes[-1] + 1 if likes else place
            self.rows.insert(place, (row, [name]))
            place += 1

    def merged(self, all_names: Sequence[str]) -> Table:
        """The table; rows that not all runs have name theirs."""
        rows = tuple(
            row if len(names) == len(all_names) else replace(row, head=_named(row.head, names))
            for row, names in self.rows
        )
        return replace(self.table, rows=rows)


def _named(head: Cell, names: Sequence[str]) -> Cell:
    return replace(head, text=f"{head.text} ({', '.join(names)})")


class _Merging(Struct):
    """Blocks of pages in the order in which they came; tables by their ids, sentences by their text."""

    all_names: Sequence[str]
    tables: dict[str, _Rows] = field(default_factory=dict)
    sentences: dict[Verdict, list[str]] = field(default_factory=dict)
    order: list[Block | str] = field(default_factory=list)

    def add(self, name: str, page: Page) -> None:
        """Take in the page of one more run."""
        own = {block.table_id for block in page.blocks if isinstance(block, Figure)}
        place = 0
        for block in page.blocks:
            place = self._add_block(name, block, place, alone=isinstance(block, Table) and block.id in own)

    def blocks(self) -> tuple[Block, ...]:
        """What the merged page shows."""
        return tuple(self._block(entry) for entry in self.order)

    def _add_block(self, name: str, block: Block, place: int, *, alone: bool) -> int:
        """Adds a block of one run; returns the place for the next block of the same page."""
        match block:
            case Table() if not alone:
                known = block.id in self.tables
                self.tables.setdefault(block.id, _Rows(block)).add(name, block)
                return self.order.index(block.id) + 1 if known else self._insert(block.id, place)
            case Verdict():
                known = block in self.sentences
                self.sentences.setdefault(block, []).append(name)
                return self.order.index(block) + 1 if known else self._insert(block, place)
            case Table():
                return self._insert(replace(_of_run(block, name), title=f"{name}: {block.title}"), place)
            case Figure():
                return self._insert(replace(_of_run(block, name), number=f"{block.number} {name}"), place)
            case Repeat():
                return self._insert(_of_run(block, name), place)
            case Answer():
                return self._insert(block, place)

    def _insert(self, entry: Block | str, place: int) -> int:
        """Inserts behind the blocks that other runs have at this place; returns the place after it."""
        while place < len(self.order) and not isinstance(self.order[place], str):
            place += 1
        self.order.insert(place, entry)
        return place + 1

    def _block(self, entry: Block | str) -> Block:
        if isinstance(entry, str):
            return self.tables[entry].merged(self.all_names)
        if isinstance(entry, Verdict):
            names = self.sentences[entry]
            said_by_all = len(names) == len(self.all_names)
            return entry if said_by_all else replace(entry, text=f"{', '.join(names)}: {entry.text}")
        return entry


def _of_run(block: Table | Figure | Repeat, name: str) -> Table | Figure:
    return _with_prefix(block, f"{name.lower().replace(' ', '-')}-")  # type: ignore[return-value]
