"""Latency against section 9, with the specification's own numbers."""

from typing import Final

from openpts.units import KIB
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import AccessPattern, SteadyFigure
from openpts.vocabulary.verdict import RoundPoint
from openpts_pts.evidence.evidence import Cases, Checks, Evidence
from openpts_pts.evidence.finding import Finding, all_of, met_if
from openpts_pts.evidence.settings import (
    both_settings,
    class_settings,
    demand_everywhere,
    random_data,
    response_times_kept,
    stimuli,
)
from openpts_pts.evidence.stimulus import enough_ios, lasts, length_from_rate, more_nines, purge_first
from openpts_pts.shared import spec_interpretations as spec
from openpts_pts.shared.rounds.checks import (
    beyond_round_25,
    element,
    if_not_steady,
    inner_loop,
    order,
    outer_loop,
    points,
    tracked,
    until_steady,
    wipc,
)

_READS: Final = (100, 65, 0)
_SIZES_KIB: Final = (8, 4, 0.5)
_HISTOGRAM_MINUTES: Final = 20
_POINT: Final = RoundPoint(AccessPattern.RANDOM, 4 * KIB, 0)


def _histogram(evidence: Evidence) -> Finding:
    found = stimuli(evidence.of(Phase.HISTOGRAM))
    right = all(_POINT.matches(stimulus) for stimulus in found)
    texts = ", ".join(dict.fromkeys(str(stimulus) for stimulus in found))
    return all_of(
        [lasts(Phase.HISTOGRAM, _HISTOGRAM_MINUTES)(evidence), met_if(right, "RND 4 KiB 0/100", texts)]
    )


CHECKS: Final[Checks] = {
    "PTS-LAT-01": class_settings,
    "PTS-LAT-02": purge_first,
    "PTS-LAT-03": both_settings,
    "PTS-LAT-04": demand_everywhere(None, 1),
    "PTS-LAT-05": demand_everywhere(1, None),
    "PTS-LAT-06": random_data(),
    "PTS-LAT-07": wipc(128),
    "PTS-LAT-08": until_steady,
    "PTS-LAT-09": outer_loop(_READS),
    "PTS-LAT-10": inner_loop(_SIZES_KIB),
    "PTS-LAT-11": element(len(_READS) * len(_SIZES_KIB), AccessPattern.RANDOM),
    "PTS-LAT-12": response_times_kept(Phase.ROUND),
    "PTS-LAT-13": tracked(
        "average latency of RND 4 KiB RW0",
        [(_POINT.read_pct, _POINT.block_size_bytes)],
        SteadyFigure.MEAN_LATENCY,
    ),
    "PTS-LAT-14": beyond_round_25,
    "PTS-LAT-15": _histogram,
    "PTS-LAT-16": response_times_kept(Phase.HISTOGRAM),
    "PTS-LAT-17": more_nines,
    "PTS-LAT-18": length_from_rate,
    "PTS-LAT-19": enough_ios(1),
    "PTS-LAT-20": enough_ios(1.5),
    "PTS-LAT-21": enough_ios(1),
}
CASES: Final[Cases] = {"PTS-LAT-25": if_not_steady, "PTS-LAT-26": if_not_steady}
ORDER: Final = order(points(_READS, _SIZES_KIB))
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
