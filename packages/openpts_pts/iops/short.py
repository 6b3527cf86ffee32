"""IOPS in the short report: what readers of TKperf know, out of the pages of the full one."""

from collections.abc import Sequence

from openpts_pages.model import HEIGHT_PX, Block, Section
from openpts_pts.iops import IopsConditions
from openpts_pts.shared.short_report import (
    Picked,
    preparation,
    reordered,
    rounds_text,
    steady_state_table,
    verification,
)


# TKP-IOPS-01 to 04
def introduction(sections: Sequence[Section], conditions: IopsConditions) -> str:
    """What was done, as recorded."""
    loops = rounds_text(conditions)
    return f"The test: {preparation(Picked(sections[0]))}; then {loops} IOPS of reads and writes are added."


# TKP-IOPS-05 to 08
def blocks(sections: Sequence[Section], conditions: IopsConditions) -> list[Block]:
    """In the order of TKperf's report."""
    (section,) = sections
    picked = Picked(section)
    averages = picked.any_table(f"{section.test}-iops-table")
    title = "Average IOPS by block size and R/W mix"
    return [
        steady_state_table(picked, "a3", picked.sentences("a1-rw0"), conditions.tracking),
        *picked.plot(
            "a1-rw0",
            "IOPS of random writes in each Round, a line for each block size: level lines at "
            "the right mean that the drive has settled.",
        ),
        *picked.plot("a3", verification("IOPS", conditions.tracking)),
        *picked.plot(
            "a7",
            "Average IOPS in the measurement window over block size, a line for each mix of reads "
            "and writes.",
        ),
        *picked.plot(
            "a8",
            "The same averages as columns: block size from left to right, the mix in depth.",
            most_px=HEIGHT_PX,
        ),
        *([reordered(averages, f"short-{section.test}-summary", title, columns=True)] if averages else []),
    ]
