"""A run as Arrow tables, for notebooks: pandas, polars, DuckDB and R read them without a copy.

Times are ns on the engine's clock, as in the record. What was not measured is null.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from openpts.analysis.latency import LatencyDistribution
from openpts.analysis.limited_seconds import limits_of
from openpts.errors import UsageError
from openpts.vocabulary.sample import Measured, OperationSample, Sample, StreamSample
from openpts.vocabulary.stimulus import Stimulus

if TYPE_CHECKING:
    import pyarrow

    from openpts.record.reader import Run, StepRecord

Row = dict[str, Any]
_PERCENTILES: Final = {
    "p50_ns": 50.0,
    "p99_ns": 99.0,
    "p99_9_ns": 99.9,
    "p99_99_ns": 99.99,
    "p99_999_ns": 99.999,
}


def frame(run: "Run", name: str) -> "pyarrow.Table":
    """One of the run's tables; ``FRAMES`` has their names.

    Raises UsageError for another name, and without pyarrow.
    """
    if (declared := FRAMES.get(name)) is None:
        raise UsageError(f"no frame {name!r}: use one of {', '.join(FRAMES)}")
    columns, rows = declared
    return arrow_table(columns, rows(run))


def arrow_table(columns: Mapping[str, str], rows: Iterable[Row]) -> "pyarrow.Table":
    """Rows as Arrow, with the type of each column. Raises UsageError without pyarrow."""
    try:
        import pyarrow as arrow  # noqa: PLC0415 a package that only notebooks need
    except ImportError:
        raise UsageError("frames need pyarrow: pip install 'openpts[frames]'") from None
    schema = arrow.schema([(column, _type(alias)) for column, alias in columns.items()])
    return arrow.Table.from_pylist(list(rows), schema=schema)


def _type(alias: str) -> "pyarrow.DataType":
    import pyarrow as arrow  # noqa: PLC0415 as above

    if alias.startswith("list<"):
        return arrow.list_(arrow.type_for_alias(alias[5:-1]))
    is_map = alias.startswith("map<")
    return arrow.map_(arrow.string(), arrow.string()) if is_map else arrow.type_for_alias(alias)


def _steps(run: "Run") -> Iterator[Row]:
    """A row for each step: its place, its stimulus, its figures; percentiles are of all transfers."""
    for number, step in enumerate(run.steps):
        sample, stimulus = step.sample, step.sample.step.stimulus
        yield {
            **place_of(number, step),
            **(_stimulus(stimulus) if stimulus else {}),
            "stimulus": str(sample.step),
            "state": str(sample.state),
            "ended_by": sample.ended_by,
            "started_ns": sample.started_ns,
            "gap_ns": sample.gap_ns,
            **_figures(sample),
            **_percentiles(sample),
            "errors": sum(errors.count for errors in sample.errors),
        }


def _streams(run: "Run") -> Iterator[Row]:
    """A row for each stream of each step, also where it is the only one: its figures are the step's then."""
    for number, step in enumerate(run.steps):
        sample = step.sample
        parts: tuple[Sample | StreamSample, ...] = sample.streams or (sample,)
        for position, (stream, part) in enumerate(zip(sample.step.streams, parts, strict=False)):
            yield {
                **place_of(number, step),
                "stream": position,
                "name": stream.name,
                **_stimulus(stream.stimulus),
                "delay_ns": stream.delay_ns,
                "ended_by": part.ended_by,
                "started_ns": part.started_ns,
                **_figures(part),
                **_percentiles(part),
                "unissued": part.unissued,
                "slip_p99_ns": LatencyDistribution.merged(filter(None, [part.slips])).percentile_ns(99),
            }


def _stimulus(stimulus: Stimulus) -> Row:
    return {
        "stimulus": str(stimulus),
        "access_pattern": str(stimulus.access_pattern),
        "block_size_bytes": stimulus.block_size_bytes,
        "read_pct": stimulus.read_pct,
        "tc": stimulus.tc,
        "qd": stimulus.qd,
    }


def _stream_intervals(run: "Run") -> Iterator[Row]:
    """A row for each of several streams in each interval."""
    for number, step in enumerate(run.steps):
        for interval in step.sample.intervals:
            for position, part in enumerate(interval.streams):
                yield {
                    **place_of(number, step),
                    "interval": interval.index,
                    "started_ns": step.sample.started_ns + interval.index * step.sample.interval_ns,
                    "stream": position,
                    "name": step.sample.step.streams[position].name,
                    **_figures(part),
                }


def _intervals(run: "Run") -> Iterator[Row]:
    """A row for each interval of each step.

    ``host_limited`` names the parts of the host that were the limit in it, empty for none.
    """
    for number, step in enumerate(run.steps):
        marks = () if run.host_marks is None else run.host_marks[number].marks
        for interval in step.sample.intervals:
            of_interval = marks[interval.index] if interval.index < len(marks) else None
            yield {
                **place_of(number, step),
                "interval": interval.index,
                "started_ns": step.sample.started_ns + interval.index * step.sample.interval_ns,
                **_figures(interval),
                "in_flight": interval.in_flight,
                "errors": interval.errors,
                "temperature_c": interval.temperature_c,
                "throttled": interval.throttled,
                "host_limited": None if of_interval is None else " ".join(limits_of(of_interval)),
            }


def _operations(run: "Run") -> Iterator[Row]:
    """A row for each kind of operation that a step had."""
    for number, step in enumerate(run.steps):
        for name, operation in step.sample.operations.items():
            if operation.ios:
                yield {**place_of(number, step), "operation": name, **_counts(operation)}


def _histograms(run: "Run") -> Iterator[Row]:
    """A row for each bucket with I/Os of each operation of each step, both ends inclusive."""
    for number, step in enumerate(run.steps):
        for name, operation in step.sample.operations.items():
            for lowest_ns, highest_ns, ios in LatencyDistribution.merged(
                [operation.histogram] if operation.ios else []
            ).buckets():
                yield {
                    "step": number,
                    "operation": name,
                    "lowest_ns": lowest_ns,
                    "highest_ns": highest_ns,
                    "ios": ios,
                }


def _telemetry(run: "Run") -> Iterator[Row]:
    for name, series in run.telemetry_series.items():
        for t_ns, value in zip(series.t_ns, series.values, strict=True):
            yield {"name": name, "t_ns": t_ns, "value": value}


def _health(run: "Run") -> Iterator[Row]:
    """A row for each value of each reading of the drive's own log."""
    for record in run.health:
        for name, value in record.reading.values.items():
            yield {
                "occasion": str(record.occasion),
                "cycle": record.cycle,
                "read_at": record.read_at,
                "t_ns": record.t_ns,
                "name": name,
                "value": value,
            }


def _deviations(run: "Run") -> Iterator[Row]:
    for deviation in run.ledger:
        yield {name: getattr(deviation, name) for name in _DEVIATION}


_INT, _FLOAT, _TEXT, _BOOL = "int64", "float64", "string", "bool"
PLACE_COLUMNS: Final = {"step": _INT, "cycle": _INT, "phase": _TEXT, "number": _INT, "position": _INT}
_FIGURES: Final = {
    "elapsed_ns": _INT,
    "ios": _INT,
    "bytes": _INT,
    "iops": _FLOAT,
    "bytes_per_s": _FLOAT,
    "mean_latency_ns": _FLOAT,
    "max_latency_ns": _INT,
}
_STIMULUS: Final = {
    "stimulus": _TEXT,
    "access_pattern": _TEXT,
    "block_size_bytes": _INT,
    "read_pct": _FLOAT,
    "tc": _INT,
    "qd": _INT,
}
_DEVIATION: Final = {
    **dict.fromkeys(("rule_id", "clause", "required", "used", "effect"), _TEXT),
    "steps": _INT,
}
Frame = tuple[Mapping[str, str], Callable[["Run"], Iterator[Row]]]
FRAMES: Final[Mapping[str, Frame]] = {
    "steps": (
        {
            **PLACE_COLUMNS,
            **_STIMULUS,
            "state": _TEXT,
            "ended_by": _TEXT,
            "started_ns": _INT,
            "gap_ns": _INT,
            **_FIGURES,
            **dict.fromkeys(_PERCENTILES, _INT),
            "errors": _INT,
        },
        _steps,
    ),
    "intervals": (
        {
            **PLACE_COLUMNS,
            "interval": _INT,
            "started_ns": _INT,
            **_FIGURES,
            "in_flight": _INT,
            "errors": _INT,
            "temperature_c": _FLOAT,
            "throttled": _BOOL,
            "host_limited": _TEXT,
        },
        _intervals,
    ),
    "streams": (
        {
            **PLACE_COLUMNS,
            "stream": _INT,
            "name": _TEXT,
            **_STIMULUS,
            "delay_ns": _INT,
            "ended_by": _TEXT,
            "started_ns": _INT,
            **_FIGURES,
            **dict.fromkeys(_PERCENTILES, _INT),
            "unissued": _INT,
            "slip_p99_ns": _INT,
        },
        _streams,
    ),
    "stream_intervals": (
        {
            **PLACE_COLUMNS,
            "interval": _INT,
            "started_ns": _INT,
            "stream": _INT,
            "name": _TEXT,
            **_FIGURES,
        },
        _stream_intervals,
    ),
    "operations": (
        {
            **PLACE_COLUMNS,
            "operation": _TEXT,
            "ios": _INT,
            "bytes": _INT,
            "mean_latency_ns": _FLOAT,
            "min_latency_ns": _INT,
            "max_latency_ns": _INT,
        },
        _operations,
    ),
    "histograms": (
        {"step": _INT, "operation": _TEXT, "lowest_ns": _INT, "highest_ns": _INT, "ios": _INT},
        _histograms,
    ),
    "telemetry": ({"name": _TEXT, "t_ns": _INT, "value": _FLOAT}, _telemetry),
    "health": (
        {
            "occasion": _TEXT,
            "cycle": _INT,
            "read_at": _TEXT,
            "t_ns": _INT,
            "name": _TEXT,
            "value": _FLOAT,
        },
        _health,
    ),
    "deviations": (
        _DEVIATION,
        _deviations,
    ),
}


def place_of(number: int, step: "StepRecord") -> Row:
    """``PLACE_COLUMNS`` of a step with this number."""
    place = step.place
    return {
        "step": number,
        "cycle": place.cycle,
        "phase": str(place.phase),
        "number": place.number,
        "position": place.position,
    }


def _figures(measured: Measured) -> Row:
    return {
        "elapsed_ns": measured.elapsed_ns,
        "ios": measured.ios,
        "bytes": measured.bytes,
        "iops": measured.iops,
        "bytes_per_s": measured.bandwidth_bytes_per_s,
        "mean_latency_ns": measured.mean_latency_ns,
        "max_latency_ns": measured.max_latency_ns,
    }


def _percentiles(measured: Measured) -> Row:
    """Null where the I/Os do not suffice for a percentile."""
    latencies = LatencyDistribution.merged(part.histogram for part in measured.transfers if part.ios)
    return {
        name: latencies.percentile_ns(percentile) if latencies.supports(percentile) else None
        for name, percentile in _PERCENTILES.items()
    }


def _counts(operation: OperationSample) -> Row:
    return {
        "ios": operation.ios,
        "bytes": operation.bytes,
        "mean_latency_ns": operation.latency_sum_ns / operation.ios,
        "min_latency_ns": operation.latency_min_ns,
        "max_latency_ns": operation.latency_max_ns,
    }
