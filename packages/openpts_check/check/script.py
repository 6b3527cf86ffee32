"""Questions about a disk in use.

Purpose
    Whether a disk is good enough for what its owner wants of it, without consent to erase anything.
Source
    Practice beyond the PTS; each purpose names who published the bounds that it is held against.
Steps
    The part that is used is written once, where a purpose reads; then all loads of the purpose, three times.
Pass rule
    Each figure keeps its bound in all repeats. One that keeps it in some of them has no verdict.
Reported
    Three figures with their bounds, how far the repeats differ, and what to do next.
"""

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from openpts.procedures.kit.ledger import Standard
from openpts.units import GB, MIB, NS_PER_S
from openpts.vocabulary.requests import Apply, CycleFinished, Outcome, Script
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, ByteAmount, Duration, Step, Stimulus
from openpts_check.check import CheckConditions
from openpts_check.purpose import Asked, Load, purpose_named

standard_conditions: Final = Standard(
    CheckConditions, purpose="commit", size_bytes=1 * GB, repeats=3, heat_ns=0, minute_ns=9 * NS_PER_S
)


def supported_on(conditions: CheckConditions, sector_bytes: int) -> CheckConditions:
    """Whole pieces of the target."""
    del sector_bytes
    return replace(conditions, size_bytes=max(MIB, conditions.size_bytes - conditions.size_bytes % MIB))


def script(conditions: CheckConditions, user_capacity_bytes: int) -> Script:
    """Data everywhere, then the loads, again and again."""
    purpose = purpose_named(conditions.purpose)
    asked = asked_of(conditions, user_capacity_bytes)
    if purpose.fills:
        writes = Stimulus.of(AccessPattern.SEQUENTIAL, MIB, 0, 1, 8, asked.part)
        filled = Step.of(replace(writes, data=conditions.data), ByteAmount(asked.part_bytes))
        yield Apply(Phase.CONDITIONING, 1, (filled,))
    loads = purpose.loads(asked)
    for number in range(1, conditions.repeats + 1):
        again = tuple(load for load in loads if not load.once)
        yield Apply(Phase.PROFILE, number, tuple(_steps(again, conditions)), conditions.repeats)
    if once := tuple(load for load in loads if load.once):
        yield Apply(Phase.LOAD, 1, tuple(_steps(once, conditions)))
    yield CycleFinished(Outcome(None, 0))


def asked_of(conditions: CheckConditions, user_capacity_bytes: int) -> Asked:
    """What the purpose's loads are made of on a target of that capacity."""
    part_bytes = min(conditions.size_bytes, user_capacity_bytes)
    return Asked(
        ActiveRange(0, 100 * part_bytes / user_capacity_bytes),
        part_bytes,
        conditions.minute_ns,
        conditions.heat_ns,
    )


def _steps(loads: tuple[Load, ...], conditions: CheckConditions) -> Iterator[Step]:
    for load in loads:
        streams = tuple(
            replace(stream, stimulus=replace(stream.stimulus, data=conditions.data))
            for stream in load.streams
        )
        yield Step(streams, load.stop or Duration(conditions.minute_ns))
