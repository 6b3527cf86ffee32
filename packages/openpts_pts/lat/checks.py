"""Latency against section 9, with the specification's own numbers."""

from typing import Final

from openpts.units import KIB
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import AccessPattern, SteadyFigure
from openpts.vocabulary.verdict import RoundPoint
from openpts_pts.evidence import settings
from openpts_pts.evidence import stimulus as applied
from openpts_pts.evidence.evidence import Cases, Checks, Evidence, with_arguments
from openpts_pts.evidence.finding import Finding, all_of, met_if
from openpts_pts.shared import spec_interpretations as spec
from openpts_pts.shared.rounds import checks as loop

_READS: Final = (100, 65, 0)
_SIZES_KIB: Final = (8, 4, 0.5)
_HISTOGRAM_MINUTES: Final = 20
_POINT: Final = RoundPoint(AccessPattern.RANDOM, 4 * KIB, 0)


def _histogram(evidence: Evidence) -> Finding:
    found = settings.stimuli(evidence.of(Phase.HISTOGRAM))
    right = all(_POINT.matches(stimulus) for stimulus in found)
    texts = ", ".join(dict.fromkeys(str(stimulus) for stimulus in found))
    return all_of(
        [
            applied.lasts(evidence, Phase.HISTOGRAM, _HISTOGRAM_MINUTES),
            met_if(right, "RND 4 KiB 0/100", texts),
        ]
    )


CHECKS: Final[Checks] = {
    "PTS-LAT-01": settings.class_settings,
    "PTS-LAT-02": applied.purge_first,
    "PTS-LAT-03": settings.both_settings,
    "PTS-LAT-04": with_arguments(settings.demand, None, 1),
    "PTS-LAT-05": with_arguments(settings.demand, 1, None),
    "PTS-LAT-06": settings.random_data,
    "PTS-LAT-07": with_arguments(loop.wipc, 128),
    "PTS-LAT-08": loop.until_steady,
    "PTS-LAT-09": with_arguments(loop.outer_loop, _READS),
    "PTS-LAT-10": with_arguments(loop.inner_loop, _SIZES_KIB),
    "PTS-LAT-11": with_arguments(loop.element, len(_READS) * len(_SIZES_KIB), AccessPattern.RANDOM),
    "PTS-LAT-12": with_arguments(settings.response_times_kept, Phase.ROUND),
    "PTS-LAT-13": with_arguments(
        loop.tracked,
        "average latency of RND 4 KiB RW0",
        [(_POINT.read_pct, _POINT.block_size_bytes)],
        SteadyFigure.MEAN_LATENCY,
    ),
    "PTS-LAT-14": loop.beyond_round_25,
    "PTS-LAT-15": _histogram,
    "PTS-LAT-16": with_arguments(settings.response_times_kept, Phase.HISTOGRAM),
    "PTS-LAT-17": applied.more_nines,
    "PTS-LAT-18": applied.length_from_rate,
    "PTS-LAT-19": with_arguments(applied.enough_ios, 1),
    "PTS-LAT-20": with_arguments(applied.enough_ios, 1.5),
    "PTS-LAT-21": with_arguments(applied.enough_ios, 1),
}
CASES: Final[Cases] = {"PTS-LAT-25": loop.if_not_steady, "PTS-LAT-26": loop.if_not_steady}
ORDER: Final = with_arguments(loop.order, loop.points(_READS, _SIZES_KIB))
INTERPRETATIONS: Final = (
    *spec.STEADY_STATE,
    *spec.NOT_STEADY,
    *spec.FIVE_NINES,
    spec.Interpretation(
        "9.1, 9.2 (2.2)",
        "WIPC in 128 KiB, or in 1024 KiB depending on the test.",
        "128 KiB at the TC and QD of the test.",
    ),
    *spec.CONFIDENCE_LEVELS,
)
