"""Trims: practice beyond the PTS."""

from typing import Annotated, Final

from openpts.fields import usual
from openpts.fields.conditions import ExtendedConditions
from openpts.fields.field import AMOUNT, DEPTH, SIZE, THREADS, Field, count, listed, number, percent
from openpts.procedures.kit.procedure import Procedure

BEFORE: Final = 1
BESIDE: Final = 2
AFTER: Final = 3
"""Numbers of the loads: without trims, with them, and without them again."""


class TrimConditions(ExtendedConditions, frozen=True, kw_only=True, tag_field="test", tag="trim"):
    """Trims of each of ``sizes_bytes`` with each of ``qds`` outstanding, then reads and writes beside trims.

    Each point trims what was written just before: as many times its size as fit into ``range_bytes``, but not
    more than ``trims``, and for ``minute_ns`` at the most. Reads and writes come at ``read_load_pct`` and
    ``write_load_pct`` of the rates that the drive reaches alone, for ``minute_ns`` without trims, with
    ``beside_per_s`` trims of ``beside_size_bytes``, and without again. A thread has one trim outstanding.
    ``scale`` is that of a simulated drive.
    """

    parameters = (
        "sizes_bytes",
        "qds",
        "trims",
        "range_bytes",
        "beside_size_bytes",
        "beside_per_s",
        "beside_qd",
        "read_load_pct",
        "write_load_pct",
        "tc",
        "qd",
        ...,
    )

    sizes_bytes: Annotated[
        tuple[int, ...], Field("Sizes of trims", "Sizes of the trims, one after the other.", listed(SIZE))
    ]
    qds: Annotated[
        tuple[int, ...],
        Field(
            "Trims outstanding",
            "Numbers of trims outstanding, each from a thread of its own.",
            listed(THREADS),
            text="QD {}",
        ),
    ]
    trims: Annotated[
        int, Field("Trims at most", "Trim no more often at any point.", count(1, 10_000_000), amount=True)
    ]
    range_bytes: Annotated[
        int, Field("Range", "Write and trim at most this much at any point.", AMOUNT, amount=True)
    ]
    beside_size_bytes: Annotated[
        int, Field("Size of trims beside", "Size of the trims beside reads and writes.", SIZE)
    ]
    beside_per_s: Annotated[
        float,
        Field(
            "Trims beside, per second",
            "Trims per second beside reads and writes.",
            number(gt=0, le=1_000_000),
            name="beside_rate",
        ),
    ]
    beside_qd: Annotated[
        int,
        Field(
            "Trims beside, outstanding", "Most trims outstanding beside reads and writes.", THREADS, rare=True
        ),
    ]
    read_load_pct: Annotated[
        float,
        Field(
            "Load of reads (%)",
            "Rate of the reads, as per cent of what the drive reaches without other I/O.",
            percent(gt=0, le=100),
        ),
    ]
    write_load_pct: Annotated[
        float,
        Field(
            "Load of writes (%)",
            "Rate of the writes, as per cent of what the drive reaches without other I/O.",
            percent(gt=0, le=100),
        ),
    ]
    random_block_size_bytes: Annotated[
        int, usual.RANDOM_BLOCK_SIZE.but(help="Block size of the reads and writes.")
    ]
    sequential_block_size_bytes: Annotated[
        int, usual.SEQUENTIAL_BLOCK_SIZE.but(help="Block size in which the data to be trimmed is written.")
    ]
    tc: Annotated[int, usual.TC.but(help="Thread count of the reads, and of the writes.")]
    qd: Annotated[
        int, Field("Queue depth (QD)", "Queue depth of each of these threads.", DEPTH, text="QD {}")
    ]
    precondition_passes: Annotated[
        float, usual.PRECONDITION_PASSES.but(help="Times the user capacity written at first.")
    ]
    scale: Annotated[
        int, Field("Scale of the simulated drive", free="what is simulated of a point, not what is done")
    ] = 1


PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=TrimConditions,
    title="Trims",
    short_title="Trims",
    question="How fast does the drive trim? What do trims cost the reads and writes beside them? What "
    "is read from LBAs that were trimmed?",
    purpose="""How fast a drive trims, what trims cost the I/O beside them, and what is read afterwards.

    At full length: a purge, the user capacity written once, up to 32 GiB written and trimmed at each size and
    queue depth. Five minutes of reads and writes follow, one of them during trims. Reads of trimmed LBAs are
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
