"""Pages that several runs have in common, made one: what all say stands once, the rest names its tests.

So eight tests of one drive on one machine have one set-up page, not eight.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from openpts.report.model import Block, Cell, Figure, Page, Repeat, Row, Section, Table, Verdict


def merged_page(pages: Sequence[tuple[str, Page]]) -> Page:
    """One page of the same page of several runs, each with its run's name; a single one stays as it is.

    Tables with the same id are merged row by row, sentences are told once. Figures and their tables belong to
    one run: they keep its name in their titles and ids.
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
                zoom_group=f"{prefix}{block.zoom_group}" if block.zoom_group else "",
            )
        case Repeat(table_id):
            return Repeat(f"{prefix}{table_id}")
        case _:
            return block


@dataclass(slots=True)
class _Rows:
    """The rows of a table as the runs came: each with the names of the runs that have it."""

    table: Table
    rows: list[tuple[Row, list[str]]] = field(default_factory=list)

    def add(self, name: str, table: Table) -> None:
        """Rows that are new stand beside their likes, otherwise where their run has them."""
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


@dataclass(slots=True)
class _Merging:
    """Blocks of pages in the order in which they came; tables by their ids, sentences by what they say."""

    all_names: Sequence[str]
    tables: dict[str, _Rows] = field(default_factory=dict)
    sentences: dict[Verdict, list[str]] = field(default_factory=dict)
    order: list[Block | str] = field(default_factory=list)

    def add(self, name: str, page: Page) -> None:
        own = {block.table_id for block in page.blocks if isinstance(block, Figure)}
        for block in page.blocks:
            match block:
                case Table() if block.id not in own:
                    if block.id not in self.tables:
                        self.tables[block.id] = _Rows(block)
                        self.order.append(block.id)
                    self.tables[block.id].add(name, block)
                case Verdict():
                    if block not in self.sentences:
                        self.order.append(block)
                    self.sentences.setdefault(block, []).append(name)
                case Table():
                    self.order.append(replace(_of_run(block, name), title=f"{name}: {block.title}"))
                case Figure():
                    self.order.append(replace(_of_run(block, name), title=f"{name}: {block.title}"))
                case Repeat():
                    self.order.append(_of_run(block, name))

    def blocks(self) -> tuple[Block, ...]:
        return tuple(self._block(entry) for entry in self.order)

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
