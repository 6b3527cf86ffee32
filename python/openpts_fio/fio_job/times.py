"""Rates and response times of each stream of a job, by operation."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from msgspec import Struct

from openpts.analysis.response_times import ResponseTimes
from openpts.pages import cells
from openpts.pages.measure import Measure
from openpts.pages.model import Cell
from openpts.procedures.kit.steps import THROUGHPUT
from openpts.procedures.shared.confidence_page import times_figures
from openpts.vocabulary.sample import Sample
from openpts_fio.fio_job.conditions import ALL_STREAMS
from openpts_fio.fio_job.streams import parts_named, stream_names

_OPERATIONS: Final = ("read", "write", "trim")


class StreamTimes(Struct, frozen=True):
    """One operation of a stream, or of all streams: its rates and its response times."""

    stream: str
    operation: str
    times: ResponseTimes

    @property
    def name(self) -> str:
        """``reader, read``."""
        return f"{self.stream}, {self.operation}"


def stream_times(samples: Sequence[Sample]) -> tuple[StreamTimes, ...]:
    """Each operation of each stream in all of these steps; behind them those of all, if there are several."""
    names = stream_names([sample.step for sample in samples])
    several = (ALL_STREAMS,) if len(names) > 1 else ()
    return tuple(found for name in (*names, *several) for found in _of_stream(samples, name))


def _of_stream(samples: Sequence[Sample], name: str) -> Iterator[StreamTimes]:
    parts = parts_named(samples, name)
    for operation in _OPERATIONS:
        alone = (part.operations[operation] for part in parts)
        times = ResponseTimes.of(alone, sum(part.elapsed_ns for part in parts))
        if times.ios:
            yield StreamTimes(name, operation, times)


def whole_of(found: Sequence[StreamTimes]) -> tuple[StreamTimes, ...]:
    """Times of all streams together, or of the only stream."""
    return tuple(one for one in found if one.stream == ALL_STREAMS) or tuple(found)


STREAM_MEASURES: Final[tuple[Measure[StreamTimes], ...]] = (
    Measure("iops", "{name}, IOPS", "IOPS", lambda one: one.times.iops, on_cover=False),
    Measure(
        "mb_per_s",
        "{name}, throughput",
        "MB/s",
        lambda one: THROUGHPUT.value(one.times),
        decimals=1,
        on_cover=False,
    ),
    Measure(
        "mean", "{name}, average", "ms", lambda one: cells.latency(one.times.mean_latency_ns), on_cover=False
    ),
    Measure("p99", "{name}, 99 %", "ms", lambda one: percentile_cell(one.times, 99.0), on_cover=False),
    Measure("p99_99", "{name}, 99.99 %", "ms", lambda one: percentile_cell(one.times, 99.99), on_cover=False),
)
COVER_MEASURES: Final = tuple(replace(one, on_cover=one.key in {"iops", "p99"}) for one in STREAM_MEASURES)
"""The same of what the cover shows as well."""


def percentile_cell(times: ResponseTimes, percentile: float) -> Cell:
    """A percentile, or how many I/Os there are for it."""
    value_ns = times.percentile_ns(percentile)
    return cells.too_few(times.recorded_ios) if value_ns is None else cells.latency(value_ns)


def times_of_stream(one: StreamTimes) -> dict[str, Any]:
    """Key numbers, JSON-ready."""
    return {
        "stream": one.stream,
        "operation": one.operation,
        "bytes": one.times.bytes,
        "mb_per_s": THROUGHPUT.value(one.times),
        **(times_figures(one.times, None) or {}),
    }
