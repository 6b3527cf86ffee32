"""Reads the samples of a run: steps, intervals, operations, streams, one query a table."""

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
from openpts.vocabulary.replay import Played, Replay
from openpts.vocabulary.sample import (
    NOTHING,
    CpuShares,
    HostStall,
    Interval,
    IoErrors,
    IoFailure,
    Measured,
    OperationSample,
    Phase,
    Sample,
    SlowIo,
    StepPlace,
    StepState,
    StreamSample,
)
from openpts.vocabulary.stimulus import IoPriority, Step, Stimulus, StopRule, Stream

_COLUMNS: Final = "operation, ios, bytes, latency_sum_ns, latency_min_ns, latency_max_ns"
_Operation = Literal["read", "write", "trim", "flush", "fsync"]
_Latency = Count | None

Operations = dict[str, OperationSample]
"""By name; without those that had no I/O."""


def operations_by_step(connection: sqlite3.Connection) -> Mapping[int, Operations]:
    """Operations of each step by step_id."""
    kind = tuple[int, _Operation, Count, Count, Count, _Latency, _Latency, bytes]
    found: dict[int, Operations] = defaultdict(dict)
    for step_id, name, *values in _rows(connection, "operation", "step_id", kind):
        found[step_id][name] = OperationSample(*values)
    return found


def interval_operations(
    connection: sqlite3.Connection, *, histograms: bool
) -> Mapping[tuple[int, str], dict[int, OperationSample]]:
    """By step and operation, then by interval: there are hundreds of thousands."""
    kind = tuple[int, Count, _Operation, Count, Count, Count, _Latency, _Latency, bytes]
    found: dict[tuple[int, str], dict[int, OperationSample]] = defaultdict(dict)
    rows = _rows(connection, "interval_operation", "step_id, interval_index", kind, histograms=histograms)
    for step_id, index, name, ios, moved, total, least, most, histogram in rows:
        found[step_id, name][index] = OperationSample(ios, moved, total, least, most, histogram)
    return found


def stream_operations(connection: sqlite3.Connection) -> Mapping[tuple[int, int], Operations]:
    """What each of several streams did, by step and position."""
    kind = tuple[int, int, _Operation, Count, Count, Count, _Latency, _Latency, bytes]
    found: dict[tuple[int, int], Operations] = defaultdict(dict)
    for step_id, position, name, *values in _rows(connection, "stream_operation", "step_id, position", kind):
        found[step_id, position][name] = OperationSample(*values)
    return found


def stream_interval_operations(
    connection: sqlite3.Connection, *, histograms: bool
) -> Mapping[tuple[int, int], dict[int, Operations]]:
    """The same in intervals: by step and position, then by interval."""
    kind = tuple[int, int, Count, _Operation, Count, Count, Count, _Latency, _Latency, bytes]
    found: dict[tuple[int, int], dict[int, Operations]] = defaultdict(lambda: defaultdict(dict))
    keys = "step_id, position, interval_index"
    for step_id, position, index, name, *values in _rows(
        connection, "stream_interval_operation", keys, kind, histograms=histograms
    ):
        found[step_id, position][index][name] = OperationSample(*values)
    return found


# Of several streams the parts are compared: that they are the whole's is known of each step.
_WHOLE: Final = """
SELECT step_id, NULL, operation, histogram FROM operation
    WHERE step_id IN (SELECT step_id FROM interval) AND step_id NOT IN (SELECT step_id FROM stream_result)
UNION ALL SELECT step_id, position, operation, histogram FROM stream_operation
    WHERE step_id IN (SELECT step_id FROM interval)
"""
_PARTS: Final = (
    "SELECT ios, bytes, latency_sum_ns, latency_min_ns, latency_max_ns, histogram FROM {}"
    " WHERE step_id = ? AND operation = ?"
)
_OF_STEP: Final = _PARTS.format("interval_operation")
_OF_STREAM: Final = _PARTS.format("stream_interval_operation") + " AND position = ?"


def stored_distributions(
    connection: sqlite3.Connection,
) -> Iterator[tuple[int, str, bytes, Iterator[OperationSample]]]:
    """Operations of steps with intervals, or of their streams: step, place in it, histogram, intervals."""
    kind = tuple[int, int | None, _Operation, bytes]
    of_interval = tuple[Count, Count, Count, _Latency, _Latency, bytes]
    rows: Iterator[Any] = rows_of(connection.execute(_WHOLE), "operation", kind)
    for step_id, position, name, histogram in rows:
        if position is None:
            where, cursor = name, connection.execute(_OF_STEP, (step_id, name))
        else:
            where = f"stream {position + 1}: {name}"
            cursor = connection.execute(_OF_STREAM, (step_id, name, position))
        parts: Iterator[Any] = rows_of(cursor, "interval_operation", of_interval)
        yield step_id, where, histogram, (OperationSample(*row) for row in parts)


def _rows(
    connection: sqlite3.Connection, table: str, keys: str, kind: Any, *, histograms: bool = True
) -> Iterator[Any]:
    histogram = "histogram" if histograms else "x''"
    query = f"SELECT {keys}, {_COLUMNS}, {histogram} FROM {table}"  # noqa: S608 our names
    return rows_of(connection.execute(query), table, kind)


_Key = tuple[int, int]
"""Step and position."""


class _StreamRow(Struct, frozen=True, array_like=True):
    step_id: int
    position: int
    name: str
    stimulus: str
    delay_ns: Count
    stop: str | None
    priority: str | None
    share: Count


class _ResultRow(Struct, frozen=True, array_like=True):
    step_id: int
    position: int
    ended_by: str | None
    started_ns: Count
    elapsed_ns: Count
    unissued: Count
    errors: Count
    ios_by_block_size: str
    ios_by_zone: str
    slips: bytes


class _ReplayRow(Struct, frozen=True, array_like=True):
    step_id: int
    position: int
    replay: str
    played: str | None


class _StoredReplay(Struct, frozen=True):
    replay: Replay | None
    played: Played | None


_NO_REPLAY: Final = _StoredReplay(None, None)


class StoredStreams:
    """Streams of the steps that have rows in the stream tables; a step with one plain stimulus has none."""

    def __init__(self, connection: sqlite3.Connection, *, interval_histograms: bool) -> None:
        self._replays = _replays(connection)
        self._streams = _streams(connection, self._replays)
        self._results = _results(connection)
        self._intervals = stream_interval_operations(connection, histograms=interval_histograms)
        streams = {(step_id, n) for step_id, found in self._streams.items() for n in range(len(found))}
        if strays := self._replays.keys() - streams:
            raise _stray("replay", min(strays))
        keys = {(step_id, n) for step_id, parts in self._results.items() for n in range(len(parts))}
        if strays := self._intervals.keys() - keys:
            raise _stray("stream_interval_operation", min(strays))
        for step_id, parts in self._results.items():
            if len(parts) != len(self._streams.get(step_id, ())):
                raise ValidationError(f"tables stream and stream_result differ in step_id {step_id}")

    @property
    def steps(self) -> frozenset[int]:
        """IDs of the steps with stream rows."""
        return frozenset(self._streams)

    def of(self, step_id: int) -> tuple[Stream, ...]:
        """Streams that a step was to issue; empty for a step with one plain stimulus."""
        return tuple(self._streams.get(step_id, ()))

    def results(self, step_id: int) -> tuple[StreamSample, ...]:
        """Measured samples of a step's streams; empty unless it has several."""
        return tuple(self._results.get(step_id, ()))

    def played(self, step_id: int) -> tuple[Played, ...]:
        """Timing accuracy of each trace replay in a step."""
        found = (self._replays.get((step_id, n), _NO_REPLAY) for n in range(len(self.of(step_id))))
        return tuple(one.played for one in found if one.played is not None)

    def in_interval(self, step_id: int, index: int, elapsed_ns: int) -> tuple[Measured, ...]:
        """Samples of a step's streams in one interval; empty unless it has several."""
        return tuple(
            Measured(
                elapsed_ns=elapsed_ns,
                cpu=None,
                **all_operations(self._intervals.get((step_id, n), {}).get(index, {})),
            )
            for n in range(len(self._results.get(step_id, ())))
        )


def _replays(connection: sqlite3.Connection) -> Mapping[_Key, _StoredReplay]:
    found: dict[_Key, _StoredReplay] = {}
    row: _ReplayRow
    for row in rows_of(connection.execute(_query("replay", _ReplayRow)), "replay", _ReplayRow):
        played: Played | None = None if row.played is None else decode_json(row.played, Played)
        if played is not None and played.stream != row.position:
            raise ValidationError(f"table replay has stream {played.stream} at position {row.position}")
        found[row.step_id, row.position] = _StoredReplay(decode_json(row.replay, Replay), played)
    return found


def _streams(
    connection: sqlite3.Connection, replays: Mapping[_Key, _StoredReplay]
) -> Mapping[int, list[Stream]]:
    found: dict[int, list[Stream]] = defaultdict(list)
    row: _StreamRow
    for row in rows_of(connection.execute(_query("stream", _StreamRow)), "stream", _StreamRow):
        _in_order("stream", row.step_id, row.position, found[row.step_id])
        found[row.step_id].append(
            Stream(
                stimulus=stimulus_of(row.stimulus),
                name=row.name,
                delay_ns=row.delay_ns,
                stop=None if row.stop is None else stop_rule_of(row.stop),
                priority=None if row.priority is None else decode_json(row.priority, IoPriority),
                share=row.share,
                replay=replays.get((row.step_id, row.position), _NO_REPLAY).replay,
            )
        )
    return found


def _results(connection: sqlite3.Connection) -> Mapping[int, list[StreamSample]]:
    operations = stream_operations(connection)
    found: dict[int, list[StreamSample]] = defaultdict(list)
    known: set[_Key] = set()
    row: _ResultRow
    key: _Key
    for row in rows_of(connection.execute(_query("stream_result", _ResultRow)), "stream_result", _ResultRow):
        key = (row.step_id, row.position)
        known.add(key)
        _in_order("stream_result", *key, found[row.step_id])
        found[row.step_id].append(
            StreamSample(
                ended_by=row.ended_by,
                started_ns=row.started_ns,
                elapsed_ns=row.elapsed_ns,
                cpu=None,
                unissued=row.unissued,
                ios_by_block_size=counts_of(row.ios_by_block_size),
                ios_by_zone=counts_of(row.ios_by_zone),
                slips=row.slips,
                errors=row.errors,
                **all_operations(operations.get(key, {})),
            )
        )
    if strays := operations.keys() - known:
        raise _stray("stream_operation", min(strays))
    return found


def _query(table: str, kind: type[Struct]) -> str:
    columns = ", ".join(kind.__struct_fields__)
    return f"SELECT {columns} FROM {table} ORDER BY step_id, position"  # noqa: S608 our names


def _in_order(table: str, step_id: int, position: int, before: list[Any]) -> None:
    if position != len(before):
        raise ValidationError(f"table {table} has no row of position {len(before)} in step_id {step_id}")


def _stray(table: str, key: _Key) -> ValidationError:
    step_id, position = key
    return ValidationError(
        f"table {table} has rows of position {position} in step_id {step_id}, which is no stream"
    )


# Of thousands of steps only some dozens differ in these texts.
@cache
def stimulus_of(text: str) -> Stimulus:
    """Stimulus decoded from its JSON text."""
    return decode_json(text, Stimulus)


@cache
def stop_rule_of(text: str) -> StopRule:
    """Stop rule decoded from its JSON text."""
    return decode_json(text, StopRule)


def counts_of(text: str) -> tuple[int, ...]:
    """Counts decoded from a JSON array."""
    return decode_json(text, tuple[Count, ...])


_NONE: Final = {"read": NOTHING, "write": NOTHING}


def all_operations(stored: Operations) -> dict[str, Any]:
    """Operations with reads and writes always present: without a row, no I/O took place."""
    return {**_NONE, **stored}


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
