"""Reads the samples of a run: one query a table, since a run of days has hundreds of thousands of rows."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Final, Literal

from msgspec import Struct, ValidationError

from openpts.record.decoding import Count, Finite, Moment, rows_of
from openpts.record.schema import REPEATED
from openpts.record.stored_operations import interval_operations, operations_by_step
from openpts.record.stored_streams import StoredStreams, all_operations, counts_of, stimulus_of, stop_rule_of
from openpts.vocabulary.phase import Phase, StepPlace
from openpts.vocabulary.sample import (
    NOTHING,
    CpuShares,
    HostStall,
    Interval,
    IoErrors,
    IoFailure,
    Sample,
    SlowIo,
    StepState,
)
from openpts.vocabulary.stimulus import Step, Stream

_INTERVALS: Final = """
SELECT step_id, interval_index, elapsed_ns, in_flight, errors,
    cpu_user_pct, cpu_sys_pct, cpu_iowait_pct, process_cpu_ns, temperature_c, throttled
FROM interval ORDER BY step_id, interval_index
"""
_ERRORS: Final = """
SELECT step_id, operation, reason, count, first_offsets_bytes FROM io_error ORDER BY step_id, position
"""

_STANDSTILLS: Final = "SELECT step_id, started_ns, lasted_ns FROM standstill ORDER BY step_id, position"

_SLOW_IOS: Final = (
    f"SELECT step_id, {', '.join(SlowIo.__struct_fields__)} FROM slow_io "  # noqa: S608 our names
    "ORDER BY step_id, position"
)

_OPERATION_NAMES: Final = ("read", "write", "trim", "flush", "fsync")
_Flag = Literal[0, 1]

_Share = Finite | None
_IntervalRow = tuple[
    int, Count, Count, Count, Count, _Share, _Share, _Share, Count | None, Finite | None, _Flag | None
]
_ErrorRow = tuple[int, str, str, Count, str]
_StandstillRow = tuple[int, Moment, Count]
_Told = Count | None
_SlowIoRow = tuple[
    int,
    str,
    Count,
    Count,
    Moment,
    Count,
    Count,
    _Told,
    Count,
    Count,
    _Told,
    _Told,
    Count,
    Count,
    _Told,
    _Told,
    _Told,
]


class _StepRow(Struct, frozen=True, array_like=True, rename={"phase": "part"}):
    """The columns of a step that are read, in this order."""

    step_id: int
    cycle: Count
    phase: Phase
    number: Count
    position: Count
    stimulus: str | None
    stop: str
    ramp_ns: Count
    capture: _Flag
    state: StepState
    ended_by: str | None
    started_ns: Count
    elapsed_ns: Count
    gap_ns: Count | None
    interval_ns: Count
    unissued: Count
    ios_by_block_size: str
    ios_by_zone: str
    slips: bytes
    cpu_user_pct: _Share
    cpu_sys_pct: _Share
    cpu_iowait_pct: _Share
    process_cpu_ns: Count | None
    failure_operation: str | None
    failure_offset_bytes: Count | None
    failure_length_bytes: Count | None
    failure_reason: str | None


_STEPS: Final = (
    f"SELECT {', '.join(_StepRow.__struct_encode_fields__)} FROM step "  # noqa: S608 our names
    "WHERE state != ? ORDER BY step_id"
)


def stored_samples(
    connection: sqlite3.Connection, *, interval_histograms: bool
) -> Iterator[tuple[StepPlace, Sample, int]]:
    """All steps in the order in which they ran, with their places, but those that were repeated.

    The last is how many were recorded before, those included. The histograms of intervals are empty unless
    ``interval_histograms`` asks for them.
    """
    operations = operations_by_step(connection)
    streams = StoredStreams(connection, interval_histograms=interval_histograms)
    intervals = _intervals_by_step(connection, streams, histograms=interval_histograms)
    errors, standstills = _errors_by_step(connection), _standstills_by_step(connection)
    slow_ios = _slow_ios_by_step(connection)
    steps: list[_StepRow] = list(rows_of(connection.execute(_STEPS, (REPEATED,)), "step", _StepRow))
    known = {step_id for (step_id,) in connection.execute("SELECT step_id FROM step")}
    for table, owners in (
        ("operation", operations.keys()),
        ("interval", intervals.keys()),
        ("stream", streams.steps),
        ("io_error", errors.keys()),
        ("standstill", standstills.keys()),
        ("slow_io", slow_ios.keys()),
    ):
        if strays := owners - known:
            raise ValidationError(f"table {table} has rows of step_id {min(strays)}, which is no step")
    if known and max(known) != len(known):
        lost = min(set(range(1, max(known))) - known)
        raise ValidationError(f"table step has no row of step_id {lost}, and later ones")
    for row in steps:
        step_id = row.step_id
        yield (
            StepPlace(row.cycle, row.phase, row.number, row.position),
            Sample(
                step=_step(row, streams.of(step_id)),
                state=row.state,
                ended_by=row.ended_by,
                started_ns=row.started_ns,
                elapsed_ns=row.elapsed_ns,
                gap_ns=row.gap_ns,
                interval_ns=row.interval_ns,
                intervals=tuple(intervals[step_id]),
                cpu=_cpu(row.cpu_user_pct, row.cpu_sys_pct, row.cpu_iowait_pct, row.process_cpu_ns),
                failure=_failure(row),
                errors=tuple(errors[step_id]),
                unissued=row.unissued,
                ios_by_block_size=counts_of(row.ios_by_block_size),
                ios_by_zone=counts_of(row.ios_by_zone),
                slips=row.slips,
                standstills=tuple(standstills[step_id]),
                slow_ios=tuple(slow_ios[step_id]),
                streams=streams.results(step_id),
                played=streams.played(step_id),
                **all_operations(operations[step_id]),
            ),
            step_id - 1,
        )


def _step(row: _StepRow, streams: tuple[Stream, ...]) -> Step:
    if row.stimulus is not None:
        if streams:
            raise ValidationError(f"step_id {row.step_id} has a stimulus, and rows in table stream")
        streams = (Stream(stimulus_of(row.stimulus)),)
    return Step(streams, stop_rule_of(row.stop), row.ramp_ns, bool(row.capture))


def _intervals_by_step(
    connection: sqlite3.Connection, streams: StoredStreams, *, histograms: bool
) -> Mapping[int, list[Interval]]:
    # What is done here is done for each of hundreds of thousands of rows.
    operations = interval_operations(connection, histograms=histograms)
    found: dict[int, list[Interval]] = defaultdict(list)
    stored: Iterator[_IntervalRow] = rows_of(connection.execute(_INTERVALS), "interval", _IntervalRow)
    for step_id, rows in groupby(stored, key=itemgetter(0)):
        add = found[step_id].append
        has_streams = bool(streams.results(step_id))
        read, write, trim, flush, fsync = (operations[step_id, name].get for name in _OPERATION_NAMES)
        for _, index, elapsed, in_flight, errors, user, system, iowait, process, celsius, throttled in rows:
            add(
                Interval(
                    read=read(index, NOTHING),
                    write=write(index, NOTHING),
                    trim=trim(index, NOTHING),
                    flush=flush(index, NOTHING),
                    fsync=fsync(index, NOTHING),
                    elapsed_ns=elapsed,
                    cpu=_cpu(user, system, iowait, process),
                    index=index,
                    in_flight=in_flight,
                    errors=errors,
                    temperature_c=celsius,
                    throttled=None if throttled is None else throttled != 0,
                    streams=streams.in_interval(step_id, index, elapsed) if has_streams else (),
                )
            )
    return found


def _errors_by_step(connection: sqlite3.Connection) -> Mapping[int, list[IoErrors]]:
    found: dict[int, list[IoErrors]] = defaultdict(list)
    stored: Iterator[_ErrorRow] = rows_of(connection.execute(_ERRORS), "io_error", _ErrorRow)
    for step_id, operation, reason, count, offsets in stored:
        found[step_id].append(IoErrors(operation, reason, count, counts_of(offsets)))
    return found


def _standstills_by_step(connection: sqlite3.Connection) -> Mapping[int, list[HostStall]]:
    found: dict[int, list[HostStall]] = defaultdict(list)
    row: _StandstillRow
    for row in rows_of(connection.execute(_STANDSTILLS), "standstill", _StandstillRow):
        found[row[0]].append(HostStall(*row[1:]))
    return found


def _slow_ios_by_step(connection: sqlite3.Connection) -> Mapping[int, list[SlowIo]]:
    found: dict[int, list[SlowIo]] = defaultdict(list)
    row: _SlowIoRow
    for row in rows_of(connection.execute(_SLOW_IOS), "slow_io", _SlowIoRow):
        found[row[0]].append(SlowIo(**dict(zip(SlowIo.__struct_fields__, row[1:], strict=True))))
    return found


def _cpu(
    user_pct: float | None, sys_pct: float | None, iowait_pct: float | None, process_ns: int | None
) -> CpuShares | None:
    if user_pct is None or sys_pct is None or iowait_pct is None or process_ns is None:
        return None
    return CpuShares(user_pct=user_pct, sys_pct=sys_pct, iowait_pct=iowait_pct, process_ns=process_ns)


def _failure(row: _StepRow) -> IoFailure | None:
    operation, reason = row.failure_operation, row.failure_reason
    offset_bytes, length_bytes = row.failure_offset_bytes, row.failure_length_bytes
    if operation is None or reason is None or offset_bytes is None or length_bytes is None:
        return None
    return IoFailure(operation, offset_bytes, length_bytes, reason)
