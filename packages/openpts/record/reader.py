"""Reads a run folder: the one source of everything that is analyzed, shown or compared."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

from msgspec import Meta, Struct
from msgspec.structs import replace

from openpts.analysis.host_limits import ENGINE_THREADS
from openpts.errors import NoRecordError, RecordError
from openpts.escaped_text import visible_line
from openpts.fields.conditions import Conditions
from openpts.record.contradictions import refuse_contradictions, refuse_other_interval_histograms
from openpts.record.database import Query, opened_record, rows_by_type, stored_manifest
from openpts.record.decoding import Count, Finite, Moment, in_visible_lines, rows_of
from openpts.record.frames import frame
from openpts.record.health import (
    HealthRecord,
    ReadingPoint,
    StepMarks,
    TelemetryPoint,
    TelemetrySeries,
    spans_of,
    step_marks,
    visible_points,
)
from openpts.record.manifest import Manifest, manifest_of
from openpts.record.stored_samples import stored_distributions, stored_samples
from openpts.record.writer import capture_folder
from openpts.units import NS_PER_S
from openpts.vocabulary.engine_overhead import never_sleeps
from openpts.vocabulary.facts import HealthReading
from openpts.vocabulary.sample import IoErrors, IoFailure, Phase, Sample, StepPlace, StepState
from openpts.vocabulary.verdict import Deviation, StepDeviation, ledger_of

C = TypeVar("C", bound=Conditions)


_STORED: Final = "SELECT stored_at, started_ns, elapsed_ns FROM step ORDER BY step_id"
_DEVIATIONS: Final = Query(
    "deviation LEFT JOIN step USING (step_id)",
    "deviation.position, rule_id, clause, required, used, effect, extent, cycle, part, number, step.position",
    tuple[int, str, str, str, str, str, Finite | None, int | None, Phase | None, int | None, int | None],
)
_TELEMETRY: Final = Query("telemetry", "t_ns, name, value", tuple[Moment, str, Finite])
_HEALTH: Final = Query("health", "position, name, value", tuple[int, str, Finite])
_HEALTH_READINGS: Final = Query(
    "health_reading",
    "position, occasion, cycle, part, number, read_at, t_ns, source",
    tuple[int, ReadingPoint, Count, Phase | None, Count | None, str, Moment | None, str],
)


class StepRecord(Struct, frozen=True, eq=False):
    """One step as recorded, behind so many others, those included that were set aside since."""

    place: StepPlace
    sample: Sample
    behind: int = 0

    def __eq__(self, other: object) -> bool:
        """Whether the same was measured, wherever it is in its record."""
        return isinstance(other, StepRecord) and (self.place, self.sample) == (other.place, other.sample)

    def __hash__(self) -> int:
        return hash(self.place)


class Run(Struct, frozen=True, dict=True):
    """A complete run, steps in the order in which they ran.

    ``health`` are the readings of the device's log in their order, ``sampled`` what was sampled beside I/O.
    ``zero_at`` is when the engine's clock was 0; None without a step. ``stored_at`` is when each step was
    stored, also those that were set aside since: that of a step is at index ``behind``.
    """

    folder: Path
    manifest: Manifest
    steps: tuple[StepRecord, ...]
    ledger: tuple[Deviation, ...]
    health: tuple[HealthRecord, ...] = ()
    sampled: tuple[TelemetryPoint, ...] = ()
    zero_at: datetime | None = None
    stored_at: tuple[datetime, ...] = ()

    def __repr__(self) -> str:
        """One line: steps hold histograms, which are millions of characters."""
        made, target = self.manifest, self.manifest.target
        simulated = " (simulated)" if target.simulation is not None else ""
        what = f"{made.conditions.test} on {target.path}{simulated}, {made.state}, {len(self.steps):,} steps"
        return f"<Run {made.test_id}: {what}, in {self.folder}>"

    def conditions(self, kind: type[C]) -> C:
        """The conditions, as those of a kind of test. Raises TypeError for another kind: parts of a test are
        asked about its own runs only.
        """
        conditions = self.manifest.conditions
        if not isinstance(conditions, kind):
            raise TypeError(f"{type(conditions).__name__} are not {kind.__name__}")
        return conditions

    # SOL-GEN-07
    def time_at(self, clock_ns: int) -> str | None:
        """When the engine's clock showed that, ISO 8601, UTC; None where it is not known.

        On a simulated drive, as if its virtual time had begun with the run.
        """
        zero_at = self.zero_at
        try:
            if self.manifest.target.simulation is not None and self.steps:
                zero_at = datetime.fromisoformat(self.manifest.started_at)
                clock_ns -= self.steps[0].sample.started_ns
            if zero_at is None:
                return None
            return (zero_at + timedelta(microseconds=clock_ns // 1000)).strftime("%Y-%m-%dT%H:%M:%SZ")
        except (ValueError, OverflowError):  # a damaged record
            return None

    @cached_property
    def telemetry_series(self) -> dict[str, TelemetrySeries]:
        """What was sampled, and what came with intervals (``temperature_c``, ``throttled``), by name."""
        points: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
        temperatures, throttled = points["temperature_c"], points["throttled"]
        for sample in (step.sample for step in self.steps):
            start_ns, length_ns = sample.started_ns, sample.interval_ns
            for interval in sample.intervals:
                end_ns = start_ns + interval.index * length_ns + interval.elapsed_ns
                if interval.temperature_c is not None:
                    temperatures.append((end_ns, interval.temperature_c))
                if interval.throttled is not None:
                    throttled.append((end_ns, float(interval.throttled)))
        for point in self.sampled:
            points[point.name].append((point.t_ns, point.value))
        ordered = {name: sorted(of_name) for name, of_name in sorted(points.items()) if of_name}
        return {name: TelemetrySeries(*zip(*of_name, strict=True)) for name, of_name in ordered.items()}

    @cached_property
    def host_marks(self) -> tuple[StepMarks, ...] | None:
        """Of each step, when the host was its limit; None of a simulated drive, and of an imported run."""
        manifest = self.manifest
        if ENGINE_THREADS not in manifest.telemetry:
            return None
        spans = [spans_of(step.sample) for step in self.steps]
        period_s = None if manifest.ordered is None else manifest.ordered.telemetry_period_s
        return step_marks(spans, self.telemetry_series, period_s, polling=never_sleeps(manifest.engine))

    def frame(self, name: str) -> dict[str, list[Any]]:
        """A table by its name, one of ``frames.FRAMES``: a list for each column, all of one length.

        ``pandas.DataFrame`` and ``polars.DataFrame`` take it as it is. Raises UsageError for another name.
        """
        return frame(self, name)

    def phase(self, phase: Phase, *, cycle: int | None = None, number: int | None = None) -> list[StepRecord]:
        """The steps of a phase, of all cycles and numbers or of one."""
        return [
            step for step in self._steps_of.get((phase, cycle), ()) if number in {None, step.place.number}
        ]

    @cached_property
    def _steps_of(self) -> Mapping[tuple[Phase, int | None], list[StepRecord]]:
        """Steps of each phase, in all cycles (None) and in each: tests ask for one cycle after the other."""
        found = defaultdict[tuple[Phase, int | None], list[StepRecord]](list)
        for step in self.steps:
            found[step.place.phase, None].append(step)
            found[step.place.phase, step.place.cycle].append(step)
        return found

    def capture_of(self, step: StepRecord) -> tuple[str, int]:
        """The folder with every single I/O of a step, and the step's number in its files.

        Each attempt at the run has a folder, and counts its steps from 0; on a simulated drive it repeats
        what is there.
        """
        attempts = self.manifest.attempts
        if self.manifest.target.simulation is not None:
            return capture_folder(len(attempts)), self.steps.index(step)
        number, before = max(
            ((number, one.steps) for number, one in enumerate(attempts, 1) if one.steps <= step.behind),
            default=(1, 0),
        )
        return capture_folder(number), step.behind - before

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

    @cached_property
    def cycle_count(self) -> int:
        """Cycles that were begun, at least 1."""
        return max([1, len(self.manifest.purges), *(step.place.cycle for step in self.steps)])


def read_manifest(folder: Path) -> Manifest:
    """What a run folder says of itself, without its steps. Raises RecordError as ``read_run`` does."""
    with opened_record(folder) as connection:
        manifest = stored_manifest(folder, connection)
        return in_visible_lines(manifest, manifest_of(manifest.conditions.test))


def has_begun(folder: Path) -> bool:
    """Whether a folder has the record of a run: one that was killed before that began has done nothing yet.

    Raises RecordError as ``read_run`` does where it has another one.
    """
    try:
        read_manifest(folder)
    except NoRecordError:
        return False
    return True


def read_run(folder: Path, *, interval_histograms: bool = False) -> Run:
    """Load a run folder, and hold against each other what its record says twice.

    Folders travel between labs: each text is one line on which nothing is invisible, whatever was stored.

    Raises RecordError if it is none, of a version this openpts can't read, damaged, or contradicts itself.

    The histograms of intervals are many times larger than all the rest together: they are empty unless
    ``interval_histograms`` asks for them. Those of whole steps are always there.
    """
    run = stored_run(folder, interval_histograms=interval_histograms)
    refuse_contradictions(folder, run.manifest, ((step.place, step.sample) for step in run.steps))
    return in_visible_texts(run)


def refuse_other_histograms(run: Run) -> None:
    """Raises RecordError where the histograms of the intervals are not those of their steps.

    They are read one by one: together they may not fit in memory.
    """
    places = {step.behind + 1: step for step in run.steps if step.sample.state is StepState.COMPLETE}
    with opened_record(run.folder) as connection:
        found = (
            (f"{places[step_id].place}: {where}", whole, parts)
            for step_id, where, whole, parts in stored_distributions(connection)
            if step_id in places
        )
        refuse_other_interval_histograms(run.folder, run.manifest, found)


def in_visible_texts(run: Run) -> Run:
    """The run with all texts fit to be shown: pages, tables and messages need not think of it."""
    return replace(
        run,
        manifest=in_visible_lines(run.manifest, manifest_of(run.manifest.conditions.test)),
        steps=tuple(_visible_step(step) for step in run.steps),
        ledger=in_visible_lines(run.ledger, tuple[Deviation, ...]),
        health=in_visible_lines(run.health, tuple[HealthRecord, ...]),
        sampled=visible_points(run.sampled),
    )


def _visible_step(step: StepRecord) -> StepRecord:
    sample = step.sample
    texts = [sample.ended_by or "", *(stream.name for stream in sample.step.streams)]
    texts += [part.ended_by or "" for part in sample.streams]
    if all(text == visible_line(text) for text in texts) and sample.failure is None and not sample.errors:
        return step
    streams = tuple(replace(stream, name=visible_line(stream.name)) for stream in sample.step.streams)
    parts = tuple(
        replace(part, ended_by=in_visible_lines(part.ended_by, str | None)) for part in sample.streams
    )
    shown = replace(
        sample,
        step=replace(sample.step, streams=streams),
        streams=parts,
        ended_by=in_visible_lines(sample.ended_by, str | None),
        failure=in_visible_lines(sample.failure, IoFailure | None),
        errors=in_visible_lines(sample.errors, tuple[IoErrors, ...]),
    )
    return replace(step, sample=shown)


def ns_between(earlier: str, later: str) -> int:
    """From one moment of a record to another, ISO 8601; below 0 where a clock was set back.

    Raises RecordError for a text that is no moment.
    """
    return round((moment_of(later) - moment_of(earlier)).total_seconds() * NS_PER_S)


def moment_of(text: str) -> datetime:
    """A moment of a record. Raises RecordError for a text that is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise RecordError(f"the record is damaged: {text!r} is not a moment") from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def stored_run(folder: Path, *, interval_histograms: bool = False) -> Run:
    """As ``read_run``, but whatever it says and as it says it: for what has just written it.

    Raises RecordError.
    """
    with opened_record(folder) as connection:
        kind: Any = tuple[Annotated[datetime, Meta(tz=True)], Moment, Moment]
        rows = rows_of(connection.execute(_STORED), "step", kind)
        stored = tuple((at, began + took) for at, began, took in rows)
        values: dict[int, dict[str, float]] = defaultdict(dict)
        for position, name, value in rows_by_type(connection, _HEALTH):
            values[position][name] = value
        return Run(
            folder=folder,
            manifest=stored_manifest(folder, connection),
            steps=tuple(
                StepRecord(place, sample, behind)
                for place, sample, behind in stored_samples(
                    connection, interval_histograms=interval_histograms
                )
            ),
            ledger=_ledger(connection),
            health=tuple(
                HealthRecord(*(*reported, HealthReading(source, values.get(position, {}))))
                for position, *reported, source in rows_by_type(connection, _HEALTH_READINGS)
            ),
            sampled=tuple(TelemetryPoint(*row) for row in rows_by_type(connection, _TELEMETRY)),
            zero_at=_zero_at(stored),
            stored_at=tuple(at for at, _ in stored),
        )


def _zero_at(stored: Iterable[tuple[datetime, int]]) -> datetime | None:
    """By the step that was stored soonest after it had ended."""
    try:
        return min((at - timedelta(microseconds=ended_ns // 1000) for at, ended_ns in stored), default=None)
    except OverflowError:  # a damaged record
        return None


def stored_ledger(folder: Path) -> tuple[Deviation, ...]:
    """The ledger alone of what ``stored_run`` reads. Raises RecordError."""
    with opened_record(folder) as connection:
        return _ledger(connection)


def _ledger(connection: sqlite3.Connection) -> tuple[Deviation, ...]:
    """By rule and clause, and each rule's in the order in which they were found."""
    found: list[Deviation | StepDeviation] = []
    rows = sorted(rows_by_type(connection, _DEVIATIONS), key=lambda row: (row[1], row[2], row[0]))
    for _, rule_id, clause, required, used, effect, extent, *place in rows:
        entry = Deviation(rule_id, clause, required, used, effect)
        if extent is None or None in place:
            found.append(entry)
        else:
            found.append(StepDeviation(StepPlace(*place), replace(entry, steps=1), extent))
    return ledger_of(found)
