"""Reads the samples of a run: steps, intervals, operations, streams, one query a table."""

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import groupby
from operator import attrgetter, itemgetter
from types import GenericAlias
from typing import Any, Final, Literal, NamedTuple, TypeVar, get_args

from msgspec import Struct, ValidationError
from msgspec.structs import fields

from openpts.record.database import Query, rows_by_type
from openpts.record.decoding import Count, Finite, Moment, decode_json, rows_of
from openpts.record.schema import OF_SAMPLE, REPEATED
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

T = TypeVar("T")

_Operation = Literal["read", "write", "trim", "flush", "fsync"]
_FIGURES: Final = ("ios", "bytes", "latency_sum_ns", "latency_min_ns", "latency_max_ns")
_FIGURE_TYPES: Final = (Count, Count, Count, Count | None, Count | None, bytes)
_Operations = Mapping[tuple[Any, ...], OperationSample]
"""By step, position of a stream, interval, as far as the table has them, and name; no I/O: no entry."""


def _operation_rows(
    connection: sqlite3.Connection, table: str, *keys: str, histograms: bool = True
) -> Iterator[Any]:
    columns = ", ".join((*keys, "operation", *_FIGURES, "histogram" if histograms else "x''"))
    key_types = (Count if key == "interval_index" else int for key in keys)
    kind = GenericAlias(tuple, (*key_types, _Operation, *_FIGURE_TYPES))
    return rows_of(connection.execute(f"SELECT {columns} FROM {table}"), table, kind)  # noqa: S608 our names


def _operations(
    connection: sqlite3.Connection, table: str, *keys: str, histograms: bool = True
) -> _Operations:
    size = len(keys) + 1
    rows = _operation_rows(connection, table, *keys, histograms=histograms)
    return {row[:size]: OperationSample(*row[size:]) for row in rows}


def _all_operations(found: _Operations, *key: int) -> dict[str, Any]:
    return {name: found.get((*key, name), NOTHING) for name in get_args(_Operation)}


# Of several streams the parts are compared: that they are the whole's is known of each step.
_WHOLE: Final = """
SELECT step_id, NULL, operation, histogram FROM operation
    WHERE step_id IN (SELECT step_id FROM interval) AND step_id NOT IN (SELECT step_id FROM stream_result)
UNION ALL SELECT step_id, position, operation, histogram FROM stream_operation
    WHERE step_id IN (SELECT step_id FROM interval)
"""
_PARTS: Final = f"SELECT {', '.join(_FIGURES)}, histogram FROM {{}} WHERE step_id = ? AND operation = ?"  # noqa: S608 our names
_OF_STEP: Final = _PARTS.format("interval_operation")
_OF_STREAM: Final = _PARTS.format("stream_interval_operation") + " AND position = ?"


def stored_distributions(
    connection: sqlite3.Connection,
) -> Iterator[tuple[int, str, bytes, Iterator[OperationSample]]]:
    """Operations of steps with intervals, or of their streams: step, place in it, histogram, intervals."""
    kind = tuple[int, int | None, _Operation, bytes]
    rows: Iterator[Any] = rows_of(connection.execute(_WHOLE), "operation", kind)
    for step_id, position, name, histogram in rows:
        if position is None:
            where, cursor = name, connection.execute(_OF_STEP, (step_id, name))
        else:
            where = f"stream {position + 1}: {name}"
            cursor = connection.execute(_OF_STREAM, (step_id, name, position))
        parts: Iterator[Any] = rows_of(cursor, "interval_operation", GenericAlias(tuple, _FIGURE_TYPES))
        yield step_id, where, histogram, (OperationSample(*row) for row in parts)


_STREAMS: Final = Query(
    "stream",
    "step_id, position, name, stimulus, delay_ns, stop, priority, share",
    tuple[int, int, str, str, Count, str | None, str | None, Count],
)
_RESULTS: Final = Query(
    "stream_result",
    "step_id, position, ended_by, started_ns, elapsed_ns, unissued, errors, slips,"
    " ios_by_block_size, ios_by_zone",
    tuple[int, int, str | None, Count, Count, Count, Count, bytes, str, str],
)
_REPLAYS: Final = Query("replay", "step_id, position, replay, played", tuple[int, int, str, str | None])


class _Streams(NamedTuple):
    """What the stream tables have of each step: nothing of one with a single plain stimulus."""

    streams: Mapping[int, list[Stream]]
    played: Mapping[int, list[Played]]
    results: Mapping[int, list[StreamSample]]
    intervals: _Operations


def _stored_streams(connection: sqlite3.Connection, *, interval_histograms: bool) -> _Streams:
    replays: dict[tuple[int, int], Replay] = {}
    played: dict[int, list[Played]] = defaultdict(list)
    for step_id, position, replay, outcome in rows_by_type(connection, _REPLAYS):
        replays[step_id, position] = decode_json(replay, Replay)
        if outcome is not None:
            one: Played = decode_json(outcome, Played)
            played[step_id].append(one)
            if one.stream != position:
                raise ValidationError(f"table replay has stream {one.stream} at position {position}")
    streams: dict[int, list[Stream]] = defaultdict(list)
    for step_id, position, name, stimulus, delay_ns, stop, priority, share in rows_by_type(
        connection, _STREAMS
    ):
        _refuse_gap("stream", step_id, position, streams[step_id])
        stream = Stream(
            stimulus=_stimulus(stimulus),
            name=name,
            delay_ns=delay_ns,
            stop=None if stop is None else _stop_rule(stop),
            priority=None if priority is None else decode_json(priority, IoPriority),
            share=share,
            replay=replays.get((step_id, position)),
        )
        streams[step_id].append(stream)
    _refuse_strays("replay", replays, streams)
    results = _stream_results(connection)
    keys = ("step_id", "position", "interval_index")
    intervals = _operations(connection, "stream_interval_operation", *keys, histograms=interval_histograms)
    _refuse_strays("stream_interval_operation", intervals, results)
    for step_id, parts in results.items():
        if len(parts) != len(streams.get(step_id, ())):
            raise ValidationError(f"tables stream and stream_result differ in step_id {step_id}")
    return _Streams(streams, played, results, intervals)


def _stream_results(connection: sqlite3.Connection) -> Mapping[int, list[StreamSample]]:
    operations = _operations(connection, "stream_operation", "step_id", "position")
    found: dict[int, list[StreamSample]] = defaultdict(list)
    for step_id, position, ended_by, started_ns, elapsed_ns, unissued, errors, slips, *counts in rows_by_type(
        connection, _RESULTS
    ):
        _refuse_gap("stream_result", step_id, position, found[step_id])
        by_block_size, by_zone = map(_counts, counts)
        result = StreamSample(
            ended_by=ended_by,
            started_ns=started_ns,
            elapsed_ns=elapsed_ns,
            cpu=None,
            unissued=unissued,
            ios_by_block_size=by_block_size,
            ios_by_zone=by_zone,
            slips=slips,
            errors=errors,
            **_all_operations(operations, step_id, position),
        )
        found[step_id].append(result)
    _refuse_strays("stream_operation", operations, found)
    return found


def _refuse_gap(table: str, step_id: int, position: int, before: list[Any]) -> None:
    if position != len(before):
        raise ValidationError(f"table {table} has no row of position {len(before)} in step_id {step_id}")


def _refuse_strays(table: str, keys: Iterable[tuple[Any, ...]], streams: Mapping[int, list[Any]]) -> None:
    known = {(step_id, position) for step_id, found in streams.items() for position in range(len(found))}
    if strays := {key[:2] for key in keys} - known:
        step_id, position = min(strays)
        raise ValidationError(
            f"table {table} has rows of position {position} in step_id {step_id}, which is no stream"
        )


# Of thousands of steps only some dozens differ in these texts.
@cache
def _stimulus(text: str) -> Stimulus:
    return decode_json(text, Stimulus)


@cache
def _stop_rule(text: str) -> StopRule:
    return decode_json(text, StopRule)


def _counts(text: str) -> tuple[int, ...]:
    return decode_json(text, tuple[Count, ...])


_INTERVALS: Final = """
SELECT step_id, interval_index, elapsed_ns, in_flight, errors,
    cpu_user_pct, cpu_sys_pct, cpu_iowait_pct, process_cpu_ns, temperature_c, throttled
FROM interval ORDER BY step_id, interval_index
"""
_Flag = Literal[0, 1]
_Share = Finite | None
_IntervalRow = tuple[
    int, Count, Count, Count, Count, _Share, _Share, _Share, Count | None, Finite | None, _Flag | None
]
_ERRORS: Final = Query(
    "io_error",
    "step_id, position, operation, reason, count, first_offsets_bytes",
    tuple[int, Any, str, str, Count, str],
)
_STANDSTILLS: Final = Query(
    "standstill", "step_id, position, started_ns, lasted_ns", tuple[int, Any, Moment, Count]
)
_COLUMN_TYPES: Final[dict[Any, Any]] = {int: Count, int | None: Count | None}
_SLOW_IO_TYPES: Final = (
    Moment if field.name == "submitted_ns" else _COLUMN_TYPES.get(field.type, field.type)
    for field in fields(SlowIo)
)
_SLOW_IOS: Final = Query(
    "slow_io",
    f"step_id, position, {', '.join(SlowIo.__struct_fields__)}",
    GenericAlias(tuple, (int, Any, *_SLOW_IO_TYPES)),
)


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


_OF_SAMPLE: Final = attrgetter(*OF_SAMPLE)


def stored_samples(
    connection: sqlite3.Connection, *, interval_histograms: bool
) -> Iterator[tuple[StepPlace, Sample, int]]:
    """All steps in the order in which they ran, with their places, but those that were repeated.

    The last is how many were recorded before, those included. The histograms of intervals are empty unless
    ``interval_histograms`` asks for them.
    """
    operations = _operations(connection, "operation", "step_id")
    streams = _stored_streams(connection, interval_histograms=interval_histograms)
    intervals = _intervals_by_step(connection, streams, histograms=interval_histograms)
    errors = _by_step(connection, _ERRORS, _io_errors)
    standstills = _by_step(connection, _STANDSTILLS, HostStall)
    slow_ios = _by_step(
        connection, _SLOW_IOS, lambda *one: SlowIo(**dict(zip(SlowIo.__struct_fields__, one, strict=True)))
    )
    steps: list[_StepRow] = list(rows_of(connection.execute(_STEPS, (REPEATED,)), "step", _StepRow))
    known = {step_id for (step_id,) in connection.execute("SELECT step_id FROM step")}
    for table, owners in (
        ("operation", {step_id for step_id, _ in operations}),
        ("interval", intervals.keys()),
        ("stream", streams.streams.keys()),
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
        sample = Sample(
            step=_step(row, tuple(streams.streams.get(step_id, ()))),
            **dict(zip(OF_SAMPLE, _OF_SAMPLE(row), strict=True)),
            intervals=tuple(intervals[step_id]),
            cpu=_if_known(
                CpuShares, row.cpu_user_pct, row.cpu_sys_pct, row.cpu_iowait_pct, row.process_cpu_ns
            ),
            failure=_if_known(
                IoFailure,
                row.failure_operation,
                row.failure_offset_bytes,
                row.failure_length_bytes,
                row.failure_reason,
            ),
            errors=tuple(errors[step_id]),
            ios_by_block_size=_counts(row.ios_by_block_size),
            ios_by_zone=_counts(row.ios_by_zone),
            standstills=tuple(standstills[step_id]),
            slow_ios=tuple(slow_ios[step_id]),
            streams=tuple(streams.results.get(step_id, ())),
            played=tuple(streams.played.get(step_id, ())),
            **_all_operations(operations, step_id),
        )
        yield StepPlace(row.cycle, row.phase, row.number, row.position), sample, step_id - 1


def _step(row: _StepRow, streams: tuple[Stream, ...]) -> Step:
    if row.stimulus is not None:
        if streams:
            raise ValidationError(f"step_id {row.step_id} has a stimulus, and rows in table stream")
        streams = (Stream(_stimulus(row.stimulus)),)
    return Step(streams, _stop_rule(row.stop), row.ramp_ns, bool(row.capture))


def _intervals_by_step(
    connection: sqlite3.Connection, streams: _Streams, *, histograms: bool
) -> Mapping[int, list[Interval]]:
    # What is done here is done for each of hundreds of thousands of rows.
    operations: dict[tuple[int, str], dict[int, OperationSample]] = defaultdict(dict)
    for step_id, index, name, ios, moved, total, least, most, histogram in _operation_rows(
        connection, "interval_operation", "step_id", "interval_index", histograms=histograms
    ):
        operations[step_id, name][index] = OperationSample(ios, moved, total, least, most, histogram)
    found: dict[int, list[Interval]] = defaultdict(list)
    stored: Iterator[_IntervalRow] = rows_of(connection.execute(_INTERVALS), "interval", _IntervalRow)
    for step_id, rows in groupby(stored, key=itemgetter(0)):
        add = found[step_id].append
        parts = range(len(streams.results.get(step_id, ())))
        read, write, trim, flush, fsync = (operations[step_id, name].get for name in get_args(_Operation))
        for _, index, elapsed, in_flight, errors, user, system, iowait, process, celsius, throttled in rows:
            add(
                Interval(
                    read=read(index, NOTHING),
                    write=write(index, NOTHING),
                    trim=trim(index, NOTHING),
                    flush=flush(index, NOTHING),
                    fsync=fsync(index, NOTHING),
                    elapsed_ns=elapsed,
                    cpu=_if_known(CpuShares, user, system, iowait, process),
                    index=index,
                    in_flight=in_flight,
                    errors=errors,
                    temperature_c=celsius,
                    throttled=None if throttled is None else throttled != 0,
                    streams=tuple(
                        Measured(
                            elapsed_ns=elapsed,
                            cpu=None,
                            **_all_operations(streams.intervals, step_id, position, index),
                        )
                        for position in parts
                    )
                    if parts
                    else (),
                )
            )
    return found


def _by_step(connection: sqlite3.Connection, query: Query, item: Callable[..., T]) -> Mapping[int, list[T]]:
    found: dict[int, list[T]] = defaultdict(list)
    for step_id, _, *values in rows_by_type(connection, query):
        found[step_id].append(item(*values))
    return found


def _io_errors(operation: str, reason: str, count: int, first_offsets: str) -> IoErrors:
    return IoErrors(operation, reason, count, _counts(first_offsets))


def _if_known(kind: Callable[..., T], *values: object) -> T | None:
    """None where a column of it is NULL."""
    return None if None in values else kind(*values)
