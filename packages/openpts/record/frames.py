"""A run as tables of columns, of which pandas, polars and DuckDB make theirs.

Times are ns on the engine's clock, as in the record. What was not measured is null.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial, reduce
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from openpts.analysis.host_limits import limits_of
from openpts.analysis.latency import LatencyDistribution
from openpts.errors import UsageError
from openpts.vocabulary.sample import Interval, Sample, StreamSample
from openpts.vocabulary.stimulus import Stimulus

if TYPE_CHECKING:
    from openpts.record.reader import Run, StepRecord

Row = dict[str, Any]
Columns = Mapping[str, tuple[str, str | Callable[[Any], object]]]
"""By name: the SQL type, and of what a row is of the attribute, or what makes the value of it."""


def frame(run: "Run", name: str) -> dict[str, list[Any]]:
    """One of the run's tables, a list for each column; ``FRAMES`` has their names. Raises UsageError."""
    if (declared := FRAMES.get(name)) is None:
        raise UsageError(f"no frame {name!r}: use one of {', '.join(FRAMES)}")
    columns, things = declared
    rows = list(things(run))
    return {name: list(map(value, rows)) for name, value in _values(columns).items()}


def declared_rows(columns: Columns, things: Iterable[object]) -> Iterator[Row]:
    """Rows of ``columns``, one per thing."""
    values = _values(columns)
    return ({name: value(thing) for name, value in values.items()} for thing in things)


def _values(columns: Columns) -> dict[str, Callable[[Any], object]]:
    return {name: of if callable(of) else _attribute(of) for name, (_, of) in columns.items()}


def types_of(columns: Columns) -> dict[str, str]:
    """The SQL type of each column."""
    return {name: kind for name, (kind, _) in columns.items()}


def _attribute(path: str) -> Callable[[Any], object]:
    """``step.place.cycle``; null where there is nothing on the way."""
    names = path.split(".")
    if len(names) == 1:
        return attrgetter(path)
    return lambda thing: reduce(lambda one, name: None if one is None else getattr(one, name), names, thing)


class RowSubject(Struct, frozen=True, dict=True):
    """What a row is of: a step with its number, or ``of`` it an interval, a stream or an operation."""

    number: int
    step: "StepRecord"
    of: Any
    interval: Interval | None = None
    stream: int | None = None
    name: str = ""
    stimulus: Stimulus | None = None
    host_limited: str | None = None

    @property
    def started_ns(self) -> int:
        """Start of the interval, or of the step for a row of a whole step, on the engine's clock."""
        sample = self.step.sample
        return sample.started_ns + (self.interval.index * sample.interval_ns if self.interval else 0)

    @cached_property
    def _latencies(self) -> LatencyDistribution:
        return LatencyDistribution.merged(part.histogram for part in self.of.transfers if part.ios)

    def percentile_ns(self, percentile: float) -> int | None:
        """Of all transfers; None where the I/Os do not suffice for it."""
        return self._latencies.percentile_ns(percentile) if self._latencies.supports(percentile) else None


def _steps(run: "Run") -> Iterator[RowSubject]:
    for number, step in enumerate(run.steps):
        yield RowSubject(number, step, step.sample, stimulus=step.sample.step.stimulus)


def _streams(run: "Run") -> Iterator[RowSubject]:
    """Each stream of each step, also where it is the only one: its figures are the step's then."""
    for number, step in enumerate(run.steps):
        parts: tuple[Sample | StreamSample, ...] = step.sample.streams or (step.sample,)
        for position, (stream, part) in enumerate(zip(step.sample.step.streams, parts, strict=False)):
            yield RowSubject(number, step, part, None, position, stream.name, stream.stimulus)


def _stream_intervals(run: "Run") -> Iterator[RowSubject]:
    """Rows per stream and interval, of steps with several streams."""
    for number, step in enumerate(run.steps):
        for interval in step.sample.intervals:
            for position, (stream, part) in enumerate(
                zip(step.sample.step.streams, interval.streams, strict=False)
            ):
                yield RowSubject(number, step, part, interval, position, stream.name)


def _intervals(run: "Run") -> Iterator[RowSubject]:
    """Each interval of each step, with the parts of the host that were the limit in it."""
    for number, step in enumerate(run.steps):
        marks = () if run.host_marks is None else run.host_marks[number].marks
        for interval in step.sample.intervals:
            of_interval = marks[interval.index] if interval.index < len(marks) else None
            limits = None if of_interval is None else " ".join(limits_of(of_interval))
            yield RowSubject(number, step, interval, interval, host_limited=limits)


def _operations(run: "Run") -> Iterator[RowSubject]:
    """Rows per operation with I/Os, in each step."""
    for number, step in enumerate(run.steps):
        for name, operation in step.sample.operations.items():
            if operation.ios:
                yield RowSubject(number, step, operation, name=name)


def _histograms(run: "Run") -> Iterator[RowSubject]:
    """Each bucket with I/Os of each operation of each step, both ends inclusive."""
    for part in _operations(run):
        for bucket in LatencyDistribution.merged([part.of.histogram]).buckets():
            yield RowSubject(part.number, part.step, bucket, name=part.name)


def _telemetry(run: "Run") -> Iterator[tuple[str, int, float]]:
    for name, series in run.telemetry_series.items():
        for t_ns, value in zip(series.t_ns, series.values, strict=True):
            yield name, t_ns, value


def _health(run: "Run") -> Iterator[tuple[Any, str, float]]:
    """Each value of each reading of the drive's own log."""
    for record in run.health:
        for name, value in record.reading.values.items():
            yield record, name, value


_INT, _FLOAT, _TEXT, _BOOL = "BIGINT", "DOUBLE", "VARCHAR", "BOOLEAN"
PLACE: Final[Columns] = {
    "step": (_INT, "number"),
    "cycle": (_INT, "step.place.cycle"),
    "phase": (_TEXT, "step.place.phase"),
    "number": (_INT, "step.place.number"),
    "position": (_INT, "step.place.position"),
}
_FIGURES: Final[Columns] = {
    "elapsed_ns": (_INT, "of.elapsed_ns"),
    "ios": (_INT, "of.ios"),
    "bytes": (_INT, "of.bytes"),
    "iops": (_FLOAT, "of.iops"),
    "bytes_per_s": (_FLOAT, "of.bandwidth_bytes_per_s"),
    "mean_latency_ns": (_FLOAT, "of.mean_latency_ns"),
    "max_latency_ns": (_INT, "of.max_latency_ns"),
}
_DEMAND: Final[Columns] = {
    "access_pattern": (_TEXT, "stimulus.access_pattern"),
    "block_size_bytes": (_INT, "stimulus.block_size_bytes"),
    "read_pct": (_FLOAT, "stimulus.read_pct"),
    "tc": (_INT, "stimulus.tc"),
    "qd": (_INT, "stimulus.qd"),
}
_PERCENTILES: Final[Columns] = {
    f"p{percentile}_ns".replace(".", "_"): (_INT, partial(RowSubject.percentile_ns, percentile=percentile))
    for percentile in (50, 99, 99.9, 99.99, 99.999)
}
_INTERVAL: Final[Columns] = {
    **PLACE,
    "interval": (_INT, "interval.index"),
    "started_ns": (_INT, "started_ns"),
}

FRAMES: Final[Mapping[str, tuple[Columns, Callable[["Run"], Iterator[object]]]]] = {
    "steps": (
        {
            **PLACE,
            "stimulus": (_TEXT, lambda part: str(part.of.step)),
            **_DEMAND,
            "state": (_TEXT, "of.state"),
            "ended_by": (_TEXT, "of.ended_by"),
            "started_ns": (_INT, "of.started_ns"),
            "gap_ns": (_INT, "of.gap_ns"),
            **_FIGURES,
            **_PERCENTILES,
            "errors": (_INT, lambda part: sum(errors.count for errors in part.of.errors)),
        },
        _steps,
    ),
    "intervals": (
        {
            **_INTERVAL,
            **_FIGURES,
            "in_flight": (_INT, "of.in_flight"),
            "errors": (_INT, "of.errors"),
            "temperature_c": (_FLOAT, "of.temperature_c"),
            "throttled": (_BOOL, "of.throttled"),
            "host_limited": (_TEXT, "host_limited"),
        },
        _intervals,
    ),
    "streams": (
        {
            **PLACE,
            "stream": (_INT, "stream"),
            "name": (_TEXT, "name"),
            "stimulus": (_TEXT, lambda part: str(part.stimulus)),
            **_DEMAND,
            "delay_ns": (_INT, lambda part: part.step.sample.step.streams[part.stream].delay_ns),
            "ended_by": (_TEXT, "of.ended_by"),
            "started_ns": (_INT, "of.started_ns"),
            **_FIGURES,
            **_PERCENTILES,
            "unissued": (_INT, "of.unissued"),
            "slip_p99_ns": (
                _INT,
                lambda part: LatencyDistribution.merged(filter(None, [part.of.slips])).percentile_ns(99),
            ),
        },
        _streams,
    ),
    "stream_intervals": (
        {**_INTERVAL, "stream": (_INT, "stream"), "name": (_TEXT, "name"), **_FIGURES},
        _stream_intervals,
    ),
    "operations": (
        {
            **PLACE,
            "operation": (_TEXT, "name"),
            "ios": (_INT, "of.ios"),
            "bytes": (_INT, "of.bytes"),
            "mean_latency_ns": (_FLOAT, lambda part: part.of.latency_sum_ns / part.of.ios),
            "min_latency_ns": (_INT, "of.latency_min_ns"),
            "max_latency_ns": (_INT, "of.latency_max_ns"),
        },
        _operations,
    ),
    "histograms": (
        {
            "step": (_INT, "number"),
            "operation": (_TEXT, "name"),
            "lowest_ns": (_INT, lambda part: part.of[0]),
            "highest_ns": (_INT, lambda part: part.of[1]),
            "ios": (_INT, lambda part: part.of[2]),
        },
        _histograms,
    ),
    "telemetry": (
        {"name": (_TEXT, itemgetter(0)), "t_ns": (_INT, itemgetter(1)), "value": (_FLOAT, itemgetter(2))},
        _telemetry,
    ),
    "health": (
        {
            "occasion": (_TEXT, lambda read: read[0].occasion),
            "cycle": (_INT, lambda read: read[0].cycle),
            "read_at": (_TEXT, lambda read: read[0].read_at),
            "t_ns": (_INT, lambda read: read[0].t_ns),
            "name": (_TEXT, itemgetter(1)),
            "value": (_FLOAT, itemgetter(2)),
        },
        _health,
    ),
    "ledger": (
        {
            **{name: (_TEXT, name) for name in ("rule_id", "clause", "required", "used", "effect")},
            "steps": (_INT, "steps"),
        },
        lambda run: iter(run.ledger),
    ),
}
