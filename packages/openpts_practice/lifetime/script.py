"""Lifetime.

Purpose
    How speed, errors, spare and wear of a drive go on over full drive cycles.
Source
    Practice beyond the PTS: the controller vendor's lifetime test (HYP-LIFE-01 to 04).
Steps
    Purge; drive cycles: the whole active range written once in SEQ 128 KiB, every sector with its address and
    the number of the cycle, then read once and compared; the device's log after each. It ends after a
    handful of cycles unless the operator asks for more, since it uses the drive up, and sooner with the
    first I/O that fails, the first media error, or when the drive takes no more writes. With stop_on
    failed-write it continues over read errors and media errors. A run that continues another one has no
    purge: it reads first what the last cycle of that run wrote, and numbers its cycles on.
Pass rule
    None.
Reported
    MB/s, seconds per cycle, errors, wear and spare over cycles, write amplification, why it ended, and when
    the rated life will be used up, as an interval.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.procedures.kit.ledger import Standard
from openpts.units import KIB, NS_PER_S, TB, format_duration
from openpts.vocabulary.requests import (
    Apply,
    CycleFinished,
    Outcome,
    Purge,
    ReadHealth,
    Script,
    ScriptPart,
    SetWriteCache,
    health_in,
    samples_in,
)
from openpts.vocabulary.sample import Phase, Sample, StepState
from openpts.vocabulary.stimulus import AccessPattern, ByteAmount, DataPattern, Duration, Step, VerifiedData
from openpts.vocabulary.workload import simple_workload
from openpts_practice.lifetime import Continued, LifetimeConditions, StopOn

A_HANDFUL: Final = 5
"""Cycles that no drive is harmed by; more have to be asked for."""

_WEEK_NS: Final = 7 * 24 * 3600 * NS_PER_S
# The record keeps whole steps: a power cut loses no more than this, a few minutes of a drive.
_PIECE_BYTES: Final = 2**38
_PAGE_BYTES: Final = 4 * KIB


# HYP-LIFE-01
# A handful of cycles, one stream.
standard_conditions: Final = Standard(
    LifetimeConditions,
    block_size_bytes=128 * KIB,
    tc=1,
    qd=32,
    drive_cycles=A_HANDFUL,
    wear_limit_pct=100,
    longest_ns=_WEEK_NS,
)


def without_data(conditions: LifetimeConditions) -> LifetimeConditions:
    """On a device that keeps no data, nothing can be verified."""
    return replace(conditions, verify=False)


# HYP-LIFE-01 to 03
def script(conditions: LifetimeConditions, user_capacity_bytes: int) -> Script:
    """Drive cycles until something ends them."""
    first, after = conditions.first_cycle, conditions.continues
    if after is None:
        yield Purge()
    yield SetWriteCache(conditions.write_cache_enabled)
    if after is not None and (failed := (yield from _later_read(conditions, after, user_capacity_bytes))):
        yield CycleFinished(Outcome(None, 0, failed))
        return
    reading = health_in((yield ReadHealth(Phase.DRIVE_CYCLE, first)))
    life = _Life(conditions, reading.values)
    for number in range(first, first + conditions.drive_cycles):
        steps = tuple(_cycle(conditions, user_capacity_bytes, number))
        samples = samples_in((yield Apply(Phase.DRIVE_CYCLE, number, steps, may_fail=True)))
        reading = health_in((yield ReadHealth(Phase.DRIVE_CYCLE, number)))
        for sample in samples:
            life.take(sample)
        if ended_by := life.ended_by(samples[-1], reading.values, number):
            yield CycleFinished(Outcome(None, 0, ended_by))
            return


# HYP-TMP-01
def _later_read(conditions: LifetimeConditions, after: Continued, capacity_bytes: int) -> ScriptPart[str]:
    """Read what the earlier run wrote last; returns why that ends this one, empty if it does not."""
    if after.rest_ns:
        yield Apply(Phase.REST, 1, (Step.of(None, Duration(after.rest_ns)),))
    data = VerifiedData(after.cycle) if conditions.compares and after.compares else conditions.data
    yield ReadHealth(Phase.LATER_READ, after.cycle)
    steps = tuple(_pieces(conditions, capacity_bytes, 100, data))
    samples = samples_in((yield Apply(Phase.LATER_READ, after.cycle, steps, may_fail=True)))
    yield ReadHealth(Phase.LATER_READ, after.cycle)
    last = samples[-1]
    if last.state is StepState.COMPLETE:
        return ""
    reason = last.failure.reason if last.failure else "an I/O that failed"
    return f"first failed read of what cycle {after.cycle} wrote: {reason}"


def _cycle(conditions: LifetimeConditions, capacity_bytes: int, number: int) -> Iterator[Step]:
    """The writes of a cycle and then its reads."""
    data = VerifiedData(number) if conditions.compares else conditions.data
    for read_pct in (0, 100):
        yield from _pieces(conditions, capacity_bytes, read_pct, data)


def _pieces(
    conditions: LifetimeConditions, capacity_bytes: int, read_pct: int, data: DataPattern
) -> Iterator[Step]:
    """One pass through the range, in pieces of a few minutes."""
    covered = conditions.active_range
    share = (covered.end_pct - covered.start_pct) / 100
    amount_bytes = capacity_bytes if share == 1 else int(capacity_bytes * share) // _PAGE_BYTES * _PAGE_BYTES
    workload = simple_workload("cycle", AccessPattern.SEQUENTIAL, conditions.block_size_bytes, read_pct)
    stimulus = workload.stimulus(tc=conditions.tc, qd=conditions.qd, active_range=covered, data=data)
    for done_bytes in range(0, amount_bytes, _PIECE_BYTES):
        yield Step.of(stimulus, ByteAmount(min(_PIECE_BYTES, amount_bytes - done_bytes)))


class _Life(Struct):
    """What was written so far, for how long, and the log before the first cycle."""

    conditions: LifetimeConditions
    first: Mapping[str, float]
    written_bytes: int = 0
    elapsed_ns: int = 0

    def take(self, sample: Sample) -> None:
        """Count a step."""
        self.written_bytes += sample.write.bytes
        self.elapsed_ns += sample.elapsed_ns

    def ended_by(self, last: Sample, log: Mapping[str, float], number: int) -> str:
        """Why there is no further cycle; empty if there is one."""
        conditions = self.conditions
        if last.state is not StepState.COMPLETE:
            failure = last.failure
            if failure is None:
                return f"an I/O that failed in cycle {number}"
            return f"first failed {failure.operation} in cycle {number}: {failure.reason}"
        if log.get("read_only"):
            return "the drive takes no more writes"
        errors = log.get("media_errors", 0) - self.first.get("media_errors", 0)
        if errors > 0 and conditions.stop_on is StopOn.FIRST_ERROR:
            return f"media errors counted by the drive: {errors:,.0f}"
        if (wear_pct := log.get("percentage_used_pct", 0)) >= conditions.wear_limit_pct:
            return f"{wear_pct:.3g} % of the rated life used (limit {conditions.wear_limit_pct:g} %)"
        limit_bytes = conditions.write_limit_bytes
        if limit_bytes is not None and self.written_bytes >= limit_bytes:
            return f"{self.written_bytes / TB:,.3g} TB written (limit {limit_bytes / TB:,.3g} TB)"
        if self.elapsed_ns >= conditions.longest_ns:
            return (
                f"{format_duration(self.elapsed_ns)} elapsed (limit {format_duration(conditions.longest_ns)})"
            )
        done = number - conditions.first_cycle + 1
        return f"{done} cycles, as asked for" if done == conditions.drive_cycles else ""
