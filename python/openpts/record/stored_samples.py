"""Reads the samples of a run: one query a table, since a run of days has hundreds of thousands of rows."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, Literal

from msgspec import Struct, ValidationError

from openpts.record.decoding import Count, Finite, Moment, decode_json, rows_of
from openpts.record.schema import REPEATED
from openpts.vocabulary.phase import Phase, StepPlace
from openpts.vocabulary.sample import (
    NOTHING,
    CpuShares,
    Interval,
    IoErrors,
    IoFailure,
    OperationSample,
    Sample,
    Standstill,
    StepState,
)
from openpts.vocabulary.stimulus import Step, Stimulus
from openpts.vocabulary.stop import StopRule

_MEASURED: Final = "ios, bytes, latency_sum_ns, latency_min_ns, latency_max_ns"
_OPERATIONS: Final = f"SELECT step_id, operation, {_MEASURED}, histogram FROM operation"  # noqa: S608 our names
_WITH_HISTOGRAMS: Final = (
    f"SELECT step_id, interval_index, operation, {_MEASURED}, histogram FROM interval_operation"  # noqa: S608
)
_WITHOUT_HISTOGRAMS: Final = (
    f"SELECT step_id, interval_index, operation, {_MEASURED}, x'' FROM interval_operation"  # noqa: S608
)
_INTERVALS: Final = """
SELECT step_id, interval_index, elapsed_ns, in_flight, errors,
    cpu_user_pct, cpu_sys_pct, cpu_iowait_pct, process_cpu_ns, temperature_c, throttled
FROM interval ORDER BY step_id, interval_index
"""
_ERRORS: Final = """
SELECT step_id, operation, reason, count, first_offsets_bytes FROM io_error ORDER BY step_id, position
"""

_STANDSTILLS: Final = "SELECT step_id, started_ns, lasted_ns FROM standstill ORDER BY step_id, position"

_OPERATION_NAMES: Final = ("read", "write", "trim", "flush", "fsync")
_Operation = Literal["read", "write", "trim", "flush", "fsync"]
_Latency = Count | None
_Flag = Literal[0, 1]

_OperationRow = tuple[int, _Operation, Count, Count, Count, _Latency, _Latency, bytes]
_IntervalOperationRow = tuple[int, Count, _Operation, Count, Count, Count, _Latency, _Latency, bytes]
_Share = Finite | None
_IntervalRow = tuple[
    int, Count, Count, Count, Count, _Share, _Share, _Share, Count | None, Finite | None, _Flag | None
]
_ErrorRow = tuple[int, str, str, Count, str]
_StandstillRow = tuple[int, Moment, Count]


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

_Operations = dict[str, OperationSample]


def stored_samples(
    connection: sqlite3.Connection, *, interval_histograms: bool
) -> Iterator[tuple[StepPlace, Sample, int]]:
    """All steps in the order in which they ran, with their places, but those that were repeated.

    The last is how many were recorded before, those included. The histograms of intervals are empty unless
    ``interval_histograms`` asks for them.
    """
    operations = _operations_by_step(connection)
    intervals = _intervals_by_step(connection, histograms=interval_histograms)
    errors, standstills = _errors_by_step(connection), _standstills_by_step(connection)
    steps: list[_StepRow] = list(rows_of(connection.execute(_STEPS, (REPEATED,)), "step", _StepRow))
    known = {step_id for (step_id,) in connection.execute("SELECT step_id FROM step")}
    for table, owners in (
        ("operation", operations),
        ("interval", intervals),
        ("io_error", errors),
        ("standstill", standstills),
    ):
        if strays := owners.keys() - known:
            raise ValidationError(f"table {table} has rows of step_id {min(strays)}, which is no step")
    for row in steps:
        step_id = row.step_id
        yield (
            StepPlace(row.cycle, row.phase, row.number, row.position),
            _sample(
                row,
                operations[step_id],
                tuple(intervals[step_id]),
                tuple(errors[step_id]),
                tuple(standstills[step_id]),
            ),
            step_id - 1,
        )


def _sample(
    row: _StepRow,
    operations: _Operations,
    intervals: tuple[Interval, ...],
    errors: tuple[IoErrors, ...],
    standstills: tuple[Standstill, ...],
) -> Sample:
    return Sample(
        step=Step(
            stimulus=None if row.stimulus is None else _stimulus(row.stimulus),
            stop=_stop_rule(row.stop),
            ramp_ns=row.ramp_ns,
            capture=bool(row.capture),
        ),
        state=row.state,
        ended_by=row.ended_by,
        started_ns=row.started_ns,
        elapsed_ns=row.elapsed_ns,
        gap_ns=row.gap_ns,
        **_all(operations),
        interval_ns=row.interval_ns,
        intervals=intervals,
        cpu=_cpu(row.cpu_user_pct, row.cpu_sys_pct, row.cpu_iowait_pct, row.process_cpu_ns),
        failure=_failure(row),
        errors=errors,
        unissued=row.unissued,
        ios_by_block_size=_counts(row.ios_by_block_size),
        ios_by_zone=_counts(row.ios_by_zone),
        standstills=standstills,
    )


# Of thousands of steps only some dozens differ in these texts.
@cache
def _stimulus(text: str) -> Stimulus:
    return decode_json(text, Stimulus)


@cache
def _stop_rule(text: str) -> StopRule:
    return decode_json(text, StopRule)


def _operations_by_step(connection: sqlite3.Connection) -> Mapping[int, _Operations]:
    found: dict[int, _Operations] = defaultdict(dict)
    row: _OperationRow
    for row in rows_of(connection.execute(_OPERATIONS), "operation", _OperationRow):
        found[row[0]][row[1]] = OperationSample(*row[2:])
    return found


def _intervals_by_step(connection: sqlite3.Connection, *, histograms: bool) -> Mapping[int, list[Interval]]:
    # What is done here is done for each of hundreds of thousands of rows.
    operations = _interval_operations(connection, histograms=histograms)
    found: dict[int, list[Interval]] = defaultdict(list)
    stored: Iterator[_IntervalRow] = rows_of(connection.execute(_INTERVALS), "interval", _IntervalRow)
    for step_id, rows in groupby(stored, key=itemgetter(0)):
        add = found[step_id].append
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
                )
            )
    return found


def _interval_operations(
    connection: sqlite3.Connection, *, histograms: bool
) -> Mapping[tuple[int, str], dict[int, OperationSample]]:
    """By step and operation, then by interval."""
    found: dict[tuple[int, str], dict[int, OperationSample]] = defaultdict(dict)
    cursor = connection.execute(_WITH_HISTOGRAMS if histograms else _WITHOUT_HISTOGRAMS)
    stored: Iterator[_IntervalOperationRow] = rows_of(cursor, "interval_operation", _IntervalOperationRow)
    for step_id, index, name, ios, moved, total, least, most, histogram in stored:
        found[step_id, name][index] = OperationSample(ios, moved, total, least, most, histogram)
    return found


def _all(stored: _Operations) -> dict[str, Any]:
    """What has no row had no I/O."""
    return {"read": NOTHING, "write": NOTHING, **stored}


def _errors_by_step(connection: sqlite3.Connection) -> Mapping[int, list[IoErrors]]:
    found: dict[int, list[IoErrors]] = defaultdict(list)
    stored: Iterator[_ErrorRow] = rows_of(connection.execute(_ERRORS), "io_error", _ErrorRow)
    for step_id, operation, reason, count, offsets in stored:
        found[step_id].append(IoErrors(operation, reason, count, _counts(offsets)))
    return found


def _standstills_by_step(connection: sqlite3.Connection) -> Mapping[int, list[Standstill]]:
    found: dict[int, list[Standstill]] = defaultdict(list)
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'standstill'").fetchone():
        row: _StandstillRow
        for row in rows_of(connection.execute(_STANDSTILLS), "standstill", _StandstillRow):
            found[row[0]].append(Standstill(*row[1:]))
    return found


def _counts(text: str) -> tuple[int, ...]:
    return decode_json(text, tuple[Count, ...])


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
