"""IOPS against section 7, with the specification's own numbers."""

from typing import Final

from openpts.units import KIB
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import AccessPattern
from openpts_pts.evidence import settings
from openpts_pts.evidence import stimulus as applied
from openpts_pts.evidence.evidence import Cases, Checks, Evidence, with_arguments
from openpts_pts.evidence.finding import Finding, not_applicable
from openpts_pts.shared import spec_interpretations as spec
from openpts_pts.shared.rounds import checks as loop
from openpts_pts.shared.rounds.conditions import RoundConditions

_READS: Final = (100, 95, 65, 50, 35, 5, 0)
_SIZES_KIB: Final = (1024, 128, 64, 32, 16, 8, 4, 0.5)
_TRACKED: Final = ((0, 4 * KIB), (65, 64 * KIB), (100, 1024 * KIB))
_ELEMENTS: Final = len(_READS) * len(_SIZES_KIB)


def _other_tracking(evidence: Evidence) -> Finding | None:
    tracking = evidence.conditions(RoundConditions).tracking
    if {(v.read_pct, v.block_size_bytes) for v in tracking} == set(_TRACKED):
        return not_applicable("the three variables of the specification are tracked")
    return None


CHECKS: Final[Checks] = {
    "PTS-IOPS-01": settings.class_settings,
    "PTS-IOPS-02": applied.purge_first,
    "PTS-IOPS-03": with_arguments(settings.settings_kept, Phase.WIPC),
    "PTS-IOPS-04": with_arguments(settings.recommended, "qd", 32, 16),
    "PTS-IOPS-05": with_arguments(settings.recommended, "tc", 4, 2),
    "PTS-IOPS-06": with_arguments(settings.random_data, Phase.WIPC),
    "PTS-IOPS-07": with_arguments(loop.wipc, 128),
    "PTS-IOPS-08": settings.loop_settings,
    "PTS-IOPS-09": with_arguments(settings.same_demand, Phase.WIPC, Phase.ROUND),
    "PTS-IOPS-10": with_arguments(settings.random_data, Phase.ROUND),
    "PTS-IOPS-11": loop.until_steady,
    "PTS-IOPS-12": with_arguments(loop.outer_loop, _READS),
    "PTS-IOPS-13": with_arguments(loop.inner_loop, _SIZES_KIB),
    "PTS-IOPS-14": with_arguments(loop.element, _ELEMENTS, AccessPattern.RANDOM),
    "PTS-IOPS-15": with_arguments(settings.averages_kept, Phase.ROUND),
    "PTS-IOPS-16": with_arguments(
        loop.tracked, "RND 4 KiB RW0, RND 64 KiB RW65, RND 1024 KiB RW100", _TRACKED
    ),
    "PTS-IOPS-18": loop.beyond_round_25,
    "PTS-IOPS-19": with_arguments(loop.order, loop.points(_READS, _SIZES_KIB)),
    "PTS-IOPS-20": with_arguments(loop.window_covers, _ELEMENTS),
}
CASES: Final[Cases] = {
    "PTS-IOPS-17": _other_tracking,
    "PTS-IOPS-24": loop.if_not_steady,
    "PTS-IOPS-25": loop.if_not_steady,
}
ORDER: Final = with_arguments(loop.order, loop.points(_READS, _SIZES_KIB))
INTERPRETATIONS: Final = (
    *spec.STEADY_STATE,
    *spec.NOT_STEADY,
    spec.Interpretation(
        "7.1, 7.2",
        "Whether all tracking variables must be steady in the same window.",
        "All of them, in the same five Rounds.",
    ),
    *spec.FIVE_NINES,
)
