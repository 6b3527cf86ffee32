"""Order of purge and steps, and the gaps between them (PTS 3.2, 4, 6 (9))."""

from collections.abc import Callable
from typing import Final

from openpts.units import NS_PER_S, format_gap
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.sample import StepState
from openpts_pts.evidence.check import Cases, Checks
from openpts_pts.evidence.evidence import Evidence
from openpts_pts.evidence.finding import Finding, all_of, deviated, met, met_if, not_applicable, not_reached
from openpts_pts.evidence.settings import stimuli

# The specification gives no figure for "without delay": a drive's own work on idling takes longer to begin.
_LONGEST_GAP_NS: Final = NS_PER_S


def purge_first(evidence: Evidence) -> Finding:
    """Each cycle that came to its first step began with a purge that ran."""
    purges = evidence.manifest.purges
    cycles = max([1, *(step.place.cycle for step in evidence.run.steps)])
    if not purges:
        return not_reached("no purge was begun") if not evidence.run.steps else deviated("a purge", "none")
    for number in range(1, cycles + 1):
        if number > len(purges) or not purges[number - 1].ran:
            detail = purges[number - 1].detail if number <= len(purges) else "not in the record"
            return deviated("a purge", f"none before cycle {number}: {detail}")
    return met(f"{purges[0].method}, before {'each cycle' if cycles > 1 else 'the first step'}")


def directly_after_purge(phase: Phase) -> Callable[[Evidence], Finding]:
    """The purge, then this part, with no preconditioning between."""

    def check(evidence: Evidence) -> Finding:
        firsts: dict[int, Phase] = {}
        for step in evidence.run.steps:
            firsts.setdefault(step.place.cycle, step.place.phase)
        others = [found for found in firsts.values() if found is not phase]
        if others:
            return deviated("the stimulus right after the purge", f"{others[0]} first")
        return purge_first(evidence)

    return check


def gap_before(phase: Phase) -> Callable[[Evidence], Finding]:
    """The time without I/O before the first step of each cycle's part."""

    def check(evidence: Evidence) -> Finding:
        gaps: dict[int, int | None] = {}
        for step in evidence.steps:
            if step.place.phase is phase:
                gaps.setdefault(step.place.cycle, step.sample.gap_ns)
        return _gaps(list(gaps.values()))

    return check


def gaps_between(*parts: Phase) -> Callable[[Evidence], Finding]:
    """The time without I/O between the steps of these parts, of all without any."""

    def check(evidence: Evidence) -> Finding:
        complete = {step.place for step in evidence.steps}
        steps = [step for step in evidence.run.with_gaps if step.place in complete]
        return _gaps([s.sample.gap_ns for s in steps if not parts or s.place.phase in parts])

    return check


def _gaps(gaps: list[int | None]) -> Finding:
    known = [gap for gap in gaps if gap is not None]
    if not known:
        return not_reached("no two steps ran one after the other")
    longest = max(known)
    text = f"longest gap {format_gap(longest)}"
    return met_if(longest <= _LONGEST_GAP_NS, "no pause", text)


def _without_purge(evidence: Evidence) -> Finding | None:
    purges = evidence.manifest.purges
    if not purges:
        return not_reached("no purge was begun")
    if all(purge.ran for purge in purges):
        return not_applicable("a purge was run")
    return None


def _purge_named(evidence: Evidence) -> Finding:
    purges = evidence.manifest.purges
    return met(", ".join(dict.fromkeys(purge.method for purge in purges if purge.ran)))


def _purged(evidence: Evidence) -> Finding:
    ran = [purge for purge in evidence.manifest.purges if purge.ran]
    return all_of(
        met_if(
            purge.samples > 0 and purge.changed_samples == purge.samples,
            "no mark left after the purge",
            f"{purge.changed_samples} of {purge.samples} marks gone",
        )
        for purge in ran
    )


def _uninterrupted(evidence: Evidence) -> Finding:
    broken = [step for step in evidence.run.steps if step.sample.state is not StepState.COMPLETE]
    if broken:
        return deviated("no interruption", f"{broken[0].place} was {broken[0].sample.state}")
    return gaps_between(Phase.WIPC, Phase.ROUND)(evidence)


def _common_flow(evidence: Evidence) -> Finding:
    by_cycle: dict[int, dict[Phase, None]] = {}
    for step in evidence.steps:
        by_cycle.setdefault(step.place.cycle, {})[step.place.phase] = None
    for cycle, phases in by_cycle.items():
        parts = list(phases)
        if parts[:2] != [Phase.WIPC, Phase.ROUND]:
            text = ", ".join(phase.upper() for phase in parts)
            return deviated("purge, WIPC, test loop", f"{text} in cycle {cycle}")
    return purge_first(evidence)


def _two_part_preconditioning(evidence: Evidence) -> Finding:
    if not evidence.of(Phase.WIPC):
        return deviated("WIPC, then WDPC", "rounds without WIPC")
    return met("WIPC as a step of its own, then the rounds")


def _controlled(evidence: Evidence) -> Finding:
    """Write history by a purge, workload and data by what each step was given."""
    found = stimuli(evidence.samples)
    if not found:
        return not_reached("no step was completed")
    seed = evidence.manifest.conditions.seed
    return all_of([purge_first(evidence), met(f"{len(found)} steps with their stimuli, seed {seed}")])


CHECKS: Final[Checks] = {
    "PTS-GEN-07": _controlled,
    "PTS-DEF-10": _purged,
    "PTS-PRG-01": purge_first,
    "PTS-PRG-03": _purge_named,
    "PTS-PRE-01": _two_part_preconditioning,
    "PTS-PRE-05": _uninterrupted,
    "PTS-PRE-06": gap_before(Phase.ROUND),
    "PTS-FLOW-01": _common_flow,
    "PTS-TOOL-10": gaps_between(),
}
CASES: Final[Cases] = {"PTS-PRG-02": _without_purge}
