"""The tables of run.db, and a step as their rows."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from operator import attrgetter
from typing import Final

import msgspec
from msgspec.structs import astuple

from openpts.units import KIB
from openpts.vocabulary.sample import NOTHING, CpuShares, Measured, Sample, StepPlace
from openpts.vocabulary.stimulus import Step, Stream

SCHEMA_VERSION: Final = 1
"""Another one is refused: what changes a table, or what a section of the manifest means, raises it."""

REPEATED: Final = "repeated"
"""State of a step that was carried out again, in the same attempt or a later one: it counts for nothing."""

# A histogram takes some 2 to 6 KB: in SQLite's usual pages of 4 KiB it would waste as much again, and so it
# would in a table WITHOUT ROWID, which moves rows of more than a quarter of a page to pages of their own.
PAGE_BYTES: Final = 16 * KIB

TABLES: Final = """
CREATE TABLE manifest (
    section             TEXT PRIMARY KEY,   -- a field of record.manifest.Manifest; sha256: of all the others
    json                TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE step (
    step_id             INTEGER PRIMARY KEY,
    cycle               INTEGER NOT NULL,   -- from 1; a purge begins one
    part                TEXT NOT NULL,      -- vocabulary.phase.Phase
    number              INTEGER NOT NULL,   -- from 1 within its phase: round, wait state, access group ...
    position            INTEGER NOT NULL,   -- from 0 within phase and number
    stimulus            TEXT,               -- JSON of vocabulary.stimulus.Stimulus; NULL in an idle gap, and
                                            -- where table stream has the step's streams
    stop                TEXT NOT NULL,      -- JSON of vocabulary.stop.StopRule
    ramp_ns             INTEGER NOT NULL,
    capture             INTEGER NOT NULL,   -- 1: every single I/O is in files beside this one
    state               TEXT NOT NULL,      -- complete, interrupted, failed, repeated
    ended_by            TEXT,               -- the stop rule that ended a complete step
    started_ns          INTEGER NOT NULL,   -- engine clock
    elapsed_ns          INTEGER NOT NULL,
    gap_ns              INTEGER,
    interval_ns         INTEGER NOT NULL,
    unissued            INTEGER NOT NULL,   -- planned I/Os that found no room until the step's end
    ios_by_block_size   TEXT NOT NULL,      -- JSON array, in the stimulus' order; empty for a single size
    ios_by_zone         TEXT NOT NULL,      -- JSON array, likewise for the zones of its placement
    slips               BLOB NOT NULL,      -- how late planned I/Os were submitted, as a histogram; or empty
    cpu_user_pct        REAL,
    cpu_sys_pct         REAL,
    cpu_iowait_pct      REAL,
    process_cpu_ns      INTEGER,            -- NULL where the processors' time was not read
    failure_operation   TEXT,
    failure_offset_bytes INTEGER,
    failure_length_bytes INTEGER,
    failure_reason      TEXT,               -- NULL without a failure
    carried             TEXT NOT NULL,      -- where the threads' offsets ended, in the engine's form
    stored_at           TEXT NOT NULL       -- ISO 8601, UTC
) STRICT;

CREATE TABLE operation (
    step_id             INTEGER NOT NULL REFERENCES step,
    operation           TEXT NOT NULL,      -- read, write, trim, flush, fsync; none for one without an I/O
    ios                 INTEGER NOT NULL,
    bytes               INTEGER NOT NULL,
    latency_sum_ns      INTEGER NOT NULL,
    latency_min_ns      INTEGER,
    latency_max_ns      INTEGER,
    histogram           BLOB NOT NULL,      -- HdrHistogram V2, compressed; ns, 3 significant digits
    PRIMARY KEY (step_id, operation)
) STRICT;

CREATE TABLE interval (
    step_id             INTEGER NOT NULL REFERENCES step,
    interval_index      INTEGER NOT NULL,   -- times step.interval_ns after step.started_ns
    elapsed_ns          INTEGER NOT NULL,
    in_flight           INTEGER NOT NULL,   -- at the interval's end
    errors              INTEGER NOT NULL,
    cpu_user_pct        REAL,
    cpu_sys_pct         REAL,
    cpu_iowait_pct      REAL,
    process_cpu_ns      INTEGER,
    temperature_c       REAL,               -- of the device at the interval's end; NULL: not told
    throttled           INTEGER,            -- 1: heat slowed the device down in it; NULL: not told
    PRIMARY KEY (step_id, interval_index)
) STRICT, WITHOUT ROWID;

CREATE TABLE interval_operation (           -- as operation, for one interval
    step_id             INTEGER NOT NULL REFERENCES step,
    interval_index      INTEGER NOT NULL,
    operation           TEXT NOT NULL,
    ios                 INTEGER NOT NULL,
    bytes               INTEGER NOT NULL,
    latency_sum_ns      INTEGER NOT NULL,
    latency_min_ns      INTEGER,
    latency_max_ns      INTEGER,
    histogram           BLOB NOT NULL,
    PRIMARY KEY (step_id, interval_index, operation)
) STRICT;

CREATE TABLE stream (                       -- of a step of several, or of one that is more than a stimulus
    step_id             INTEGER NOT NULL REFERENCES step,
    position            INTEGER NOT NULL,   -- from 0 within its step
    name                TEXT NOT NULL,
    stimulus            TEXT NOT NULL,      -- JSON of vocabulary.stimulus.Stimulus
    delay_ns            INTEGER NOT NULL,
    stop                TEXT,               -- JSON of vocabulary.stop.StopRule; NULL: the step's alone
    priority            TEXT,               -- JSON of vocabulary.stimulus.IoPriority
    share               INTEGER NOT NULL,   -- of the I/Os of all streams with one; 0: none
    PRIMARY KEY (step_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE stream_result (                -- what each of several did; of a single one the step has it
    step_id             INTEGER NOT NULL REFERENCES step,
    position            INTEGER NOT NULL,
    ended_by            TEXT,               -- the stop rule that ended it
    started_ns          INTEGER NOT NULL,   -- engine clock
    elapsed_ns          INTEGER NOT NULL,
    unissued            INTEGER NOT NULL,
    errors              INTEGER NOT NULL,
    ios_by_block_size   TEXT NOT NULL,      -- as in step
    ios_by_zone         TEXT NOT NULL,
    slips               BLOB NOT NULL,
    PRIMARY KEY (step_id, position)
) STRICT;

CREATE TABLE stream_operation (             -- as operation, for one of several streams
    step_id             INTEGER NOT NULL REFERENCES step,
    position            INTEGER NOT NULL,
    operation           TEXT NOT NULL,
    ios                 INTEGER NOT NULL,
    bytes               INTEGER NOT NULL,
    latency_sum_ns      INTEGER NOT NULL,
    latency_min_ns      INTEGER,
    latency_max_ns      INTEGER,
    histogram           BLOB NOT NULL,
    PRIMARY KEY (step_id, position, operation)
) STRICT;

CREATE TABLE stream_interval_operation (    -- as operation, for one interval of one of several streams
    step_id             INTEGER NOT NULL REFERENCES step,
    interval_index      INTEGER NOT NULL,
    position            INTEGER NOT NULL,
    operation           TEXT NOT NULL,
    ios                 INTEGER NOT NULL,
    bytes               INTEGER NOT NULL,
    latency_sum_ns      INTEGER NOT NULL,
    latency_min_ns      INTEGER,
    latency_max_ns      INTEGER,
    histogram           BLOB NOT NULL,
    PRIMARY KEY (step_id, interval_index, position, operation)
) STRICT;

CREATE TABLE replay (                       -- of a stream that replays a trace
    step_id             INTEGER NOT NULL REFERENCES step,
    position            INTEGER NOT NULL,   -- that of the stream
    replay              TEXT NOT NULL,      -- JSON of vocabulary.replay.Replay
    played              TEXT,               -- JSON of vocabulary.replay.Played; NULL: the step failed at once
    PRIMARY KEY (step_id, position)
) STRICT;

CREATE TABLE io_error (                     -- I/Os of a step that failed alike
    step_id             INTEGER NOT NULL REFERENCES step,
    position            INTEGER NOT NULL,   -- from 0 within its step
    operation           TEXT NOT NULL,
    reason              TEXT NOT NULL,
    count               INTEGER NOT NULL,
    first_offsets_bytes TEXT NOT NULL,      -- JSON array of integers
    PRIMARY KEY (step_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE standstill (                   -- openpts itself did not run, in a step or just before it
    step_id             INTEGER NOT NULL REFERENCES step,
    position            INTEGER NOT NULL,   -- from 0 within its step
    started_ns          INTEGER NOT NULL,   -- engine clock
    lasted_ns           INTEGER NOT NULL,
    PRIMARY KEY (step_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE slow_io (                      -- a single I/O that took longer than the run's limit
    step_id             INTEGER NOT NULL REFERENCES step,
    position            INTEGER NOT NULL,   -- from 0 within its step, by time
    operation           TEXT NOT NULL,      -- and the columns below: vocabulary.sample.SlowIo
    offset_bytes        INTEGER NOT NULL,
    length_bytes        INTEGER NOT NULL,
    submitted_ns        INTEGER NOT NULL,
    latency_ns          INTEGER NOT NULL,
    silence_ns          INTEGER NOT NULL,
    idle_ns             INTEGER,
    absent_ns           INTEGER NOT NULL,
    own_ns              INTEGER NOT NULL,
    waited_ns           INTEGER,
    ran_ns              INTEGER,
    interruptions       INTEGER NOT NULL,
    looks               INTEGER NOT NULL,
    least_at_driver     INTEGER,
    missing_at_driver   INTEGER,
    foreign_at_driver   INTEGER,
    PRIMARY KEY (step_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE health_reading (               -- what the device's own log said at one moment
    position            INTEGER PRIMARY KEY,
    occasion            TEXT NOT NULL,      -- record.health.Occasion
    cycle               INTEGER NOT NULL,   -- 0 before the first purge
    part                TEXT,               -- vocabulary.phase.Phase; NULL before and after the run
    number              INTEGER,
    read_at             TEXT NOT NULL,      -- ISO 8601, UTC
    t_ns                INTEGER,            -- engine clock; NULL before the first step
    source              TEXT NOT NULL
) STRICT;

CREATE TABLE health (
    position            INTEGER NOT NULL REFERENCES health_reading,
    name                TEXT NOT NULL,      -- vocabulary.health: host_write_bytes, temperature_c ...
    value               REAL NOT NULL,
    PRIMARY KEY (position, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE telemetry (                    -- what was sampled beside the I/O, about once a second
    name                TEXT NOT NULL,      -- temperature_c ...
    t_ns                INTEGER NOT NULL,   -- engine clock, as step.started_ns
    value               REAL NOT NULL,
    PRIMARY KEY (name, t_ns)
) STRICT, WITHOUT ROWID;

CREATE TABLE deviation (
    position            INTEGER PRIMARY KEY,
    rule_id             TEXT NOT NULL,
    clause              TEXT NOT NULL,
    required            TEXT NOT NULL,
    used                TEXT NOT NULL,
    effect              TEXT NOT NULL,
    step_id             INTEGER REFERENCES step,    -- NULL where it is not of a single step
    extent              REAL                -- likewise; of steps that deviate alike the largest is the worst
) STRICT;
"""


Row = tuple[object, ...]

OF_SAMPLE: Final = (
    "state",
    "ended_by",
    "started_ns",
    "elapsed_ns",
    "gap_ns",
    "interval_ns",
    "unissued",
    "slips",
)
"""Columns of table step that are fields of a sample, under the same names."""
_OF_INTERVAL: Final = attrgetter("index", "elapsed_ns", "in_flight", "errors")
_OF_STREAM: Final = attrgetter("ended_by", "started_ns", "elapsed_ns", "unissued", "errors")
_CPU: Final = ("cpu_user_pct", "cpu_sys_pct", "cpu_iowait_pct", "process_cpu_ns")
_FAILURE: Final = ("operation", "offset_bytes", "length_bytes", "reason")


def _is_plain(step: Step) -> bool:
    """Whether it is one stimulus from the step's start to its end, or none: no row in table stream."""
    return step.streams == tuple(map(Stream, step.stimuli[:1]))


def rows_beside(sample: Sample) -> Mapping[str, Sequence[Row]]:
    """What belongs to a step in all other tables, by table: without its key, which comes first in each."""
    step = sample.step
    played = {one.stream: json_text(one) for one in sample.played}
    return {
        "operation": _operation_rows(sample),
        "interval": [
            (*_OF_INTERVAL(one), *_cpu_columns(one.cpu), one.temperature_c, one.throttled)
            for one in sample.intervals
        ],
        "interval_operation": [(one.index, *row) for one in sample.intervals for row in _operation_rows(one)],
        "stream": [] if _is_plain(step) else [(n, *_stream_row(one)) for n, one in enumerate(step.streams)],
        "stream_result": [
            (n, *_OF_STREAM(one), json_text(one.ios_by_block_size), json_text(one.ios_by_zone), one.slips)
            for n, one in enumerate(sample.streams)
        ],
        "stream_operation": _part_rows(sample.streams),
        "stream_interval_operation": [
            (one.index, *row) for one in sample.intervals for row in _part_rows(one.streams)
        ],
        "replay": [
            (n, json_text(stream.replay), played.get(n))
            for n, stream in enumerate(step.streams)
            if stream.replay is not None
        ],
        "io_error": [
            (n, one.operation, one.reason, one.count, json_text(one.first_offsets_bytes))
            for n, one in enumerate(sample.errors)
        ],
        "standstill": [(n, *astuple(one)) for n, one in enumerate(sample.standstills)],
        "slow_io": [(n, *astuple(one)) for n, one in enumerate(sample.slow_ios)],
    }


def step_row(place: StepPlace, sample: Sample) -> dict[str, object]:
    """The columns of table step but its key, which the database gives."""
    step = sample.step
    return {
        "cycle": place.cycle,
        "part": place.phase,
        "number": place.number,
        "position": place.position,
        "stimulus": json_text(step.stimulus) if _is_plain(step) and not step.is_idle else None,
        "stop": json_text(step.stop),
        "ramp_ns": step.ramp_ns,
        "capture": step.capture,
        **{name: getattr(sample, name) for name in OF_SAMPLE},
        "carried": sample.carried,
        "ios_by_block_size": json_text(sample.ios_by_block_size),
        "ios_by_zone": json_text(sample.ios_by_zone),
        **dict(zip(_CPU, _cpu_columns(sample.cpu), strict=True)),
        **{f"failure_{name}": getattr(sample.failure, name, None) for name in _FAILURE},
        "stored_at": datetime.now(UTC).isoformat(timespec="milliseconds"),
    }


def _operation_rows(measured: Measured) -> list[Row]:
    return [(name, *astuple(one)) for name, one in measured.operations.items() if one != NOTHING]


def _cpu_columns(cpu: CpuShares | None) -> tuple[float | None, float | None, float | None, int | None]:
    return (cpu.user_pct, cpu.sys_pct, cpu.iowait_pct, cpu.process_ns) if cpu else (None, None, None, None)


def _stream_row(stream: Stream) -> Row:
    optional = (None if one is None else json_text(one) for one in (stream.stop, stream.priority))
    return (stream.name, json_text(stream.stimulus), stream.delay_ns, *optional, stream.share)


def _part_rows(parts: Sequence[Measured]) -> list[Row]:
    return [(position, *row) for position, part in enumerate(parts) for row in _operation_rows(part)]


def json_text(value: object) -> str:
    """A value as the JSON that a column holds."""
    return msgspec.json.encode(value).decode()
