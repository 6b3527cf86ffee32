"""Runs of CBW and DIRTH on a drive whose figures follow by hand: 100 us an I/O, at most 100,000 IOPS."""

from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec.structs import replace

from openpts.record.reader import Run, StepRecord
from openpts.units import NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.facts import CaptureReport
from openpts.vocabulary.sample import CpuShares, Phase, Sample
from openpts.vocabulary.stimulus import Stimulus
from openpts_pts.shared.demand.results import OperatingPoint
from tests.support.made_up_run import made_up_run, with_intervals, with_samples


class Point(NamedTuple):
    """What the choice of operating points goes by."""

    point: OperatingPoint
    iops: float
    mean_latency_ns: float | None


def demand_run(
    test: str,
    drive_class: DriveClass = DriveClass.ENTERPRISE,
    *,
    latency_us: float = 100,
    limit_iops: float = 100_000,
    factor: Callable[[Phase, int], float] = lambda _phase, _number: 1.0,
    **changes: Any,
) -> Run:
    """With nine operating points; ``factor`` multiplies the rate, ``changes`` are those of the conditions."""

    def rate(stimulus: Stimulus, phase: Phase, number: int) -> float:
        return min(stimulus.toio / latency_us * 1e6, limit_iops) * factor(phase, number)

    def cpu(step: StepRecord) -> Sample:
        shares = CpuShares(2.5, 3.0 + step.sample.step.stimulus.toio / 100, 7.4, 20 * NS_PER_S)
        return replace(step.sample, cpu=shares)

    run = made_up_run(
        test,
        drive_class,
        rate=rate,
        adjust=lambda of: replace(of, **{"tcs": (32, 4, 1), "qds": (32, 4, 1), **changes}),
    )
    return with_intervals(with_samples(run, cpu), 10 * NS_PER_S)


def without_cpu(run: Run) -> Run:
    """Steps and intervals as of an engine that does not tell its processor time."""

    def of(step: StepRecord) -> Sample:
        intervals = tuple(replace(one, cpu=None) for one in step.sample.intervals)
        return replace(step.sample, cpu=None, intervals=intervals)

    return with_samples(run, of)


def with_shares_off(run: Run) -> Run:
    """A hundredth of the I/Os of the commonest size counted as those of the next one."""

    def of(step: StepRecord) -> Sample:
        counts = list(step.sample.ios_by_block_size)
        most = counts.index(max(counts))
        moved = counts[most] // 100
        counts[most] -= moved
        counts[most + 1] += moved
        return replace(step.sample, ios_by_block_size=tuple(counts))

    return with_samples(run, of)


def without_shares(run: Run) -> Run:
    """As of an engine that does not count them."""
    return with_samples(run, lambda step: replace(step.sample, ios_by_block_size=(), ios_by_zone=()))


def with_capture(run: Run, lost: str) -> Run:
    """A capture in which I/Os are missing."""
    capture = CaptureReport("capture", files=1, ios=9, lost=lost)
    return replace(run, manifest=replace(run.manifest, capture=capture))
