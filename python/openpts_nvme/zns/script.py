"""Zones.

Purpose
    Whether a zoned drive keeps to the limits that it reports, what commands on zones take, and whether its
    write pointers are behind all that it acknowledged.
Source
    Practice beyond the PTS: NVMe Zoned Namespace Command Set Specification; linux/blkzoned.h.
Steps
    All zones are reset. Zones are opened until the drive takes no more, then written and closed until it
    takes no more. Reset and finish are timed on empty, half-written and full zones. A zone is written at
    QD 1, others are appended to. A process that writes a zone is killed.
Pass rule
    As many zones can be open and active as the drive reports, no more and no fewer. The write pointer after
    the kill is at the end of the acknowledged writes, or one write further. Each append lies where the drive
    says, and none over another.
Reported
    Layout and limits, times of the commands, throughput of writes and appends, and the write pointer.
"""

from typing import Final

from msgspec.structs import replace

from openpts.procedures.kit.standard import Standard
from openpts.units import KIB
from openpts.vocabulary.requests import CycleFinished, Outcome, Script
from openpts.vocabulary.zones import MeasureZones, zones_in
from openpts_nvme.zns import ZnsConditions

standard_conditions: Final = Standard(
    ZnsConditions, block_size_bytes=64 * KIB, qds=(1, 4, 16), repeats=8, killed_after=500
)


def supported_on(conditions: ZnsConditions, sector_bytes: int) -> ZnsConditions:
    """Writes of whole sectors."""
    size_bytes = max(conditions.block_size_bytes, sector_bytes)
    return replace(conditions, block_size_bytes=size_bytes - size_bytes % sector_bytes)


def script(conditions: ZnsConditions, user_capacity_bytes: int) -> Script:
    """All of it is one request: no figure of it is of a step."""
    del user_capacity_bytes
    answer = yield MeasureZones(
        conditions.block_size_bytes, conditions.qds, conditions.repeats, conditions.killed_after
    )
    zones_in(answer)
    yield CycleFinished(Outcome(None, 0))
