"""Reads the streams of steps: what each was to issue, and what each of several did."""

import sqlite3
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from msgspec import Struct, ValidationError

from openpts.record.decoding import Count, decode_json, rows_of
from openpts.record.stored_operations import Operations, stream_interval_operations, stream_operations
from openpts.vocabulary.replay import Played, Replay
from openpts.vocabulary.sample import NOTHING, Measured, StreamSample
from openpts.vocabulary.stimulus import IoPriority, Stimulus, Stream
from openpts.vocabulary.stop import StopRule

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
