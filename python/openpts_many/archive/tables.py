"""What an archive holds of a run: its tables as Parquet, and its entry in the catalogue."""

import hashlib
import io
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, Final

from openpts.pages.measure import key_of
from openpts.procedures.registry import procedure_of
from openpts.record.frames import FRAMES, PLACE, Columns, Row, RowSubject, declared_table, types_of
from openpts.record.reader import Run
from openpts.report.arrow_files import MEASURE_COLUMNS, RUN_NAME, columns_of_tables, with_run
from openpts.runs.flat_rows import RUN_COLUMNS, run_row
from openpts.runs.subjects import parts_of
from openpts_many.archive.distributions import (
    INTERVAL_BUCKETS_PER_OCTAVE,
    STEP_BUCKETS_PER_OCTAVE,
    coarse_buckets,
)

if TYPE_CHECKING:
    import pyarrow

VERSION: Final = "1.0"
_INT, _TEXT = "int64", "string"
_INTS, _TEXTS = "list<int64>", "list<string>"
_DISTRIBUTION: Final[Columns] = {
    "operation": (_TEXT, "name"),
    "ios": (_INT, "of.ios"),
    "bytes": (_INT, "of.bytes"),
    "latency_sum_ns": (_INT, "of.latency_sum_ns"),
    "latency_min_ns": (_INT, "of.latency_min_ns"),
    "latency_max_ns": (_INT, "of.latency_max_ns"),
    "bucket_highest_ns": (_INTS, lambda part: part.buckets[0]),
    "bucket_ios": (_INTS, lambda part: part.buckets[1]),
}
LATENCIES: Final = "latencies"
INTERVAL_LATENCIES: Final = "interval_latencies"
DISTRIBUTIONS: Final[Mapping[str, Columns]] = {
    LATENCIES: {**PLACE, "stream": (_INT, "stream"), "subjects": (_TEXTS, "subjects"), **_DISTRIBUTION},
    INTERVAL_LATENCIES: {"step": (_INT, "number"), "interval": (_INT, "interval.index"), **_DISTRIBUTION},
}
"""``subjects`` are what results are made of this row: the names by which limits find a stimulus or stream.
``stream`` is null in the row of the whole step."""

MEASURE_LISTS: Final = {f"measure_{name}": f"list<{kind}>" for name, kind in MEASURE_COLUMNS.items()}
CATALOGUE_COLUMNS: Final = {
    **RUN_COLUMNS,
    "host": _TEXT,
    "labels": "map<string, string>",
    "redacted": "bool",
    "added_at": _TEXT,
    "archive_version": _TEXT,
    "content_sha256": _TEXT,
    "origin": _TEXT,
    "subjects": _TEXTS,
    **MEASURE_LISTS,
    "folder": _TEXT,
    "file_table": _TEXTS,
    "file_bytes": _INTS,
    "file_sha256": _TEXTS,
}
"""A row for each run: what a run is of, its measures as lists of equal length, and its files."""

RUN_VIEW: Final = tuple(CATALOGUE_COLUMNS)[: tuple(CATALOGUE_COLUMNS).index("archive_version")]


def columns_of_archive() -> dict[str, dict[str, str]]:
    """The columns of each table that can be asked, by its name, with Arrow's names of their types."""
    exported = columns_of_tables()
    return {
        "runs": {name: CATALOGUE_COLUMNS[name] for name in RUN_VIEW},
        "measures": exported["measures"],
        **{name: exported[name] for name in FRAMES if name != "histograms"},
        **{name: {RUN_NAME: _TEXT, **types_of(columns)} for name, columns in DISTRIBUTIONS.items()},
    }


def parquet_tables(run: Run) -> dict[str, bytes]:
    """The run's tables that have rows, each as a Parquet file. The run must have been read with the
    histograms of its intervals.
    """
    tables = {name: run.frame(name) for name in FRAMES if name != "histograms"}
    for name, rows in ((LATENCIES, _latencies(run)), (INTERVAL_LATENCIES, _interval_latencies(run))):
        tables[name] = declared_table(DISTRIBUTIONS[name], rows)
    return {name: parquet_bytes([with_run(run, one)]) for name, one in tables.items() if one.num_rows}


def catalogue_row(run: Run, content_sha256: str, folder: str, files: Mapping[str, bytes]) -> Row:
    """The run's entry. ``folder`` is where its ``files`` are, by the names of their tables."""
    measures = procedure_of(run.manifest.conditions.test).report(run).measures
    attempts = run.manifest.attempts
    return {
        **run_row(run),
        "host": attempts[0].host if attempts else None,
        "labels": list(run.manifest.people.labels.items()),
        "added_at": datetime.now(UTC).isoformat(),
        "archive_version": VERSION,
        "content_sha256": content_sha256,
        "origin": origin_of(run),
        "subjects": list(dict.fromkeys(chain.from_iterable(_subjects(run).values()))),
        **{f"measure_{name}": [getattr(one, name) for one in measures] for name in MEASURE_COLUMNS},
        "folder": folder,
        "file_table": list(files),
        "file_bytes": [len(content) for content in files.values()],
        "file_sha256": [hashlib.sha256(content).hexdigest() for content in files.values()],
    }


def origin_of(run: Run) -> str:
    """Which run it is, whatever became of it since: two may have one ID by accident."""
    first = run.manifest.attempts[:1]
    facts = (run.manifest.test_id, run.manifest.started_at, *((one.host, one.pid) for one in first))
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]


def parquet_bytes(tables: "list[pyarrow.Table]") -> bytes:
    """Tables as one file, whose pages have checksums; where one lacks a column it is null."""
    import pyarrow as arrow  # noqa: PLC0415 as above
    from pyarrow import parquet  # noqa: PLC0415 as above

    file = io.BytesIO()
    parquet.write_table(
        arrow.concat_tables(tables, promote_options="default"),
        file,
        compression="zstd",
        row_group_size=16384,
        write_page_checksum=True,
    )
    return file.getvalue()


class _Operation(RowSubject, frozen=True):
    """An operation of a step, a stream or an interval; ``buckets`` as ``coarse_buckets`` has them."""

    subjects: Sequence[str] = ()
    buckets: tuple[Sequence[int], Sequence[int]] = ((), ())


def _latencies(run: Run) -> Iterator[_Operation]:
    """Each operation of each step; where it has several streams, also of each of them."""
    subjects = _subjects(run)
    for number, step in enumerate(run.steps):
        yield from _operations(RowSubject(number, step, step.sample), STEP_BUCKETS_PER_OCTAVE, subjects)
        for stream, part in enumerate(step.sample.streams):
            yield from _operations(
                RowSubject(number, step, part, None, stream), STEP_BUCKETS_PER_OCTAVE, subjects
            )


def _interval_latencies(run: Run) -> Iterator[_Operation]:
    for number, step in enumerate(run.steps):
        for interval in step.sample.intervals:
            yield from _operations(
                RowSubject(number, step, interval, interval), INTERVAL_BUCKETS_PER_OCTAVE, {}
            )


def _operations(
    part: RowSubject, buckets_per_octave: int, subjects: Mapping[int, Sequence[str]]
) -> Iterator[_Operation]:
    for name, operation in part.of.operations.items():
        if operation.ios:
            yield _Operation(
                *(part.number, part.step, operation, part.interval, part.stream, name),
                subjects=subjects.get(id(operation), ()),
                buckets=coarse_buckets(operation.histogram, buckets_per_octave),
            )


def _subjects(run: Run) -> dict[int, list[str]]:
    """Which results are made of the operations of a step, by the identity of their samples."""
    found: defaultdict[int, list[str]] = defaultdict(list)
    for _, name, part, _ in parts_of(run):
        for operation in part.transfers:
            if operation.histogram:  # imported results have none
                found[id(operation)].append(key_of(name))
    return found
