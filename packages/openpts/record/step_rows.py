"""A step as the rows of a record's tables."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from openpts.vocabulary.phase import StepPlace
from openpts.vocabulary.sample import NOTHING, CpuShares, Measured, Sample
from openpts.vocabulary.stimulus import Step, Stream

Row = tuple[object, ...]

_OF_SAMPLE: Final = (
    *("state", "ended_by", "started_ns", "elapsed_ns", "gap_ns", "interval_ns"),
    *("unissued", "slips", "carried"),
)
_CPU: Final = ("cpu_user_pct", "cpu_sys_pct", "cpu_iowait_pct", "process_cpu_ns")
_FAILURE: Final = ("operation", "offset_bytes", "length_bytes", "reason")


def is_plain(step: Step) -> bool:
    """Whether it is one stimulus from the step's start to its end, or none: no row in table stream."""
    return step.streams == tuple(map(Stream, step.stimuli[:1]))


def rows_beside(sample: Sample) -> Mapping[str, Sequence[Row]]:
    """What belongs to a step in all other tables, by table: without its key, which comes first in each."""
    return {
        "operation": _operation_rows(sample),
        "interval": _interval_rows(sample),
        "interval_operation": [
            (interval.index, *row) for interval in sample.intervals for row in _operation_rows(interval)
        ],
        "stream": _stream_rows(sample.step),
        "stream_result": _result_rows(sample),
        "stream_operation": _part_rows(sample.streams),
        "stream_interval_operation": [
            (interval.index, *row) for interval in sample.intervals for row in _part_rows(interval.streams)
        ],
        "replay": _replay_rows(sample),
        "io_error": _error_rows(sample),
        "standstill": _standstill_rows(sample),
        "slow_io": [
            (position, *msgspec.structs.astuple(slow)) for position, slow in enumerate(sample.slow_ios)
        ],
    }


def step_row(place: StepPlace, sample: Sample) -> dict[str, object]:
    """The columns of table step but its key, which the database gives."""
    step = sample.step
    return {
        "cycle": place.cycle,
        "part": place.phase,
        "number": place.number,
        "position": place.position,
        "stimulus": _json(step.stimulus) if is_plain(step) and not step.is_idle else None,
        "stop": _json(step.stop),
        "ramp_ns": step.ramp_ns,
        "capture": step.capture,
        **{name: getattr(sample, name) for name in _OF_SAMPLE},
        "ios_by_block_size": _json(sample.ios_by_block_size),
        "ios_by_zone": _json(sample.ios_by_zone),
        **dict(zip(_CPU, _cpu_columns(sample.cpu), strict=True)),
        **{f"failure_{name}": getattr(sample.failure, name, None) for name in _FAILURE},
        "stored_at": datetime.now(UTC).isoformat(timespec="milliseconds"),
    }


def _operation_rows(measured: Measured) -> list[Row]:
    return [
        (name, *msgspec.structs.astuple(operation))
        for name, operation in measured.operations.items()
        if operation != NOTHING
    ]


def _interval_rows(sample: Sample) -> list[Row]:
    return [
        (
            interval.index,
            interval.elapsed_ns,
            interval.in_flight,
            interval.errors,
            *_cpu_columns(interval.cpu),
            interval.temperature_c,
            interval.throttled,
        )
        for interval in sample.intervals
    ]


def _standstill_rows(sample: Sample) -> list[Row]:
    return [
        (position, standstill.started_ns, standstill.lasted_ns)
        for position, standstill in enumerate(sample.standstills)
    ]


def _error_rows(sample: Sample) -> list[Row]:
    return [
        (position, errors.operation, errors.reason, errors.count, _json(errors.first_offsets_bytes))
        for position, errors in enumerate(sample.errors)
    ]


def _cpu_columns(cpu: CpuShares | None) -> tuple[float | None, float | None, float | None, int | None]:
    return (cpu.user_pct, cpu.sys_pct, cpu.iowait_pct, cpu.process_ns) if cpu else (None, None, None, None)


def _stream_rows(step: Step) -> list[Row]:
    if is_plain(step):
        return []
    return [
        (
            position,
            stream.name,
            _json(stream.stimulus),
            stream.delay_ns,
            None if stream.stop is None else _json(stream.stop),
            None if stream.priority is None else _json(stream.priority),
            stream.share,
        )
        for position, stream in enumerate(step.streams)
    ]


def _result_rows(sample: Sample) -> list[Row]:
    return [
        (
            position,
            part.ended_by,
            part.started_ns,
            part.elapsed_ns,
            part.unissued,
            part.errors,
            _json(part.ios_by_block_size),
            _json(part.ios_by_zone),
            part.slips,
        )
        for position, part in enumerate(sample.streams)
    ]


def _replay_rows(sample: Sample) -> list[Row]:
    played = {one.stream: _json(one) for one in sample.played}
    return [
        (position, _json(stream.replay), played.get(position))
        for position, stream in enumerate(sample.step.streams)
        if stream.replay is not None
    ]


def _part_rows(parts: Sequence[Measured]) -> list[Row]:
    return [(position, *row) for position, part in enumerate(parts) for row in _operation_rows(part)]


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
