"""CBW against section 13: the pattern by the engine's own counts, and the procedure."""

from collections.abc import Sequence
from math import sqrt
from statistics import NormalDist
from typing import Final

from openpts.units import format_significant
from openpts.vocabulary.sample import Phase, Sample
from openpts.vocabulary.stimulus import Zones
from openpts_pts.evidence import settings
from openpts_pts.evidence import stimulus as applied
from openpts_pts.evidence.evidence import Cases, Checks, Evidence, binds_where, with_arguments
from openpts_pts.evidence.finding import Finding, deviated, met_if, unverified
from openpts_pts.shared import spec_interpretations as spec
from openpts_pts.shared.demand import checks as d

_SIZES: Final = {
    512: 4,
    1024: 1,
    1536: 1,
    2048: 1,
    2560: 1,
    3072: 1,
    3584: 1,
    4096: 67,
    8192: 10,
    16384: 7,
    32768: 3,
    65536: 3,
}
"""Table 13-1: bytes and per cent of the accesses."""

_ZONES: Final = ((50, 5), (30, 15), (20, 80))
"""Table 13-2: per cent of the accesses, and of the active range."""

# The text has no tolerance. Over one period four standard errors are taken as the limit; over many, as much
# as chance exceeds once in a thousand runs.
_STANDARD_ERRORS: Final = 4
_FALSE_ALARMS: Final = 0.001


def _pattern(evidence: Evidence) -> Finding:
    patterns = {(s.block_sizes, s.placement) for s in settings.stimuli(_of_the_pattern(evidence))}
    used = "one pattern throughout" if len(patterns) == 1 else f"{len(patterns)} patterns"
    return met_if(len(patterns) == 1, "one pattern throughout", used)


def _of_the_pattern(evidence: Evidence) -> list[Sample]:
    return [step.sample for step in evidence.steps if step.place.phase is not Phase.WIPC]


def _mix(evidence: Evidence) -> Finding:
    used = applied.mixes(evidence, evidence.of(Phase.ROUND))
    return met_if(used == ["40/60"], "40/60", ", ".join(used) or "none")


def _sizes(evidence: Evidence) -> Finding:
    used = {
        tuple((size.block_size_bytes, size.weight) for size in stimulus.block_sizes)
        for stimulus in settings.stimuli(_of_the_pattern(evidence))
    }
    left_out = sorted(set(_SIZES) - {size for sizes in used for size, _ in sizes})
    if left_out:
        return deviated("12 sizes", f"without {', '.join(f'{size / 1024:g}' for size in left_out)} KiB")
    right = used == {tuple(_SIZES.items())}
    return met_if(right, "the shares of table 13-1", "all 12 sizes by table 13-1" if right else "others")


def _zones(evidence: Evidence) -> Finding:
    used = {
        tuple((zone.weight, zone.range_pct) for zone in s.placement.zones)
        if isinstance(s.placement, Zones)
        else ()
        for s in settings.stimuli(_of_the_pattern(evidence))
    }
    right = used == {_ZONES}
    return met_if(right, "the groups of table 13-2", "groups A, B and C" if right else "other places")


def _distributions(evidence: Evidence) -> Finding:
    """Every period's counts by size and by zone lie within four standard errors of their shares."""
    periods = _of_the_pattern(evidence)
    counted = [sample for sample in periods if sample.ios_by_block_size and sample.ios_by_zone]
    if not counted:
        return unverified("the engine counted neither sizes nor places")
    worst, shares = 0.0, 0
    for sample in counted:
        stimulus = sample.step.stimulus
        if stimulus is None or not isinstance(stimulus.placement, Zones):
            return deviated("the pattern's sizes and places", str(sample.step))
        for counts, weights in (
            (sample.ios_by_block_size, [size.weight for size in stimulus.block_sizes]),
            (sample.ios_by_zone, [zone.weight for zone in stimulus.placement.zones]),
        ):
            worst = max(worst, _deviation(counts, weights, evidence.manifest.target.scale))
            shares += len(weights)
    limit = max(_STANDARD_ERRORS, NormalDist().inv_cdf(1 - _FALSE_ALARMS / 2 / shares))
    return met_if(
        worst <= limit,
        f"every share within {format_significant(limit)} standard errors",
        f"at most {format_significant(worst)} standard errors in {len(counted)} of {len(periods)} periods",
    )


def _deviation(counts: Sequence[int], weights: Sequence[int], scale: int) -> float:
    """The largest distance of a share from its expectation, in its binomial standard errors.

    ``scale``: so many of the counts are one access that was drawn.
    """
    total, whole = sum(counts), sum(weights)
    if not total:
        return 0.0
    worst = 0.0
    for count, weight in zip(counts, weights, strict=True):
        share = weight / whole
        if 0 < share < 1:
            error = sqrt(share * (1 - share) * scale / total)
            worst = max(worst, abs(count / total - share) / error)
    return worst


CHECKS: Final[Checks] = {
    "PTS-CBW-01": d.full_range,
    "PTS-CBW-02": applied.purge_first,
    "PTS-CBW-03": _pattern,
    "PTS-CBW-04": settings.random_data,
    "PTS-CBW-05": settings.other_data,
    "PTS-CBW-07": _mix,
    "PTS-CBW-08": _sizes,
    "PTS-CBW-10": _zones,
    "PTS-CBW-11": _distributions,
    "PTS-CBW-12": with_arguments(d.all_writes, Phase.WDPC),
    "PTS-CBW-13": d.cache_off,
    "PTS-CBW-14": with_arguments(settings.demand, 32, 32, Phase.WDPC),
    "PTS-CBW-15": with_arguments(settings.random_data, Phase.WDPC),
    "PTS-CBW-16": with_arguments(d.minutes_kept, Phase.WDPC),
    "PTS-CBW-17": applied.preconditioned,
    "PTS-CBW-18": applied.tracked_minutes,
    "PTS-CBW-19": d.cache_off,
    "PTS-CBW-20": with_arguments(d.demands, "tc"),
    "PTS-CBW-21": with_arguments(d.demands, "qd"),
    "PTS-CBW-22": d.round_prewrite,
    "PTS-CBW-23": d.prewrites_kept,
    "PTS-CBW-24": d.operating_points,
    "PTS-CBW-25": d.ties,
    "PTS-CBW-26": d.points_kept,
    "PTS-CBW-27": d.until_steady,
    "PTS-CBW-31": d.measured_maximum,
    "PTS-CBW-32": d.maximum_is_highest,
    "PTS-CBW-33": d.maximum_below_limit,
    "PTS-CBW-34": d.minimum,
    "PTS-CBW-35": d.middles,
    "PTS-CBW-36": d.maximum_at_lowest_toio,
    "PTS-CBW-37": d.prewrites,
    "PTS-CBW-38": with_arguments(d.histograms, 40),
    "PTS-CBW-40": d.minimum,
    "PTS-CBW-41": d.nearest_to_the_middle,
    "PTS-CBW-42": d.order,
    "PTS-CBW-60": d.optional_wipc,
}
CASES: Final[Cases] = {
    "PTS-CBW-06": with_arguments(binds_where, settings.other_data),
    "PTS-CBW-30": with_arguments(binds_where, d.cpu_kept),
    "PTS-CBW-51": with_arguments(binds_where, d.cpu_kept),
}
ORDER: Final = d.ties
INTERPRETATIONS: Final = (
    *spec.STEADY_STATE,
    *spec.TRACKED_MINUTES,
    *spec.DEMAND_VARIATION,
    spec.Interpretation(
        "13.2 (2.1)",
        "No tolerance for shares of sizes and access ranges.",
        "Four standard errors in each period.",
    ),
)
