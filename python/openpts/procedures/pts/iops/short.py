"""IOPS in the short report: what readers of TKperf know, out of the pages of the full one."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from openpts.pages.model import Block, Section
from openpts.procedures.shared.short_report import Picked, steady_state_table, verification

# TKP-IOPS-01 to 04
INTRODUCTION: Final = (
    "The test: a purge and sequential preconditioning, then Rounds through the workloads from all "
    "reads to all writes, and within each through the block sizes from the largest to the smallest."
)


# TKP-IOPS-05 to 08
def blocks(sections: Sequence[Section]) -> list[Block]:
    """In the order of TKperf's report."""
    (section,) = sections
    picked = Picked(section)
    return [
        steady_state_table(picked, "a3", picked.sentences("a1-rw0")),
        *picked.plot(
            "a1-rw0",
            "IOPS of random writes in each Round, a line for each block size: level lines at "
            "the right mean that the drive has settled.",
        ),
        *picked.plot("a3", verification("IOPS of random writes of 4 KiB"), printed=True),
        *_summary(picked),
        *picked.plot(
            "a7",
            "Average IOPS in the measurement window over block size, a line for each mix of reads "
            "and writes.",
        ),
        *picked.plot("a8", "The same averages as columns: block size from left to right, the mix in depth."),
    ]


def _summary(picked: Picked) -> list[Block]:
    """The table of averages with the mixes from all reads to all writes."""
    table = picked.any_table(f"{picked.section.test}-iops-table")
    if table is None:
        return []
    rows = tuple(replace(row, cells=row.cells[::-1]) for row in table.rows)
    return [
        replace(
            table,
            id=f"short-{picked.section.test}-summary",
            title="Average IOPS by block size and R/W mix",
            columns=table.columns[::-1],
            rows=rows,
        )
    ]
