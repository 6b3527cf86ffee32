"""X-Ray: practice beyond the PTS."""

from typing import Annotated, ClassVar, Final

from openpts.fields.conditions import ExtendedConditions
from openpts.fields.field import Field
from openpts.fields.kinds import SECONDS
from openpts.procedures.kit.procedure import Procedure

REGION, TO_HALF, TO_END, AGAIN, PURGED = 1, 2, 3, 4, 5
"""Numbers of Phase.FILL: what pairs of reads read, up to half of the drive, all of it, all of it again, and a
part of the drive when it was purged again."""
SINGLE, PAIRS, ALIGNED, APART, ALIGNED_PURGED = 1, 2, 3, 4, 5
"""Numbers of Phase.SWEEP. Alignments are looked at while the drive collects, and when it was purged again."""
UNTIL_COLLECTION: Final = 1
"""Number of Phase.CONDITIONING: random writes."""
HOT, WARM = 1, 2
"""Numbers of Phase.LOAD: writes to a small part, and writes for as long as the drive becomes warmer."""
CACHE_REST: Final = 1
"""Number of the rest in which a cache may be folded, and of the burst after it; those from 2 on are short."""
RANDOM_WINDOW, HOT_WINDOW = 0.0025, 0.01
"""Windows of random writes, in user capacities."""
RESTS_S: Final = (1.0, 8.0) * 5
"""Rests before bursts, by turns for what was begun before and for collection in idle time as well."""


class XrayConditions(ExtendedConditions, frozen=True, kw_only=True, tag_field="test", tag="xray"):
    """What is written and read is part of the test's definition; ``longest_idle_ns`` bounds its waits.

    ``scale`` is that of a simulated drive: times of the flash and the size of a write buffer are not scaled,
    so that amounts that must be large beside these grow with it.
    """

    unused: ClassVar[frozenset[str]] = frozenset({"active_range"})
    parameters = ("longest_idle_ns", ...)

    longest_idle_ns: Annotated[
        int,
        Field(
            "Longest idle time", "Wait no longer than this for a cache to be emptied in idle time.", SECONDS
        ),
    ]
    scale: Annotated[
        int, Field("Scale of the simulated drive", free="what is simulated of an amount, not what is done")
    ] = 1
    sector_bytes: Annotated[int, Field("Sector", free="what the drive has")] = 512


PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=XrayConditions,
    title="X-Ray",
    short_title="X-Ray",
    question="What is inside the drive: a cache, spare flash, parallel units, the unit of its map, the way "
    "it collects?",
    purpose="""What is inside a drive, found from its rates and latencies alone.

    At full length: a purge, pairs of reads at growing distances, the user capacity written in sequence with
    a break at half, random writes until spare flash runs out, the capacity in sequence once more, and writes
    to a small part of it: some three times the user capacity; and a second purge. Each finding names its
    evidence and how far it can be relied on; what can't be told is left open.
    """,
    quick={"longest_idle_seconds": 60},
    phase_line="openpts_twin.xray.phase_line:phase_line",
)
