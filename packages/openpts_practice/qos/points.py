"""A load as it was offered, and what the drive made of it in all its measurements."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Final

from msgspec import Struct

from openpts.analysis.host_limits import limited_by_host
from openpts.analysis.latency import LatencyDistribution, ios_needed
from openpts.units import NS_PER_S
from openpts.vocabulary.sample import OperationSample, Sample, StepState
from openpts.vocabulary.stimulus import planned_length_ns
from openpts_practice.qos import Limit, Operation, QosConditions

_IOS_BEYOND: Final = 10
# A Poisson process itself offers more or less than its mean: by more than this in one of 10,000 steps.
_STANDARD_ERRORS: Final = 4


def ios_for(percentile: float) -> int:
    """I/Os that a percentile of this test takes: ten are slower than it."""
    return _IOS_BEYOND * ios_needed(percentile)


class Point(Struct, frozen=True, eq=False, dict=True):
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


MOST_MEASUREMENTS: Final = 40
"""Of one search, behind the loads of the curve."""

_DUST: Final = 1e-9


class Bracket(Struct, frozen=True):
    """The highest load measured that keeps a limit, and the next one above, which breaks it.

    Without ``kept`` all loads break it, or too few I/Os show that they don't; without ``broken`` the highest
    load keeps it. ``broken_below`` counts loads below ``kept`` that break it.
    """

    kept: Point | None
    broken: Point | None
    broken_below: int

    @property
    def is_reached(self) -> bool:
        """Whether the limit is kept at one load and broken at another."""
        return self.kept is not None and self.broken is not None

    def next_load(self, conditions: QosConditions) -> float | None:
        """The load to measure: halfway, or an end that was measured too seldom; None if all is known."""
        if self.kept is None or self.broken is None:
            return None
        low, high = self.kept.ios_per_s, self.broken.ios_per_s
        if high - low > conditions.width_pct / 100 * high:
            return (low + high) / 2
        seldom = (end for end in (self.kept, self.broken) if len(end.samples) < conditions.repeats)
        return next((end.ios_per_s for end in seldom), None)


def bracket_of(points: Sequence[Point], limit: Limit, conditions: QosConditions) -> Bracket:
    """What the loads of a mix, from the least to the highest, say of a limit.

    A load that too few I/Os are known of is not shown to keep it. A plan knows no response times: it takes
    the longest search, that of the widest gap.
    """
    if points and all(point.is_planned for point in points):
        most = _before_widest_gap(points, conditions.loads_pct)
        kept = [point.ios_per_s <= most for point in points]
    else:
        kept = [point.keeps(limit, conditions.late_pct) is True for point in points]
    highest = max((at for at, is_kept in enumerate(kept) if is_kept), default=None)
    if highest is None:
        return Bracket(None, points[0] if points else None, 0)
    above = points[highest + 1] if highest + 1 < len(points) else None
    return Bracket(points[highest], above, kept[:highest].count(False))


def _before_widest_gap(points: Sequence[Point], loads_pct: Sequence[float]) -> float:
    """The load of the curve below the widest gap; the highest load of all is that of the curve."""
    in_order = sorted(loads_pct)
    before, _ = max(pairwise(in_order), key=lambda pair: pair[1] - pair[0])
    return points[-1].ios_per_s * before / in_order[-1] * (1 + _DUST)
