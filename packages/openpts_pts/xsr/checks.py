"""Cross stimulus recovery against section 12, with the specification's own numbers."""

from typing import Final

from openpts.units import KIB, format_duration
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import AccessPattern
from openpts.vocabulary.verdict import RoundPoint
from openpts_pts.evidence import settings
from openpts_pts.evidence import stimulus as applied
from openpts_pts.evidence.evidence import HOUR_NS, Cases, Checks, Evidence, about, at_least, with_arguments
from openpts_pts.evidence.finding import Finding, all_of, met, met_if, not_applicable, not_reached
from openpts_pts.shared import spec_interpretations as spec

_SEQUENTIAL: Final = RoundPoint(AccessPattern.SEQUENTIAL, 1024 * KIB, 0)
_RANDOM: Final = RoundPoint(AccessPattern.RANDOM, 8 * KIB, 0)
_GROUPS: Final = ((1, _SEQUENTIAL, 8), (2, _RANDOM, 6), (3, _SEQUENTIAL, 8))


def _group(evidence: Evidence, number: int, point: RoundPoint, hours: int) -> Finding:
    """So many hours or more of that stimulus."""
    samples = evidence.of(Phase.ACCESS_GROUP, number)
    length_ns = sum(sample.elapsed_ns for sample in samples)
    right = all(point.matches(stimulus) for stimulus in settings.stimuli(samples))
    whole = any(found.number == number for found in evidence.rounds(Phase.ACCESS_GROUP))
    if not whole:
        return not_reached(f"cut short after {format_duration(length_ns)}")
    return met_if(
        right and at_least(length_ns, hours * HOUR_NS),
        f"{hours} h of {point}",
        f"{format_duration(length_ns)} of {samples[0].step}",
    )


def _demand_of_group_1(evidence: Evidence) -> Finding:
    return settings.demand_of(settings.stimuli(evidence.of(Phase.ACCESS_GROUP, 1)), 1, 32)


def _same_demand_again(evidence: Evidence) -> Finding:
    first, third = (
        settings.demands_text(settings.stimuli(evidence.of(Phase.ACCESS_GROUP, number))) for number in (1, 3)
    )
    return met_if(first == third, f"{first}, as in group 1", third)


def _demands_of(evidence: Evidence, number: int) -> list[int]:
    return sorted({stimulus.toio for stimulus in settings.stimuli(evidence.of(Phase.ACCESS_GROUP, number))})


def _different_demands(evidence: Evidence) -> Finding:
    first, second = (_demands_of(evidence, number) for number in (1, 2))
    if not (first and second):
        return not_reached("one of the two stimuli was not applied")
    text = ", ".join(f"TOIO {toio}" for toio in (*first, *second))
    return met_if(first != second, "another OIO for another stimulus", text)


def _second_choice(evidence: Evidence) -> Finding:
    found = settings.stimuli(evidence.of(Phase.ACCESS_GROUP, 2))
    return met(settings.demands_text(found)) if found else not_reached("access group 2 was not reached")


def _other_lengths(evidence: Evidence) -> Finding | None:
    ran = evidence.rounds(Phase.ACCESS_GROUP)
    lengths = [sum(sample.elapsed_ns for sample in found.samples) for found in ran]
    required = [hours * HOUR_NS for _, _, hours in _GROUPS]
    if all(about(length_ns, hours_ns) for length_ns, hours_ns in zip(lengths, required, strict=False)):
        text = ", ".join(format_duration(length_ns) for length_ns in lengths) or "none was completed"
        return not_applicable(f"{text}, as the specification has it")
    return None


def _cache(evidence: Evidence) -> Finding:
    """One state for all groups, that of the class: toggling it would disturb the transitions."""
    return settings.cache(evidence, enabled=not evidence.enterprise)


def _settings(evidence: Evidence) -> Finding:
    """Each group that ran has the section's stimulus, by what its steps counted."""
    steps = [step for step in evidence.steps if step.place.phase is Phase.ACCESS_GROUP]
    if not steps:
        return not_reached("no access group was begun")
    points = {number: point for number, point, _ in _GROUPS}
    findings = []
    for step in steps:
        point, sample = points.get(step.place.number), step.sample
        right = (
            point is not None
            and point.matches(sample.step.stimulus)
            and applied.block_size_bytes(sample) == point.block_size_bytes
            and sample.ios == sample.write.ios
        )
        findings.append(met_if(right, str(point), str(sample.step)))
    return all_of(findings)


CHECKS: Final[Checks] = {
    "PTS-XSR-01": _settings,
    "PTS-XSR-02": settings.class_settings,
    "PTS-XSR-03": with_arguments(applied.directly_after_purge, Phase.ACCESS_GROUP),
    "PTS-XSR-04": _cache,
    "PTS-XSR-05": _demand_of_group_1,
    "PTS-XSR-06": settings.random_data,
    "PTS-XSR-07": with_arguments(_group, *_GROUPS[0]),
    "PTS-XSR-08": _cache,
    "PTS-XSR-09": _second_choice,
    "PTS-XSR-10": with_arguments(_group, *_GROUPS[1]),
    "PTS-XSR-11": _cache,
    "PTS-XSR-12": _same_demand_again,
    "PTS-XSR-13": with_arguments(_group, *_GROUPS[2]),
    "PTS-XSR-14": with_arguments(applied.logged_every_minute, Phase.ACCESS_GROUP),
    "PTS-XSR-15": with_arguments(applied.gaps_between, Phase.ACCESS_GROUP),
    "PTS-XSR-16": _different_demands,
}
CASES: Final[Cases] = {"PTS-XSR-26": _other_lengths}
ORDER: Final = with_arguments(_group, *_GROUPS[0])
INTERPRETATIONS: Final = (
    spec.Interpretation(
        "12.2",
        "The write cache: as the class has it, or off in access groups 2 and 3.",
        "One state for all groups, that of the class.",
    ),
    spec.Interpretation(
        "12.1, 12.3.2",
        "When bandwidth has recovered: at the highest minute of segment 3, which noise can move.",
        "That time as asked; key values are the first minutes at 90 and 95 % of segment 1's last hour.",
    ),
)
