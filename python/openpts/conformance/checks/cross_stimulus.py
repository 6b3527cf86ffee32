"""Cross stimulus recovery against section 12, with the specification's own numbers."""

from typing import Final

from openpts.conformance.checks.check import Check, Checks
from openpts.conformance.checks.sequence import directly_after_purge, gaps_between
from openpts.conformance.checks.settings import (
    cache,
    demand,
    demands_text,
    profile_settings,
    random_data,
    stimuli,
)
from openpts.conformance.checks.tracking import logged_every_minute
from openpts.conformance.evidence import HOUR_NS, Evidence, at_least
from openpts.conformance.finding import Finding, met, met_if, not_applicable, not_reached
from openpts.units import KIB, format_duration
from openpts.vocabulary.conditions import CrossStimulusConditions
from openpts.vocabulary.part import Part
from openpts.vocabulary.stimulus import AccessPattern
from openpts.vocabulary.verdict import TestPoint

_SEQUENTIAL: Final = TestPoint(AccessPattern.SEQUENTIAL, 1024 * KIB, 0)
_RANDOM: Final = TestPoint(AccessPattern.RANDOM, 8 * KIB, 0)
_GROUPS: Final = ((1, _SEQUENTIAL, 8), (2, _RANDOM, 6), (3, _SEQUENTIAL, 8))


def _group(number: int, point: TestPoint, hours: int) -> Check:
    """So many hours or more of that stimulus."""

    def check(evidence: Evidence) -> Finding:
        samples = evidence.of(Part.ACCESS_GROUP, number)
        length_ns = sum(sample.elapsed_ns for sample in samples)
        right = all(point.matches(stimulus) for stimulus in stimuli(samples))
        whole = any(found.number == number for found in evidence.rounds(Part.ACCESS_GROUP))
        if not whole:
            return not_reached(f"broken off after {format_duration(length_ns)}")
        return met_if(
            right and at_least(length_ns, hours * HOUR_NS),
            f"{hours} h of {point}",
            f"{format_duration(length_ns)} of {samples[0].step}",
        )

    return check


def _same_demand_again(evidence: Evidence) -> Finding:
    first, third = (demands_text(stimuli(evidence.of(Part.ACCESS_GROUP, number))) for number in (1, 3))
    return met_if(first == third, f"{first}, as in group 1", third)


def _recommended_first(evidence: Evidence) -> Finding:
    if not evidence.of(Part.ACCESS_GROUP, 1):
        group = evidence.conditions(CrossStimulusConditions).groups[0]
        return met_if((group.tc, group.qd) == (1, 32), "TC 1 QD 32", f"TC {group.tc} QD {group.qd}")
    return demand(Part.ACCESS_GROUP, 1, 32, 1)(evidence)


def _different_demands(evidence: Evidence) -> Finding:
    groups = evidence.conditions(CrossStimulusConditions).groups
    text = ", ".join(f"TC {group.tc} QD {group.qd}" for group in groups)
    demands = [group.tc * group.qd for group in groups]
    return met_if(len(set(demands[:2])) == 2, "another OIO for another stimulus", text)


def _second_choice(evidence: Evidence) -> Finding:
    group = evidence.conditions(CrossStimulusConditions).groups[1]
    return met(f"TC {group.tc} QD {group.qd}")


def _other_lengths(evidence: Evidence) -> Finding:
    lengths = [group.duration_ns for group in evidence.conditions(CrossStimulusConditions).groups]
    text = ", ".join(format_duration(length_ns) for length_ns in lengths)
    if lengths == [hours * HOUR_NS for _, _, hours in _GROUPS]:
        return not_applicable(f"{text}, as the specification has it")
    return met(f"reported: {text}")


def _cache(evidence: Evidence) -> Finding:
    """One state for all groups, that of the profile: toggling it would disturb the transitions."""
    return cache(evidence, enabled=not evidence.enterprise)


def _settings(evidence: Evidence) -> Finding:
    used = [
        (group.workload.random_pct == 100, group.workload.block_sizes[0].block_size_bytes)
        for group in evidence.conditions(CrossStimulusConditions).groups
    ]
    wanted = [(p.access_pattern is AccessPattern.RANDOM, p.block_size_bytes) for _, p, _ in _GROUPS]
    titles = ", ".join(g.workload.title for g in evidence.conditions(CrossStimulusConditions).groups)
    return met_if(used == wanted, "SEQ 1024 KiB, RND 8 KiB, SEQ 1024 KiB", titles)


CHECKS: Final[Checks] = {
    "PTS-XSR-01": _settings,
    "PTS-XSR-02": profile_settings,
    "PTS-XSR-03": directly_after_purge(Part.ACCESS_GROUP),
    "PTS-XSR-04": _cache,
    "PTS-XSR-05": _recommended_first,
    "PTS-XSR-06": random_data(),
    "PTS-XSR-07": _group(*_GROUPS[0]),
    "PTS-XSR-08": _cache,
    "PTS-XSR-09": _second_choice,
    "PTS-XSR-10": _group(*_GROUPS[1]),
    "PTS-XSR-11": _cache,
    "PTS-XSR-12": _same_demand_again,
    "PTS-XSR-13": _group(*_GROUPS[2]),
    "PTS-XSR-14": logged_every_minute(Part.ACCESS_GROUP),
    "PTS-XSR-15": gaps_between(Part.ACCESS_GROUP),
    "PTS-XSR-16": _different_demands,
    "PTS-XSR-26": _other_lengths,
}
ORDER: Final = _group(*_GROUPS[0])
