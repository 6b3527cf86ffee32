"""Write saturation against section 10, with the specification's own numbers."""

from typing import Final

from openpts.units import KIB, format_duration, format_significant
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import AccessPattern, Stimulus, Zones
from openpts.vocabulary.verdict import RoundPoint
from openpts_pts.evidence import settings
from openpts_pts.evidence import stimulus as applied
from openpts_pts.evidence.evidence import HOUR_NS, Checks, Evidence, at_least, with_arguments
from openpts_pts.evidence.finding import Finding, all_of, deviated, met, met_if, not_applicable, not_reached
from openpts_pts.shared import spec_interpretations as spec
from openpts_pts.wsat import WriteSaturationConditions

_FILLS: Final = 4
_LONGEST_NS: Final = 6 * HOUR_NS
_DEFAULT: Final = RoundPoint(AccessPattern.RANDOM, 4 * KIB, 0)


def _default_stimulus(evidence: Evidence) -> Finding:
    workloads = evidence.conditions(WriteSaturationConditions).workloads
    first = settings.stimuli(evidence.of(Phase.SATURATION))[:1]
    if not first:
        return not_reached("the stimulus was never completed")
    if _is(first[0], _DEFAULT):
        return met(str(first[0]))
    return not_applicable(f"the operator chose {', '.join(workload.title for workload in workloads)}")


def _length(evidence: Evidence) -> Finding:
    """4 x user capacity, 6 hours, or steady: checked on the bytes, the time and the outcome of each cycle."""
    if not evidence.outcomes:
        return not_reached(evidence.ending)
    capacity = evidence.manifest.target.user_capacity_bytes
    findings = []
    for number, outcome in enumerate(evidence.outcomes, start=1):
        samples = evidence.in_cycle(number, Phase.SATURATION)
        fills = sum(sample.write.bytes for sample in samples) / capacity
        length_ns = sum(sample.elapsed_ns for sample in samples)
        right = (
            at_least(fills, _FILLS) or at_least(length_ns, _LONGEST_NS) or outcome.steady_round is not None
        )
        used = f"{format_significant(fills)} x user capacity in {format_duration(length_ns)}"
        findings.append(met_if(right, "4 x user capacity, 6 h, or steady state", used))
    return all_of(findings)


def _other_length(evidence: Evidence) -> Finding:
    conditions = evidence.conditions(WriteSaturationConditions)
    if (conditions.drive_fills, conditions.longest_ns) == (_FILLS, _LONGEST_NS):
        return not_applicable("4 x user capacity and 6 h, as the specification has it")
    return met(f"{conditions.drive_fills:g} x user capacity, {format_duration(conditions.longest_ns)}")


def _is(stimulus: Stimulus, point: RoundPoint) -> bool:
    return len(stimulus.block_sizes) == 1 and point.matches(stimulus)


def _workload(evidence: Evidence, point: RoundPoint) -> Finding:
    """An optional workload: whether it was among those that ran."""
    ran = any(_is(stimulus, point) for stimulus in settings.stimuli(evidence.of(Phase.SATURATION)))
    return met(str(point)) if ran else not_applicable("not among the chosen workloads")


def _composite(evidence: Evidence) -> Finding:
    ran = [s for s in settings.stimuli(evidence.of(Phase.SATURATION)) if isinstance(s.placement, Zones)]
    return met(str(ran[0])) if ran else not_applicable("not among the chosen workloads")


def _histogram(evidence: Evidence) -> Finding:
    saturating, measured = (
        {s.place.cycle: s.sample.step.stimulus for s in evidence.steps if s.place.phase is phase}
        for phase in (Phase.SATURATION, Phase.HISTOGRAM)
    )
    for cycle, stimulus in measured.items():
        if stimulus != saturating.get(cycle):
            return deviated("the workload of the saturation", str(stimulus))
    return applied.lasts(evidence, Phase.HISTOGRAM, 20)


RND, SEQ = AccessPattern.RANDOM, AccessPattern.SEQUENTIAL

CHECKS: Final[Checks] = {
    "PTS-WSAT-01": settings.class_settings,
    "PTS-WSAT-02": with_arguments(applied.directly_after_purge, Phase.SATURATION),
    "PTS-WSAT-03": with_arguments(settings.settings_kept, Phase.SATURATION),
    "PTS-WSAT-04": with_arguments(settings.recommended, "qd", 32, 16),
    "PTS-WSAT-05": with_arguments(settings.recommended, "tc", 4, 2),
    "PTS-WSAT-06": settings.random_data,
    "PTS-WSAT-07": _default_stimulus,
    "PTS-WSAT-08": _length,
    "PTS-WSAT-09": applied.tracked_minutes,
    "PTS-WSAT-10": _other_length,
    "PTS-WSAT-11": with_arguments(settings.response_times_kept, Phase.SATURATION),
    "PTS-WSAT-12": with_arguments(_workload, RoundPoint(RND, 4 * KIB, 100)),
    "PTS-WSAT-13": with_arguments(_workload, RoundPoint(RND, 4 * KIB, 0)),
    "PTS-WSAT-14": with_arguments(_workload, RoundPoint(RND, 8 * KIB, 65)),
    "PTS-WSAT-15": with_arguments(_workload, RoundPoint(SEQ, 128 * KIB, 90)),
    "PTS-WSAT-16": with_arguments(_workload, RoundPoint(SEQ, KIB // 2, 50)),
    "PTS-WSAT-17": _composite,
    "PTS-WSAT-18": _histogram,
    "PTS-WSAT-19": with_arguments(settings.response_times_kept, Phase.HISTOGRAM),
    "PTS-WSAT-20": applied.more_nines,
    "PTS-WSAT-21": applied.length_from_rate,
    "PTS-WSAT-22": with_arguments(applied.enough_ios, 1),
    "PTS-WSAT-23": with_arguments(applied.enough_ios, 1.5),
}
ORDER: Final = with_arguments(applied.directly_after_purge, Phase.SATURATION)
INTERPRETATIONS: Final = (
    *spec.STEADY_STATE,
    *spec.CONFIDENCE_LEVELS,
    spec.Interpretation(
        "10.2, 10.3.2",
        "Capacity, time or steady state: which ends the stimulus, and which is optional.",
        "4 x user capacity or 6 h, whichever is first; steady state ends it on request, after 1 x capacity.",
    ),
    *spec.TRACKED_MINUTES,
)
