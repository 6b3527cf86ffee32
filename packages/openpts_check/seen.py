"""Figures that several purposes have: percentiles, rates, the slowest second, how long a drive lasts."""

from collections.abc import Sequence
from typing import Self

from msgspec import Struct

from openpts.analysis.latency import LatencyDistribution, ios_needed
from openpts.units import NS_PER_MS, NS_PER_S, S_PER_YEAR, per_second
from openpts.vocabulary.facts import HealthReading
from openpts.vocabulary.sample import Measured, OperationSample, Sample
from openpts_check.purpose import PublishedBound, PurposeFigure, Seen
from openpts_work.counters import write_amplification


def stream_of(sample: Sample, name: str) -> Measured | None:
    """What a stream of that name measured in a step; None if the step has none."""
    for number, stream in enumerate(sample.step.streams):
        if stream.name == name:
            return sample.streams[number] if sample.streams else sample
    return None


def operations_of(samples: Sequence[Sample], stream: str, operation: str) -> list[OperationSample]:
    """What a stream measured of an operation, in each of several steps."""
    found = (stream_of(sample, stream) for sample in samples)
    return [one.operations[operation] for one in found if one is not None]


def percentile_ms(samples: Sequence[Sample], stream: str, operation: str, percentile: float) -> float | None:
    """A percentile of a stream's response times in all these steps; None where too few I/Os support it."""
    merged = LatencyDistribution.merged(
        one.histogram for one in operations_of(samples, stream, operation) if one.histogram
    )
    found_ns = merged.percentile_ns(percentile) if merged.count >= ios_needed(percentile) else None
    return None if found_ns is None else found_ns / NS_PER_MS


def per_s(samples: Sequence[Sample], stream: str, operation: str) -> float | None:
    """I/Os of an operation per second, of a stream, over all these steps."""
    parts = [(one, found) for one in samples if (found := stream_of(one, stream)) is not None]
    if not parts:
        return None
    ios = sum(found.operations[operation].ios for _, found in parts)
    return per_second(ios, sum(one.elapsed_ns for one, _ in parts))


def rate(samples: Sequence[Sample], unit_bytes: int) -> float | None:
    """Bytes moved per second over all these steps, in so many bytes; None without a step."""
    elapsed_ns = sum(one.elapsed_ns for one in samples)
    return per_second(sum(one.bytes for one in samples), elapsed_ns) / unit_bytes if elapsed_ns else None


def elapsed_s(samples: Sequence[Sample]) -> float | None:
    """The mean duration of these steps; None without one."""
    return sum(one.elapsed_ns for one in samples) / len(samples) / NS_PER_S if samples else None


def seconds_of(samples: Sequence[Sample], unit_bytes: int) -> list[float]:
    """Bytes moved per second in each interval of these steps, in so many bytes."""
    return [
        interval.bandwidth_bytes_per_s / unit_bytes for sample in samples for interval in sample.intervals
    ]


def slowest_second(samples: Sequence[Sample], unit_bytes: int) -> float | None:
    """The least of them; None without an interval."""
    return min(seconds_of(samples, unit_bytes), default=None)


def longest_ms(samples: Sequence[Sample], stream: str, operation: str) -> float | None:
    """The longest response time of a stream; None without an I/O."""
    found = (one.latency_max_ns for one in operations_of(samples, stream, operation))
    longest_ns = max((ns for ns in found if ns is not None), default=None)
    return None if longest_ns is None else longest_ns / NS_PER_MS


def slower_pct(samples: Sequence[Sample], stream: str, operation: str, limit_ms: float) -> float | None:
    """Per cent of a stream's I/Os that took longer than a limit; None without an I/O."""
    histograms = (one.histogram for one in operations_of(samples, stream, operation))
    merged = LatencyDistribution.merged(filter(None, histograms))
    if not merged.count:
        return None
    (within,) = merged.counts_up_to([limit_ms * NS_PER_MS])
    return 100 * (1 - within / merged.count)


def iops(samples: Sequence[Sample]) -> float | None:
    """I/Os per second over all these steps; None without a step."""
    elapsed_ns = sum(one.elapsed_ns for one in samples)
    return per_second(sum(one.ios for one in samples), elapsed_ns) if elapsed_ns else None


def over_pct(value: float | None, base: float | None) -> float | None:
    """A value in per cent of another; None where one of them was not measured."""
    return 100 * value / base if value is not None and base else None


class Endurance(Struct, frozen=True):
    """The life of a drive so far: ``used_pct`` of it is gone after ``written_bytes`` of its host's.

    ``amplification`` is bytes to the flash over bytes of the host's in a stretch that was measured; None
    where the drive counts no bytes to its flash, or too few passed.
    """

    written_bytes: float
    used_pct: float
    amplification: float | None = None

    @classmethod
    def of(cls, before: HealthReading | None, after: HealthReading | None) -> Self | None:
        """By two readings of a log; None where it says nothing of wear, or that none is seen yet."""
        if before is None or after is None:
            return None
        written, used = after.values.get("host_write_bytes"), after.values.get("percentage_used_pct")
        if written is None or not used:
            return None
        return cls(float(written), float(used), write_amplification(before.values, after.values))

    @property
    def rated_bytes(self) -> float:
        """What the host may write in the whole life of the drive, if it continues as so far."""
        return 100 * self.written_bytes / self.used_pct

    @property
    def left_bytes(self) -> float:
        """What is left of that."""
        return max(0.0, self.rated_bytes - self.written_bytes)

    def years_at(self, bytes_per_s: float) -> float | None:
        """Until the drive says 100 % at a rate of the host's writes, day and night; None at a rate of 0."""
        return self.left_bytes / bytes_per_s / S_PER_YEAR if bytes_per_s else None


def life_left(written_bytes_per_s: float, remedy: str) -> PurposeFigure:
    """Years until the drive is worn out by that load, day and night, by what its log says of its life."""

    def years(seen: Seen) -> float | None:
        endurance = Endurance.of(seen.before, seen.after)
        return endurance.years_at(written_bytes_per_s) if endurance else None

    return PurposeFigure(
        key="years",
        label="Life left at this rate of writes",
        unit="years",
        of=years,
        bound=PublishedBound(5, "openpts, the usual warranty", is_least=True),
        remedy=remedy,
        decimals=2,
        absent="about its life: the drive's log has no wear yet, or none at all",
        needs_repeats=False,
        is_optional=True,
    )
