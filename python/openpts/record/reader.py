"""Reads a run folder: the one source of everything that is analysed, shown or compared."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final, get_type_hints

import msgspec

from openpts.errors import RecordError
from openpts.record.health import HealthRecord, Occasion, TelemetryPoint
from openpts.record.manifest import Manifest
from openpts.record.schema import SCHEMA_VERSION
from openpts.record.writer import DATABASE_NAME
from openpts.vocabulary.deviation import Deviation
from openpts.vocabulary.health import HealthReading
from openpts.vocabulary.part import Part, StepPlace
from openpts.vocabulary.sample import (
    NOTHING,
    CpuShares,
    Interval,
    IoErrors,
    IoFailure,
    OperationSample,
    Sample,
    StepState,
)
from openpts.vocabulary.stimulus import Step, Stimulus
from openpts.vocabulary.stop import StopRule

_STIMULUS: Final = msgspec.json.Decoder(Stimulus)
_STOP_RULE: Final[msgspec.json.Decoder[StopRule]] = msgspec.json.Decoder(StopRule)

_WITH_HISTOGRAMS: Final = "SELECT * FROM interval_operation WHERE step_id = ?"
_WITHOUT_HISTOGRAMS: Final = """
SELECT interval_index, operation, ios, bytes, latency_sum_ns, latency_min_ns, latency_max_ns, x'' AS histogram
FROM interval_operation WHERE step_id = ?
"""


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One step as it stands in the record."""

    place: StepPlace
    sample: Sample


@dataclass(frozen=True, slots=True)
class Run:
    """A whole run, steps in the order in which they ran.

    ``health`` are the readings of the device's log in their order, ``telemetry`` what was sampled beside the
    I/O, in the order of time: temperatures that came with intervals (``temperature_c``) as well.
    """

    folder: Path
    manifest: Manifest
    steps: tuple[StepRecord, ...]
    ledger: tuple[Deviation, ...]
    health: tuple[HealthRecord, ...] = ()
    telemetry: tuple[TelemetryPoint, ...] = ()

    def part(self, part: Part, *, cycle: int | None = None, number: int | None = None) -> list[StepRecord]:
        """The steps of a part, of all cycles and numbers or of one."""
        return [
            step
            for step in self.steps
            if step.place.part is part
            and cycle in {None, step.place.cycle}
            and number in {None, step.place.number}
        ]

    @property
    def with_gaps(self) -> tuple[StepRecord, ...]:
        """Steps before which the test left the device alone; before the first of a cycle it was purged."""
        first: dict[int, StepPlace] = {}
        for step in self.steps:
            first.setdefault(step.place.cycle, step.place)
        return tuple(
            step
            for step in self.steps
            if step.sample.gap_ns is not None and step.place != first[step.place.cycle]
        )

    @property
    def cycle_count(self) -> int:
        """Cycles that were begun, at least 1."""
        return max([1, len(self.manifest.purges), *(step.place.cycle for step in self.steps)])


def read_manifest(folder: Path) -> Manifest:
    """What a run folder says of itself, without its steps. Raises RecordError as ``read_run`` does."""
    with _opened(folder) as connection:
        return _manifest(folder, connection)


def read_run(folder: Path, *, interval_histograms: bool = False) -> Run:
    """Load a run folder. Raises RecordError if it is none, or of a version this openpts can't read.

    The histograms of intervals are many times larger than all the rest together: they are empty unless
    ``interval_histograms`` asks for them. Those of whole steps are always there.
    """
    with _opened(folder) as connection:
        steps = _steps(connection, interval_histograms=interval_histograms)
        return Run(
            folder=folder,
            manifest=_manifest(folder, connection),
            steps=steps,
            ledger=tuple(
                Deviation(row["rule_id"], row["clause"], row["required"], row["used"], row["effect"])
                for row in connection.execute("SELECT * FROM deviation ORDER BY position")
            ),
            health=_health(connection),
            telemetry=_telemetry(connection, steps),
        )


@contextmanager
def _opened(folder: Path) -> Iterator[sqlite3.Connection]:
    """The database of a run folder, if it is of the version that is read here."""
    database = folder / DATABASE_NAME
    if not database.is_file():
        raise RecordError(f"{folder} is no run folder: it holds no {DATABASE_NAME}")
    try:
        with closing(_open(database)) as connection:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version != SCHEMA_VERSION:
                raise RecordError(
                    f"{folder} has record version {version}, this openpts reads version {SCHEMA_VERSION}"
                )
            yield connection
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


def _manifest(folder: Path, connection: sqlite3.Connection) -> Manifest:
    stored = dict(connection.execute("SELECT section, json FROM manifest").fetchall())
    if not stored:
        raise RecordError(f"{folder} holds nothing yet: its run has just begun, or ended as it did")
    types = get_type_hints(Manifest)
    return Manifest(
        **{
            field.name: msgspec.json.decode(stored[field.name], type=types[field.name])
            for field in fields(Manifest)
            if field.name in stored
        }
    )


def _steps(connection: sqlite3.Connection, *, interval_histograms: bool) -> tuple[StepRecord, ...]:
    return tuple(
        StepRecord(
            place=StepPlace(row["cycle"], Part(row["part"]), row["number"], row["position"]),
            sample=_sample(connection, row, interval_histograms=interval_histograms),
        )
        for row in connection.execute("SELECT * FROM step ORDER BY step_id")
    )


def _health(connection: sqlite3.Connection) -> tuple[HealthRecord, ...]:
    values: dict[int, dict[str, float]] = defaultdict(dict)
    for row in connection.execute("SELECT * FROM health"):
        values[row["position"]][row["name"]] = row["value"]
    return tuple(
        HealthRecord(
            occasion=Occasion(row["occasion"]),
            cycle=row["cycle"],
            part=None if row["part"] is None else Part(row["part"]),
            number=row["number"],
            read_at=row["read_at"],
            t_ns=row["t_ns"],
            reading=HealthReading(row["source"], values.get(row["position"], {})),
        )
        for row in connection.execute("SELECT * FROM health_reading ORDER BY position")
    )


def _telemetry(connection: sqlite3.Connection, steps: tuple[StepRecord, ...]) -> tuple[TelemetryPoint, ...]:
    sampled = [
        TelemetryPoint(row["t_ns"], row["name"], row["value"])
        for row in connection.execute("SELECT * FROM telemetry")
    ]
    return tuple(
        sorted([*sampled, *interval_temperatures(steps)], key=lambda point: (point.t_ns, point.name))
    )


def interval_temperatures(steps: Iterable[StepRecord]) -> list[TelemetryPoint]:
    """What the engine told of the device's temperature at the end of each interval."""
    return [
        TelemetryPoint(
            sample.started_ns + interval.index * sample.interval_ns + interval.elapsed_ns,
            "temperature_c",
            interval.temperature_c,
        )
        for sample in (step.sample for step in steps)
        for interval in sample.intervals
        if interval.temperature_c is not None
    ]


def _sample(connection: sqlite3.Connection, row: sqlite3.Row, *, interval_histograms: bool) -> Sample:
    step_id = row["step_id"]
    operations = {
        stored["operation"]: _operation(stored)
        for stored in connection.execute("SELECT * FROM operation WHERE step_id = ?", (step_id,))
    }
    return Sample(
        step=_step(row),
        state=StepState(row["state"]),
        ended_by=row["ended_by"],
        started_ns=row["started_ns"],
        elapsed_ns=row["elapsed_ns"],
        gap_ns=row["gap_ns"],
        **_all_operations(operations),
        interval_ns=row["interval_ns"],
        intervals=_intervals(connection, step_id, histograms=interval_histograms),
        cpu=_cpu(row),
        failure=_failure(row),
        errors=_errors(connection, step_id),
        unissued=row["unissued"],
        ios_by_block_size=_counts(row["ios_by_block_size"]),
        ios_by_zone=_counts(row["ios_by_zone"]),
    )


def _step(row: sqlite3.Row) -> Step:
    stimulus = row["stimulus"]
    return Step(
        stimulus=None if stimulus is None else _STIMULUS.decode(stimulus),
        stop=_STOP_RULE.decode(row["stop"]),
        ramp_ns=row["ramp_ns"],
        capture=bool(row["capture"]),
    )


def _intervals(connection: sqlite3.Connection, step_id: int, *, histograms: bool) -> tuple[Interval, ...]:
    operations: dict[int, dict[str, OperationSample]] = defaultdict(dict)
    for row in connection.execute(_WITH_HISTOGRAMS if histograms else _WITHOUT_HISTOGRAMS, (step_id,)):
        operations[row["interval_index"]][row["operation"]] = _operation(row)
    return tuple(
        _interval(row, operations[row["interval_index"]])
        for row in connection.execute(
            "SELECT * FROM interval WHERE step_id = ? ORDER BY interval_index", (step_id,)
        )
    )


def _interval(row: sqlite3.Row, operations: dict[str, OperationSample]) -> Interval:
    return Interval(
        index=row["interval_index"],
        elapsed_ns=row["elapsed_ns"],
        **_all_operations(operations),
        in_flight=row["in_flight"],
        errors=row["errors"],
        cpu=_cpu(row),
        temperature_c=row["temperature_c"],
        throttled=None if row["throttled"] is None else bool(row["throttled"]),
    )


def _all_operations(stored: dict[str, OperationSample]) -> dict[str, OperationSample]:
    """What has no row had no I/O."""
    return {"read": NOTHING, "write": NOTHING} | stored


def _operation(row: sqlite3.Row) -> OperationSample:
    return OperationSample(
        ios=row["ios"],
        bytes=row["bytes"],
        latency_sum_ns=row["latency_sum_ns"],
        latency_min_ns=row["latency_min_ns"],
        latency_max_ns=row["latency_max_ns"],
        histogram=row["histogram"],
    )


def _errors(connection: sqlite3.Connection, step_id: int) -> tuple[IoErrors, ...]:
    return tuple(
        IoErrors(
            operation=row["operation"],
            reason=row["reason"],
            count=row["count"],
            first_offsets_bytes=msgspec.json.decode(row["first_offsets_bytes"], type=tuple[int, ...]),
        )
        for row in connection.execute(
            "SELECT * FROM io_error WHERE step_id = ? ORDER BY position", (step_id,)
        )
    )


def _counts(text: str) -> tuple[int, ...]:
    return msgspec.json.decode(text, type=tuple[int, ...])


def _cpu(row: sqlite3.Row) -> CpuShares | None:
    if row["process_cpu_ns"] is None:
        return None
    return CpuShares(
        user_pct=row["cpu_user_pct"],
        sys_pct=row["cpu_sys_pct"],
        iowait_pct=row["cpu_iowait_pct"],
        process_ns=row["process_cpu_ns"],
    )


def _failure(row: sqlite3.Row) -> IoFailure | None:
    if row["failure_reason"] is None:
        return None
    return IoFailure(
        operation=row["failure_operation"],
        offset_bytes=row["failure_offset_bytes"],
        length_bytes=row["failure_length_bytes"],
        reason=row["failure_reason"],
    )
