"""Throughput in the short report: what readers of TKperf know, out of the pages of the full one."""

from collections.abc import Sequence
from typing import Final

from openpts.pages.model import Block, Column, Row, Section, Table, Verdict
from openpts.procedures.shared.short_report import Picked, steady_state_table, verification

# TKP-TP-01, 02
INTRODUCTION: Final = (
    "The test, for each block size: a purge, sequential preconditioning, then Rounds of sequential "
    "reads and writes."
)


# TKP-TP-03, 04
def blocks(sections: Sequence[Section]) -> list[Block]:
    """In the order of TKperf's report."""
    blocks: list[Block] = []
    for section in sections:
        picked = Picked(section)
        size = section.title.rpartition(" - ")[2]
        blocks += [
            Verdict(f"{size}:"),
            steady_state_table(picked, "window", picked.sentences("write")),
            *picked.plot("write", f"Sequential writes of {size}: MB/s (base 10) in each Round."),
            *picked.plot("read", f"Sequential reads of {size}: MB/s (base 10) in each Round."),
            *picked.plot("window", verification(f"MB/s of sequential writes of {size}"), printed=True),
            *picked.plot("bars", f"Average MB/s of reads and writes of {size} in the measurement window."),
        ]
    return [*_summary(sections), *blocks]


def _summary(sections: Sequence[Section]) -> list[Block]:
    """Reads and writes of each block size in one table."""
    rows = []
    for section in sections:
        table = Picked(section).any_table(f"{section.test}-table")
        if table is None:
            continue
        by_read_pct = {column.value: n for n, column in enumerate(table.columns)}
        rows += [
            Row(row.head, tuple(row.cells[by_read_pct[read_pct]] for read_pct in (100, 0)))
            for row in table.rows
        ]
    if not rows:
        return []
    columns = (Column("Read"), Column("Write"))
    head = Column("Block size (KiB)", width=0.62)
    table_id = f"short-{sections[0].test}-summary"
    return [Table(table_id, "Average MB/s (base 10) by block size", head, columns, tuple(rows))]
