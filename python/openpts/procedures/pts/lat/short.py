"""Latency in the short report: what readers of TKperf know, out of the pages of the full one."""

from collections.abc import Sequence
from typing import Final

from openpts.pages.model import Block, Section
from openpts.procedures.shared.short_report import Picked, steady_state_table, verification

# TKP-LAT-01, 02
INTRODUCTION: Final = (
    "The test: a purge and preconditioning, then one job with one I/O in flight, in Rounds through "
    "reads, the mix and writes, and within each through the block sizes."
)


# TKP-LAT-03, 04
def blocks(sections: Sequence[Section]) -> list[Block]:
    """In the order of TKperf's report."""
    (section,) = sections
    picked = Picked(section)
    convergence = "Mean latency of random {} in each Round, a line for each block size."
    return [
        steady_state_table(picked, "window-1", picked.sentences("convergence-rw0")),
        *picked.plot("convergence-rw100", convergence.format("reads")),
        *picked.plot("convergence-rw65", convergence.format("I/Os of which 65 % are reads")),
        *picked.plot("convergence-rw0", convergence.format("writes")),
        *picked.plot("window-1", verification("Mean latency of random writes of 4 KiB"), printed=True),
        *picked.plot(
            "3d-average",
            "Average latency in the measurement window, for each block size and mix.",
            printed=True,
        ),
        *picked.plot(
            "3d-maximum",
            "Longest latency in the measurement window, for each block size and mix.",
            printed=True,
        ),
    ]
