"""Reads what a record has of operations: those of steps and intervals, and of the streams of both."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

from openpts.record.decoding import Count, rows_of
from openpts.vocabulary.sample import OperationSample

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
