"""Rotational Disk by Zones: practice beyond the PTS."""

from typing import Final

from openpts.procedures.extended.hdd.conditions import RotationalConditions
from openpts.procedures.kit.procedure import Procedure

PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=RotationalConditions,
    title="Rotational Disk by Zones",
    short_title="Rotational",
    purpose="""Throughput and IOPS over the zones of a rotational disk, and its access time.

    At full length: in each of 16 zones half a minute each of SEQ 1024 KiB writes and reads and of RND 4 KiB
    reads and writes with 1 and with 32 I/Os outstanding, then the random ones over the whole range: 50
    minutes. No purge and no preconditioning, since a platter has no write history.
    """,
    quick={"step_seconds": 0.5, "zones": 4},
    purges=False,
)
