"""Writes a run folder while the run goes on: a kill or a power cut loses at most the step in flight."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any, Self

import msgspec

from openpts.errors import RecordError
from openpts.record.manifest import Manifest
from openpts.record.schema import SCHEMA_VERSION, TABLES
from openpts.vocabulary.deviation import Deviation
from openpts.vocabulary.sample import Sample
from openpts.vocabulary.stimulus import ByteAmount, Duration

DATABASE_NAME = "run.db"


class RunWriter:
    """The one writer of a run folder; each step is one transaction, synced before it counts."""

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        self.folder = folder
        self._connection = connection

    @classmethod
    def create(cls, folder: Path, manifest: Manifest) -> Self:
        """Make the folder and its database. Raises RecordError if it holds anything already."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if any(folder.iterdir()):
                raise RecordError(f"{folder} is not empty: choose another folder with --out")
            connection = sqlite3.connect(folder / DATABASE_NAME, isolation_level=None)
            with _as_record_error(folder):
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
                connection.executescript(TABLES)
        except OSError as error:
            raise RecordError(f"can't create the run folder {folder}: {error.strerror}") from error
        writer = cls(folder, connection)
        writer.update_manifest(**{field.name: getattr(manifest, field.name) for field in fields(manifest)})
        return writer

    def update_manifest(self, **sections: object) -> None:
        """Replace sections of the manifest, all at once."""
        with self._transaction() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO manifest VALUES (?, ?)",
                [(section, msgspec.json.encode(value).decode()) for section, value in sections.items()],
            )

    def add_deviations(self, deviations: tuple[Deviation, ...]) -> None:
        """Append to the ledger, in the order given."""
        with self._transaction() as connection:
            connection.executemany(
                "INSERT INTO deviation (rule_id, clause, required, used, effect) VALUES (?, ?, ?, ?, ?)",
                [astuple(deviation) for deviation in deviations],
            )

    def add_step(self, round_number: int | None, position: int, sample: Sample) -> None:
        """Store one step with its intervals and histograms."""
        with self._transaction() as connection:
            row = _step_row(round_number, position, sample)
            cursor = connection.execute(
                f"INSERT INTO step ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",  # noqa: S608 names are ours
                tuple(row.values()),
            )
            step_id = cursor.lastrowid
            connection.executemany(
                "INSERT INTO direction VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (step_id, name, *astuple(direction))
                    for name, direction in (("read", sample.read), ("write", sample.write))
                ],
            )
            connection.executemany(
                f"INSERT INTO interval VALUES ({', '.join('?' * 10)})",  # noqa: S608 question marks only
                [(step_id, *astuple(interval)) for interval in sample.intervals],
            )

    def close(self) -> None:
        """Fold the write-ahead log into the database, so that run.db alone is the whole record."""
        with _as_record_error(self.folder):
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with _as_record_error(self.folder):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")


@contextmanager
def _as_record_error(folder: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise RecordError(f"can't write the record in {folder}: {error}") from error


def _step_row(round_number: int | None, position: int, sample: Sample) -> dict[str, Any]:
    stimulus, stop = sample.step.stimulus, sample.step.stop
    cpu, failure = sample.cpu, sample.failure
    return {
        "round": round_number,
        "position": position,
        "access_pattern": stimulus.access_pattern,
        "block_size_bytes": stimulus.block_size_bytes,
        "read_pct": stimulus.read_pct,
        "tc": stimulus.tc,
        "qd": stimulus.qd,
        "range_start_pct": stimulus.active_range.start_pct,
        "range_end_pct": stimulus.active_range.end_pct,
        "stop_duration_ns": stop.duration_ns if isinstance(stop, Duration) else None,
        "stop_amount_bytes": stop.amount_bytes if isinstance(stop, ByteAmount) else None,
        "state": sample.state,
        "started_ns": sample.started_ns,
        "elapsed_ns": sample.elapsed_ns,
        "gap_ns": sample.gap_ns,
        "interval_ns": sample.interval_ns,
        "cpu_user_pct": cpu.user_pct if cpu else None,
        "cpu_sys_pct": cpu.sys_pct if cpu else None,
        "cpu_iowait_pct": cpu.iowait_pct if cpu else None,
        "process_cpu_ns": cpu.process_ns if cpu else None,
        "failure_direction": failure.direction if failure else None,
        "failure_offset_bytes": failure.offset_bytes if failure else None,
        "failure_length_bytes": failure.length_bytes if failure else None,
        "failure_reason": failure.reason if failure else None,
    }
