"""Time to ready.

Purpose
    How soon a drive works again after it was reset, removed or without power, or its firmware was activated.
Source
    Practice beyond the PTS: OCP Datacenter NVMe SSD Specification 2.7, 7.2.1 (TTR-1, TTR-2, TTR-5).
Steps
    Two paced streams go to the drive all the time, of Identify Controller every 2 ms and of 4-KiB reads every
    millisecond. The drive is interrupted, again once both streams have gone on for a while.
Pass rule
    The first Identify succeeds within 1 s of the interruption, the first read within 20 s; a drive that is
    removed is shut down within 10 s. These times have the kernel's driver in them: within a limit is proof
    that it is kept, beyond it is not proof that it is not.
Reported
    First Identify, first read, longest gap of the reads, and the shutdown, of each interruption; medians with
    an interval that holds for any distribution.
"""

from typing import Final

from openpts.procedures.kit.standard import Standard
from openpts.vocabulary.readiness import Interrupt, Way
from openpts.vocabulary.requests import CycleFinished, Outcome, Script
from openpts_nvme.ready import ReadyConditions

standard_conditions: Final = Standard(ReadyConditions, write_cache_enabled=True, after=Way.RESET, repeats=6)


def script(conditions: ReadyConditions, user_capacity_bytes: int) -> Script:
    """Interruption after interruption."""
    del user_capacity_bytes
    for number in range(1, conditions.repeats + 1):
        yield Interrupt(number, conditions.after, conditions.interrupt_command)
    yield CycleFinished(Outcome(None, 0))
