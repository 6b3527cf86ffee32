"""Reads a run folder: the one source of everything that is analysed, shown or compared."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import get_type_hints

import msgspec

from openpts.errors import RecordError
from openpts.record.manifest import Manifest
from openpts.record.schema import SCHEMA_VERSION
from openpts.record.writer import DATABASE_NAME
from openpts.vocabulary.deviation import Deviation
from openpts.vocabulary.sample import CpuShares, DirectionSample, Interval, IoFailure, Sample, StepState
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, ByteAmount, Duration, Step, Stimulus


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One step as it stands in the record; ``round_number`` is None in preconditioning (WIPC)."""

    round_number: int | None
    position: int
    sample: Sample


@dataclass(frozen=True, slots=True)
class Run:
    """A whole run, steps in the order in which they ran."""

    folder: Path
    manifest: Manifest
    steps: tuple[StepRecord, ...]
    ledger: tuple[Deviation, ...]


def read_run(folder: Path) -> Run:
    """Load a run folder. Raises RecordError if it is none, or of a version this openpts can't read."""
    database = folder / DATABASE_NAME
    if not database.is_file():
        raise RecordError(f"{folder} is no run folder: it holds no {DATABASE_NAME}")
    try:
        connection = _open(database)
        try:
            return _read(folder, connection)
        finally:
            connection.close()
    except (sqlite3.Error, msgspec.MsgspecError) as error:
        raise RecordError(f"can't read {database}: {error}") from error


def _open(database: Path) -> sqlite3.Connection:
    # A closed run is one file that nobody writes: taken as immutable, it can be read from read-only
    # ground and reading leaves no side files. A run in progress, or one that was killed, has a log
    # beside it that must be read as well.
    closed = not database.with_name(f"{database.name}-wal").exists()
    mode = "immutable=1" if closed else "mode=ro"
    connection = sqlite3.connect(f"{database.absolute().as_uri()}?{mode}", uri=True)
    connection.row_factory = sqlite3.Row
    return connection


def _read(folder: Path, connection: sqlite3.Connection) -> Run:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version != SCHEMA_VERSION:
        raise RecordError(
            f"{folder} has record version {version}, this openpts reads version {SCHEMA_VERSION}"
        )
    return Run(
        folder=folder,
        manifest=_manifest(connection),
        steps=_steps(connection),
        ledger=tuple(
            Deviation(row["rule_id"], row["clause"], row["required"], row["used"], row["effect"])
            for row in connection.execute("SELECT * FROM deviation ORDER BY position")
        ),
    )


def _manifest(connection: sqlite3.Connection) -> Manifest:
    stored = dict(connection.execute("SELECT section, json FROM manifest").fetchall())
    types = get_type_hints(Manifest)
    return Manifest(
        **{
            field.name: msgspec.json.decode(stored[field.name], type=types[field.name])
            for field in fields(Manifest)
            if field.name in stored
        }
    )


def _steps(connection: sqlite3.Connection) -> tuple[StepRecord, ...]:
    directions: dict[tuple[int, str], DirectionSample] = {
        (row["step_id"], row["direction"]): DirectionSample(
            ios=row["ios"],
            bytes=row["bytes"],
            latency_sum_ns=row["latency_sum_ns"],
            latency_min_ns=row["latency_min_ns"],
            latency_max_ns=row["latency_max_ns"],
            histogram=row["histogram"],
        )
        for row in connection.execute("SELECT * FROM direction")
    }
    intervals: dict[int, list[Interval]] = defaultdict(list)
    for step_id, *values in connection.execute("SELECT * FROM interval ORDER BY step_id, interval_index"):
        intervals[step_id].append(Interval(*values))
    return tuple(
        StepRecord(
            round_number=row["round"],
            position=row["position"],
            sample=_sample(
                row,
                directions[row["step_id"], "read"],
                directions[row["step_id"], "write"],
                intervals[row["step_id"]],
            ),
        )
        for row in connection.execute("SELECT * FROM step ORDER BY step_id")
    )


def _sample(
    row: sqlite3.Row, read: DirectionSample, write: DirectionSample, intervals: Iterable[Interval]
) -> Sample:
    return Sample(
        step=_step(row),
        state=StepState(row["state"]),
        started_ns=row["started_ns"],
        elapsed_ns=row["elapsed_ns"],
        gap_ns=row["gap_ns"],
        read=read,
        write=write,
        interval_ns=row["interval_ns"],
        intervals=tuple(intervals),
        cpu=None
        if row["process_cpu_ns"] is None
        else CpuShares(
            user_pct=row["cpu_user_pct"],
            sys_pct=row["cpu_sys_pct"],
            iowait_pct=row["cpu_iowait_pct"],
            process_ns=row["process_cpu_ns"],
        ),
        failure=None
        if row["failure_reason"] is None
        else IoFailure(
            direction=row["failure_direction"],
            offset_bytes=row["failure_offset_bytes"],
            length_bytes=row["failure_length_bytes"],
            reason=row["failure_reason"],
        ),
    )


def _step(row: sqlite3.Row) -> Step:
    return Step(
        stimulus=Stimulus(
            access_pattern=AccessPattern(row["access_pattern"]),
            block_size_bytes=row["block_size_bytes"],
            read_pct=row["read_pct"],
            tc=row["tc"],
            qd=row["qd"],
            active_range=ActiveRange(row["range_start_pct"], row["range_end_pct"]),
        ),
        stop=Duration(row["stop_duration_ns"])
        if row["stop_duration_ns"] is not None
        else ByteAmount(row["stop_amount_bytes"]),
    )
