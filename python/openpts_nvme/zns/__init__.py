"""Zones: practice beyond the PTS."""

from typing import Annotated, Final

from openpts.fields import usual
from openpts.fields.conditions import ExtendedConditions
from openpts.fields.field import Field
from openpts.fields.kinds import THREADS, count, listed
from openpts.procedures.kit.procedure import Procedure


class ZnsConditions(ExtendedConditions, frozen=True, kw_only=True, tag_field="test", tag="zns"):
    """Zones of a zoned drive: limits, commands, writes and appends, and the write pointer after a kill.

    Each command is timed on ``repeats`` zones. A zone is written at QD 1, others are appended to with each of
    ``qds`` outstanding. A process is killed when ``killed_after`` of its writes are acknowledged.
    """

    parameters = ("qds", "repeats", "killed_after", ...)

    block_size_bytes: Annotated[int, usual.BLOCK_SIZE.but(help="Block size of writes and appends.")]
    qds: Annotated[
        tuple[int, ...],
        Field("Appends outstanding", "Appends outstanding, one zone after the other.", listed(THREADS)),
    ]
    repeats: Annotated[
        int, Field("Zones for each time", "Time each command on so many zones.", count(1, 1000), amount=True)
    ]
    killed_after: Annotated[
        int,
        Field(
            "Writes before the kill",
            "Kill a writer when so many of its writes are acknowledged.",
            count(1, 1_000_000),
            amount=True,
        ),
    ]


PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=ZnsConditions,
    title="Zones",
    short_title="Zones",
    question="Does a zoned drive keep to the limits that it reports, what do its commands on zones take, and "
    "is its write pointer behind all that it acknowledged?",
    purpose="""Limits, commands, writes, appends and write pointers of a zoned drive.

    At full length, some minutes: all zones are reset; zones are opened and made active until the drive takes
    no more; reset and finish are timed on empty, half-written and full zones; zones are written and appended
    to; a writer is killed.
    """,
    quick={"repeats": 2, "killed_after": 50},
    purges=False,
    on_model=False,
    driver="openpts_nvme.zones.driver:ZoneDriver",
)
