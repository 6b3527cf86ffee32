"""Tables of facts: an item, its value, and where it was read."""

from collections.abc import Iterable
from typing import Final

from openpts.vocabulary.facts import Facts
from openpts_pages.kit import rows_table
from openpts_pages.model import Cell, Table
from openpts_pages.texts import NOT_REPORTED, capitalised, value_text

_UNITS: Final = frozenset({"ns", "us", "ms", "bytes", "MB/s", "iops"})
_TERMS: Final = {
    "io": "I/O",
    "io-uring": "io_uring",
    "cpu": "CPU",
    "qd1": "QD 1",
    "nowait": "NOWAIT",
    "iops": "IOPS",
}


def items_table(
    table_id: str, title: str, items: Iterable[tuple[str, str | Cell]], *, note: str = ""
) -> Table:
    """Two columns: item and value."""
    return rows_table(table_id, title, "Item:< | Value:<2.6", items, note=note)


def sourced_table(
    table_id: str, title: str, rows: Iterable[tuple[str, str, str]], *, note: str = ""
) -> Table:
    """Three columns: item, value and source."""
    return rows_table(
        table_id,
        title,
        "Item:< | Value:<1.7 | Source:<1.3",
        (
            (item, Cell(value, tone="missing" if value == NOT_REPORTED else ""), source)
            for item, value, source in rows
        ),
        note=note,
    )


def sourced(label: str, facts: Facts, key: str, absent: str = NOT_REPORTED) -> tuple[str, str, str]:
    """One row of ``sourced_table`` from a fact, or from its absence."""
    fact = facts.get(key)
    if fact is None:
        return label, absent, "-"
    return label, value_text(fact, absent), fact.source or "-"


def remaining(facts: Facts, shown: Iterable[str]) -> list[tuple[str, str, str]]:
    """Rows for all facts that have no other row, so that nothing recorded is left out."""
    known = set(shown)
    return [
        (_label(key), value_text(fact), fact.source or "-") for key, fact in facts.items() if key not in known
    ]


def _label(key: str) -> str:
    first, *others = key.replace("io_uring", "io-uring").replace("_mb_per_s", "_MB/s").split("_")
    last = others.pop() if others and others[-1] in _UNITS else ""
    unit = f", {_TERMS.get(last, last)}" if last else ""
    # a term of the field keeps its own way of writing
    return (
        " ".join((_TERMS.get(first, capitalised(first)), *(_TERMS.get(part, part) for part in others))) + unit
    )
