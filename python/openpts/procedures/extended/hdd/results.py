"""Rates over the zones of a rotational disk, and what access costs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from openpts.vocabulary.sample import Sample, StepState


@dataclass(frozen=True, slots=True)
class ZoneRate:
    """One stimulus in one zone, or over the whole range: what it reached.

    ``first_pct`` and ``last_pct`` bound the zone in per cent of the LBAs. ``random`` is the order,
    ``read`` the direction, ``qd`` the I/Os outstanding. ``access_ns`` is the mean response time.
    """

    first_pct: float
    last_pct: float
    random: bool
    read: bool
    qd: int
    bytes_per_s: float
    iops: float
    access_ns: float | None
    max_access_ns: int | None


def rate_of(sample: Sample) -> ZoneRate | None:
    """The rate of a step; None of one that did not end as it should."""
    stimulus = sample.step.stimulus
    if stimulus is None or sample.state is not StepState.COMPLETE:
        return None
    zone = stimulus.active_range
    return ZoneRate(
        first_pct=zone.start_pct,
        last_pct=zone.end_pct,
        random=stimulus.random_pct > 0,
        read=stimulus.read_pct > 0,
        qd=stimulus.qd,
        bytes_per_s=sample.bandwidth_bytes_per_s,
        iops=sample.iops,
        access_ns=sample.mean_latency_ns,
        max_access_ns=sample.max_latency_ns,
    )


def rates_of(samples: Iterable[Sample]) -> tuple[ZoneRate, ...]:
    """Those of all steps that ended as they should."""
    return tuple(rate for sample in samples if (rate := rate_of(sample)) is not None)


def inner_to_outer(rates: Sequence[ZoneRate], zones: int, *, read: bool) -> float | None:
    """Sequential throughput of the last of so many zones over that of the first; None unless all have one."""
    course = _course(rates, zones, read=read)
    return course[-1].bytes_per_s / course[0].bytes_per_s if len(course) > 1 else None


def mean_bytes_per_s(rates: Sequence[ZoneRate], zones: int, *, read: bool) -> float | None:
    """Throughput over so many zones, equal amounts of each: the harmonic mean; None unless all have one."""
    course = _course(rates, zones, read=read)
    return 1 / fmean(1 / rate.bytes_per_s for rate in course) if course else None


def _course(rates: Sequence[ZoneRate], zones: int, *, read: bool) -> list[ZoneRate]:
    """The sequential rates from the first zone to the last; empty if one of them is missing."""
    found = [rate for rate in rates if not rate.random and rate.read is read and rate.bytes_per_s]
    return sorted(found, key=lambda rate: rate.first_pct) if len(found) == zones else []
