"""A load as it was offered, and what the drive made of it in all its measurements."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from openpts.analysis.host_limits import limited_by_host
from openpts.analysis.latency import LatencyDistribution, ios_needed
from openpts.units import NS_PER_S
from openpts.vocabulary.sample import OperationSample, Sample, StepState
from openpts.vocabulary.stop import planned_length_ns
from openpts_practice.qos.conditions import Limit, Operation

_IOS_BEYOND: Final = 10
# A Poisson process itself offers more or less than its mean: by more than this in one of 10,000 steps.
_STANDARD_ERRORS: Final = 4


def ios_for(percentile: float) -> int:
    """I/Os that a percentile of this test takes: ten are slower than it."""
    return _IOS_BEYOND * ios_needed(percentile)


@dataclass(frozen=True, eq=False)
class Point:
    """Reads and writes at two mean rates, and the samples of all steps that offered just these."""

    reads_per_s: float
    writes_per_s: float
    samples: tuple[Sample, ...]

    @property
    def ios_per_s(self) -> float:
        """The load offered, reads and writes together."""
        return self.reads_per_s + self.writes_per_s

    @property
    def is_planned(self) -> bool:
        """Whether nothing is known but counts, as in a plan."""
        operations = [operation for sample in self.samples for operation in (sample.read, sample.write)]
        return any(one.ios for one in operations) and not any(one.histogram for one in operations)

    def distribution(self, operation: Operation) -> LatencyDistribution:
        """Response times of reads or writes, from the moments for which they were planned."""
        return self._distributions[operation]

    @cached_property
    def _distributions(self) -> dict[Operation, LatencyDistribution]:
        return {one: distribution_of(self.samples, one) for one in Operation}

    def percentile_ns(self, operation: Operation, percentile: float) -> int | None:
        """A percentile of all measurements together; None where too few I/Os are known for it."""
        found = self.distribution(operation)
        return found.percentile_ns(percentile) if found.count >= ios_for(percentile) else None

    @property
    def done_pct(self) -> float:
        """Per cent of the I/Os offered that were done, of reads or writes, whichever is less."""
        # not the time elapsed: that has the wait for the last answers, while nothing is offered any more
        offered_s = sum(planned_length_ns(sample.step.stop) or 0 for sample in self.samples) / NS_PER_S
        done = sum(sample.ios for sample in self.samples)
        undone = sum(sample.unissued for sample in self.samples)
        shares = [done / (done + undone) if done + undone else 0.0]
        for operation, rate in ((Operation.READ, self.reads_per_s), (Operation.WRITE, self.writes_per_s)):
            if expected := rate * offered_s:
                ios = sum(part_of(sample, operation).ios for sample in self.samples)
                shares.append((ios + _STANDARD_ERRORS * expected**0.5) / expected)
        return 100 * min(1.0, *shares)

    @property
    def is_limited_by_host(self) -> bool:
        """Whether I/Os were submitted late by the host, or its processors were full, in any measurement."""
        return any(limited_by_host(sample) for sample in self.samples)

    def is_carried(self, late_pct: float) -> bool:
        """Whether the drive did what was offered, but for so many per cent."""
        return self.done_pct >= 100 - late_pct

    def keeps(self, limit: Limit, late_pct: float) -> bool | None:
        """Whether a load is carried within a limit; None where too few I/Os are known."""
        if not self.is_carried(late_pct):
            return False
        value_ns = self.percentile_ns(limit.operation, limit.percentile)
        return None if value_ns is None else value_ns <= limit.latency_ns


def part_of(sample: Sample, operation: Operation) -> OperationSample:
    """What a step measured of reads, or of writes."""
    return sample.read if operation is Operation.READ else sample.write


def distribution_of(samples: Iterable[Sample], operation: Operation) -> LatencyDistribution:
    """Response times of several steps together."""
    parts = (part_of(sample, operation) for sample in samples)
    return LatencyDistribution.merged(part.histogram for part in parts if part.histogram)


def points_of(samples: Iterable[Sample]) -> tuple[Point, ...]:
    """The loads of complete steps, from the least to the highest."""
    by_rates: dict[tuple[float, float], list[Sample]] = {}
    for sample in samples:
        if sample.state is StepState.COMPLETE:
            by_rates.setdefault(_rates(sample), []).append(sample)
    points = [Point(*rates, tuple(found)) for rates, found in by_rates.items()]
    return tuple(sorted(points, key=lambda point: point.ios_per_s))


def _rates(sample: Sample) -> tuple[float, float]:
    """Reads and writes per second that a step offered, each by a stream of its own."""
    rates: list[float] = [0.0, 0.0]
    for stimulus in sample.step.stimuli:
        rates[0 if stimulus.operations.read else 1] += stimulus.planned_ios_per_s or 0.0
    return rates[0], rates[1]
