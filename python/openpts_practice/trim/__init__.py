"""Trims: practice beyond the PTS."""

from typing import Final

from openpts.procedures.kit.procedure import Procedure
from openpts_practice.trim.conditions import TrimConditions

PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=TrimConditions,
    title="Trims",
    short_title="Trims",
    purpose="""How fast a drive trims, what trims cost the I/O beside them, and what is read afterwards.

    At full length: a purge, the user capacity written once, up to 32 GiB written and trimmed at each size and
    queue depth, and five minutes of reads and writes, one of them beside trims. Reads of trimmed LBAs are
    held against what the drive promises. A drive without trim is refused before anything is erased.
    """,
    quick={
        "step_seconds": 1,
        "precondition_passes": 0.1,
        "sizes": ["4KiB", "1MiB", "16MiB"],
        "qds": [1, 4],
        "range": "256MiB",
        "beside_size": "1MiB",
    },
)
