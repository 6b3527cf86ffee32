"""Rates and response times of each stream of a job, by operation."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from openpts.analysis.response_times import ResponseTimes, response_times
from openpts.pages import cells
from openpts.pages.measure import Measure
from openpts.procedures.shared.fio_job.conditions import ALL_STREAMS
from openpts.procedures.shared.fio_job.streams import parts_named, stream_names
from openpts.procedures.shared.histogram_figures import times_figures
from openpts.units import MB, per_second
from openpts.vocabulary.sample import NOTHING, Measured, Sample

_OPERATIONS: Final = ("read", "write", "trim")


@dataclass(frozen=True, slots=True)
class StreamTimes:
    """One operation of a stream, or of all streams: its rates and its response times."""

    stream: str
    operation: str
    moved_bytes: int
    times: ResponseTimes

    @property
    def name(self) -> str:
        """``reader, read``."""
        return f"{self.stream}, {self.operation}"

    @property
    def mb_per_s(self) -> float:
        """Throughput."""
        elapsed_ns = self.times.elapsed_ns
        return per_second(self.moved_bytes, elapsed_ns) / MB


def stream_times(samples: Sequence[Sample]) -> tuple[StreamTimes, ...]:
    """Each operation of each stream in all of these steps; behind them those of all, if there are several."""
    names = stream_names([sample.step for sample in samples])
    several = (ALL_STREAMS,) if len(names) > 1 else ()
    return tuple(found for name in (*names, *several) for found in _of_stream(samples, name))


def _of_stream(samples: Sequence[Sample], name: str) -> Iterator[StreamTimes]:
    parts = parts_named(samples, name)
    for operation in _OPERATIONS:
        done = [(part.operations[operation], part.elapsed_ns) for part in parts]
        if any(one.ios for one, _ in done):
            alone = [Measured(read=one, write=NOTHING, elapsed_ns=ns, cpu=None) for one, ns in done]
            yield StreamTimes(name, operation, sum(one.bytes for one, _ in done), response_times(alone))


def whole_of(found: Sequence[StreamTimes]) -> tuple[StreamTimes, ...]:
    """Those of all streams together, or of the only one."""
    return tuple(one for one in found if one.stream == ALL_STREAMS) or tuple(found)


STREAM_MEASURES: Final[tuple[Measure[StreamTimes], ...]] = (
    Measure("iops", "{name}, IOPS", "IOPS", lambda one: one.times.iops, on_cover=False),
    Measure("mb_per_s", "{name}, throughput", "MB/s", lambda one: one.mb_per_s, decimals=1, on_cover=False),
    Measure("mean", "{name}, average", "ms", lambda one: cells.latency(one.times.art_ns), on_cover=False),
    Measure("p99", "{name}, 99 %", "ms", lambda one: _percentile(one, 99.0), on_cover=False),
    Measure("p99_99", "{name}, 99.99 %", "ms", lambda one: _percentile(one, 99.99), on_cover=False),
)
COVER_MEASURES: Final = tuple(replace(one, on_cover=one.key in {"iops", "p99"}) for one in STREAM_MEASURES)
"""The same of what the cover shows as well."""


def _percentile(one: StreamTimes, percentile: float) -> Any:
    value_ns = one.times.percentile_ns(percentile)
    return cells.too_few(one.times.recorded_ios) if value_ns is None else cells.latency(value_ns)


def times_of_stream(one: StreamTimes) -> dict[str, Any]:
    """Key numbers, JSON-ready."""
    return {
        "stream": one.stream,
        "operation": one.operation,
        "bytes": one.moved_bytes,
        "mb_per_s": one.mb_per_s,
        **(times_figures(one.times, None) or {}),
    }
