"""Latency in the short report: what readers of TKperf know, out of the pages of the full one."""

from collections.abc import Sequence
from typing import Final

from openpts_pages.model import Block, Section
from openpts_pts.lat import LatencyConditions
from openpts_pts.shared.short_report import (
    Picked,
    preparation,
    reordered,
    rounds_text,
    steady_state_table,
    verification,
)

_TABLES: Final = (
    ("Average", "lat-3d-average-values", "mean of the Rounds' averages"),
    ("Max", "lat-3d-maximum-values", "largest of the Rounds"),
    ("Min", "minimum", "smallest of the Rounds"),
)
_COLUMNS_PX: Final = 290


# TKP-LAT-01, 02
def introduction(sections: Sequence[Section], conditions: LatencyConditions) -> str:
    """What was done, as recorded."""
    loops = rounds_text(conditions)
    return f"The test: {preparation(Picked(sections[0]))}; then {loops}"


# TKP-LAT-03, 04
def blocks(sections: Sequence[Section], conditions: LatencyConditions) -> list[Block]:
    """In the order of TKperf's report."""
    (section,) = sections
    picked = Picked(section)
    convergence = "Mean latency of random {} in each Round, a line for each block size."
    tables = [
        reordered(table, f"short-{section.test}-{word.lower()}", f"{word} latency (ms): {how}", rows=True)
        for word, key, how in _TABLES
        if (table := picked.any_table(f"{section.test}-{key}"))
    ]
    return [
        steady_state_table(picked, "window-1", picked.sentences("convergence-rw0"), conditions.tracking),
        *picked.plot("convergence-rw100", convergence.format("reads")),
        *picked.plot("convergence-rw65", convergence.format("I/Os of which 65 % are reads")),
        *picked.plot("convergence-rw0", convergence.format("writes")),
        *picked.plot("window-1", verification("Mean latency", conditions.tracking)),
        *picked.plot(
            "3d-average",
            "Average latency in the measurement window, for each block size and mix.",
            most_px=_COLUMNS_PX,
        ),
        *picked.plot(
            "3d-maximum",
            "Longest latency in the measurement window, for each block size and mix.",
            most_px=_COLUMNS_PX,
        ),
        *tables,
    ]
