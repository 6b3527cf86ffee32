"""DIRTH against section 14: one size and mix of choice, and the procedure that it shares with CBW."""

from typing import Final

from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import AccessPattern
from openpts_pts.evidence import settings
from openpts_pts.evidence import stimulus as applied
from openpts_pts.evidence.evidence import Cases, Checks, Evidence, binds_where, with_arguments
from openpts_pts.evidence.finding import Finding, all_of, met, not_applicable, not_reached
from openpts_pts.shared import spec_interpretations as spec
from openpts_pts.shared.demand import checks as d


def _one_size_one_mix(evidence: Evidence) -> Finding:
    """Random accesses of one size throughout, and one mix in all rounds, as the steps counted them."""
    used, one = _workload(evidence)
    return met(used) if one else not_applicable(f"another workload, as 14.1 (7) allows: {used}")


def _any_workload(evidence: Evidence) -> Finding:
    if not evidence.steps:
        return not_reached("no step was completed")
    used, one = _workload(evidence)
    return not_applicable(f"one block size and one mix: {used}") if one else met(used)


def _workload(evidence: Evidence) -> tuple[str, bool]:
    samples = [step.sample for step in evidence.steps if step.place.phase is not Phase.WIPC]
    found = settings.stimuli(samples)
    mixes_used = applied.mixes(evidence, evidence.of(Phase.ROUND))
    one = (
        all(s.access_pattern is AccessPattern.RANDOM and len(s.block_sizes) == 1 for s in found)
        and len({applied.block_size_bytes(sample) for sample in samples if sample.ios}) == 1
        and len(mixes_used) <= 1
    )
    sizes = ", ".join(dict.fromkeys(str(stimulus).rpartition(" ")[0] for stimulus in found))
    return f"{sizes} {', '.join(mixes_used)}".strip(), one


CHECKS: Final[Checks] = {
    "PTS-DIRTH-01": d.full_range,
    "PTS-DIRTH-02": _one_size_one_mix,
    "PTS-DIRTH-03": _any_workload,
    "PTS-DIRTH-04": applied.purge_first,
    "PTS-DIRTH-05": with_arguments(d.all_writes, Phase.WDPC),
    "PTS-DIRTH-06": d.cache_off,
    "PTS-DIRTH-07": with_arguments(settings.demand, 32, 32, Phase.WDPC),
    "PTS-DIRTH-08": with_arguments(settings.random_data, Phase.WDPC),
    "PTS-DIRTH-09": with_arguments(d.minutes_kept, Phase.WDPC),
    "PTS-DIRTH-10": lambda e: all_of([applied.tracked_minutes(e), applied.preconditioned(e)]),
    "PTS-DIRTH-11": d.cache_off,
    "PTS-DIRTH-12": with_arguments(d.demands, "tc"),
    "PTS-DIRTH-13": with_arguments(d.demands, "qd"),
    "PTS-DIRTH-14": d.round_prewrite,
    "PTS-DIRTH-15": d.prewrites_kept,
    "PTS-DIRTH-16": d.operating_points,
    "PTS-DIRTH-17": d.ties,
    "PTS-DIRTH-18": d.points_kept,
    "PTS-DIRTH-19": d.until_steady,
    "PTS-DIRTH-23": d.measured_maximum,
    "PTS-DIRTH-24": d.maximum_is_highest,
    "PTS-DIRTH-25": d.maximum_below_limit,
    "PTS-DIRTH-26": d.minimum,
    "PTS-DIRTH-27": d.middles,
    "PTS-DIRTH-28": d.maximum_at_lowest_toio,
    "PTS-DIRTH-29": d.prewrites,
    "PTS-DIRTH-30": with_arguments(d.histograms, None),
    "PTS-DIRTH-32": d.minimum,
    "PTS-DIRTH-33": d.nearest_to_the_middle,
    "PTS-DIRTH-34": d.order,
    "PTS-DIRTH-52": d.optional_wipc,
}
CASES: Final[Cases] = {
    "PTS-DIRTH-22": with_arguments(binds_where, d.cpu_kept),
    "PTS-DIRTH-43": with_arguments(binds_where, d.cpu_kept),
}
ORDER: Final = d.ties
INTERPRETATIONS: Final = (*spec.STEADY_STATE, *spec.TRACKED_MINUTES, *spec.DEMAND_VARIATION)
