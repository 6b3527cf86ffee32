"""What trims take, and what they do to the reads and writes beside them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from openpts.analysis.latency import LatencyDistribution
from openpts.procedures.extended.trim.conditions import AFTER, BEFORE, BESIDE
from openpts.units import GIB, MIB, NS_PER_MS, NS_PER_S, format_block_size
from openpts.vocabulary.sample import OperationSample, Sample, StepState

FACTOR_LIMIT: Final = 2.0
"""Trims stall what takes so many times as long beside them, at the judged percentile."""
STALL_NS: Final = 10 * NS_PER_MS
"""A longest response time up to this is no stall, however short it is without trims."""
RATE_LIMIT: Final = 0.95
"""What comes at a fixed rate must complete at so much of what it does without trims."""
JUDGED_PCTS: Final = (99.9, 99.0, 90.0)
"""The percentile judged is the first one that there are enough I/Os for."""
PERCENTILES: Final = (50.0, 90.0, 99.0, 99.9, 99.99, 99.999)


def size_name(size_bytes: int) -> str:
    """A size of trims, which may be large: ``4 KiB``, ``2 GiB``."""
    for unit, unit_bytes in (("GiB", GIB), ("MiB", MIB)):
        if size_bytes % unit_bytes == 0:
            return f"{size_bytes // unit_bytes} {unit}"
    return format_block_size(size_bytes)


@dataclass(frozen=True, slots=True)
class Times:
    """The response times of one operation in a step of ``elapsed_ns``."""

    sample: OperationSample
    elapsed_ns: int
    distribution: LatencyDistribution

    @classmethod
    def of(cls, sample: OperationSample, elapsed_ns: int) -> "Times":
        """Those of the step's histogram."""
        histograms = (sample.histogram,) if sample.histogram else ()
        return cls(sample, elapsed_ns, LatencyDistribution.merged(histograms))

    @property
    def per_s(self) -> float:
        """Completed each second."""
        return self.sample.ios * NS_PER_S / self.elapsed_ns if self.elapsed_ns else 0.0

    @property
    def bytes_per_s(self) -> float:
        """Bytes transferred or trimmed each second."""
        return self.sample.bytes * NS_PER_S / self.elapsed_ns if self.elapsed_ns else 0.0

    @property
    def mean_ns(self) -> float | None:
        """Exact; None without an I/O."""
        return self.sample.latency_sum_ns / self.sample.ios if self.sample.ios else None

    @property
    def max_ns(self) -> int | None:
        """Exact; None without an I/O."""
        return self.sample.latency_max_ns

    def percentile_ns(self, percentile: float) -> int | None:
        """One that the I/Os suffice for, never above the longest; else None."""
        if not self.distribution.supports(percentile):
            return None
        found_ns = self.distribution.percentile_ns(percentile)
        return found_ns if found_ns is None or self.max_ns is None else min(found_ns, self.max_ns)


@dataclass(frozen=True, slots=True)
class RatePoint:
    """Trims of a size with so many outstanding."""

    size_bytes: int
    qd: int
    times: Times


def rate_points(samples: Iterable[Sample]) -> tuple[RatePoint, ...]:
    """Those of the steps that trim, of all that came to their end."""
    return tuple(
        RatePoint(stimulus.block_size_bytes, stimulus.toio, Times.of(sample.trim, sample.elapsed_ns))
        for sample in samples
        if sample.state is StepState.COMPLETE
        and (stimulus := sample.step.stimulus) is not None
        and stimulus.operations.trim
        and sample.trim.ios
    )


class Effect(Enum):
    """What trims do to an operation beside them."""

    STALLED = "stalled by trims"
    CLEAN = "clean"
    UNDECIDED = "no verdict"


@dataclass(frozen=True, slots=True)
class Beside:
    """An operation without trims, beside them, and without them again."""

    before: Times
    beside: Times
    after: Times

    @property
    def alone(self) -> tuple[Times, Times]:
        """Both times without trims."""
        return self.before, self.after

    @property
    def judged_pct(self) -> float | None:
        """The percentile judged; None where there are too few I/Os for any."""
        three = (*self.alone, self.beside)
        supported = (
            pct for pct in JUDGED_PCTS if all(times.percentile_ns(pct) is not None for times in three)
        )
        return next(supported, None)

    def factor(self, percentile: float) -> float | None:
        """Response time beside trims over the longer of both without; None without one of them."""
        found = [times.percentile_ns(percentile) for times in (*self.alone, self.beside)]
        return None if None in found else _ratio(found[2], max(found[0] or 0, found[1] or 0))

    @property
    def alone_factor(self) -> float | None:
        """The longer response time over the shorter one of both without trims, at the judged percentile."""
        if self.judged_pct is None:
            return None
        found = [times.percentile_ns(self.judged_pct) or 0 for times in self.alone]
        return _ratio(max(found), min(found))

    @property
    def longest_alone_ns(self) -> int:
        """The longest without trims."""
        return max(times.max_ns or 0 for times in self.alone)

    @property
    def rate_share(self) -> float | None:
        """Rate beside trims over the lower of both without."""
        return _ratio(self.beside.per_s, min(times.per_s for times in self.alone))

    @property
    def reasons(self) -> tuple[str, ...]:
        """Which parts of the rule trims break: ``percentile``, ``longest`` and ``rate``."""
        factor = None if self.judged_pct is None else self.factor(self.judged_pct)
        longest_ns = self.beside.max_ns or 0
        broken: Mapping[str, bool] = {
            "percentile": factor is not None and factor >= FACTOR_LIMIT,
            "longest": longest_ns > max(STALL_NS, FACTOR_LIMIT * self.longest_alone_ns),
            "rate": self.rate_share is not None and self.rate_share < RATE_LIMIT,
        }
        return tuple(name for name, is_broken in broken.items() if is_broken)

    @property
    def effect(self) -> Effect:
        """By the rule of the test."""
        if self.reasons:
            return Effect.STALLED
        if self.judged_pct is None or (self.alone_factor or 1) >= FACTOR_LIMIT:
            return Effect.UNDECIDED
        return Effect.CLEAN


def _ratio(above: float | None, below: float) -> float | None:
    return above / below if above is not None and below else None


def beside_of(loads: Mapping[int, Sequence[Sample]]) -> dict[str, Beside]:
    """Reads and writes by name, where all three loads came to their end; empty otherwise."""
    found = {
        number: [
            sample
            for sample in samples
            if len(sample.step.streams) > 1 and sample.state is StepState.COMPLETE
        ]
        for number, samples in loads.items()
    }
    if not all(found.get(number) for number in (BEFORE, BESIDE, AFTER)):
        return {}

    def times(number: int, name: str) -> Times:
        sample = found[number][-1]
        return Times.of(sample.operations[name], sample.elapsed_ns)

    return {
        f"{name}s": Beside(times(BEFORE, name), times(BESIDE, name), times(AFTER, name))
        for name in ("read", "write")
    }
