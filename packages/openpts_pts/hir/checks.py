"""Host idle recovery against section 11, with the specification's own numbers."""

from typing import Final

from openpts.units import KIB, NS_PER_S, format_duration
from openpts.vocabulary.sample import Phase, Sample
from openpts.vocabulary.stimulus import AccessPattern
from openpts.vocabulary.verdict import RoundPoint
from openpts_pts.evidence import settings
from openpts_pts.evidence import stimulus as applied
from openpts_pts.evidence.evidence import MINUTE_NS, Checks, Evidence, lasted, with_arguments
from openpts_pts.evidence.finding import Finding, all_of, deviated, met_if, not_applicable, not_reached
from openpts_pts.shared import spec_interpretations as spec

_WAIT_STATES: Final = (1, 2, 3, 5, 10)
_CYCLES: Final = 360
_ACCESS_NS: Final = 5 * NS_PER_S
_RETURN_NS: Final = 30 * MINUTE_NS
# Between two accesses the queue runs empty and fills again; a drive that needs long for it has pauses there.
_DRAINING: Final = 0.01
_POINT: Final = RoundPoint(AccessPattern.RANDOM, 4 * KIB, 0)
_MOST_TRACKING_ROUNDS: Final = 25


def _preconditioning(evidence: Evidence) -> Finding:
    found = settings.stimuli(evidence.of(Phase.WDPC))
    text = ", ".join(dict.fromkeys(str(stimulus) for stimulus in found))
    return met_if(all(_POINT.matches(stimulus) for stimulus in found), "RND 4 KiB 0/100", text)


def _stops_if_not_steady(evidence: Evidence) -> Finding:
    if not evidence.outcomes:
        return not_reached(evidence.ending)
    if evidence.steady:
        return not_applicable(f"steady in tracking round {evidence.outcomes[0].steady_round}")
    rounds = evidence.outcomes[0].last_round
    if evidence.of(Phase.WAIT_STATE):
        return deviated("no wait states", "wait states without steady state")
    return met_if(
        rounds >= _MOST_TRACKING_ROUNDS,
        "stopped after 25 tracking rounds",
        f"not steady, stopped after {rounds} tracking rounds",
    )


def _order(evidence: Evidence) -> Finding:
    places = (
        (step.place.phase, step.place.number)
        for step in evidence.steps
        if step.place.phase in {Phase.WAIT_STATE, Phase.RETURN_TO_BASELINE}
    )
    used = list(dict.fromkeys(places))
    required = [
        (phase, number) for number in _WAIT_STATES for phase in (Phase.WAIT_STATE, Phase.RETURN_TO_BASELINE)
    ]
    if not used:
        return not_reached("no wait states were run")
    text = ", ".join(str(number) for phase, number in used if phase is Phase.WAIT_STATE)
    if used != required and used == required[: len(used)] and not evidence.finished:
        return not_reached(f"wait states {text} so far: {evidence.ending}")
    return met_if(used == required, "1, 2, 3, 5, 10, each with its return", text)


def _wait_state(evidence: Evidence, number: int) -> Finding:
    """360 times 5 s of access A and number times 5 s without I/O."""
    samples = evidence.of(Phase.WAIT_STATE, number)
    accesses = [sample for sample in samples if not sample.step.is_idle]
    idles = [sample for sample in samples if sample.step.is_idle]
    idle_ns = number * _ACCESS_NS
    required = f"{_CYCLES} x ({format_duration(_ACCESS_NS)} of writes, {format_duration(idle_ns)} idle)"
    if not accesses or not idles:
        return deviated(required, f"{len(accesses)} accesses, {len(idles)} idle times")
    right = (
        len(accesses) == len(idles) == _CYCLES
        and all(_POINT.matches(sample.step.stimulus) for sample in accesses)
        and all(lasted(sample, _ACCESS_NS) for sample in accesses)
        and all(lasted(sample, idle_ns) for sample in idles)
    )
    return met_if(
        right,
        required,
        f"{len(accesses)} x ({_lengths(accesses)} of {accesses[0].step}, {_lengths(idles)} idle)",
    )


def _return_to_baseline(evidence: Evidence) -> Finding:
    findings = []
    for found in evidence.rounds(Phase.RETURN_TO_BASELINE):
        length_ns = sum(sample.elapsed_ns for sample in found.samples)
        right = (
            len(found.samples) == _CYCLES
            and all(lasted(sample, _ACCESS_NS) for sample in found.samples)
            and length_ns - _RETURN_NS <= _DRAINING * _RETURN_NS
            and all(_POINT.matches(sample.step.stimulus) for sample in found.samples)
        )
        used = f"{len(found.samples)} x {_lengths(list(found.samples))}, {format_duration(length_ns)}"
        findings.append(met_if(right, f"{_CYCLES} x 5.00 s, 30 min 0 s", used))
    return all_of(findings)


def _idle_means_no_commands(evidence: Evidence) -> Finding:
    idles = [sample for sample in evidence.of(Phase.WAIT_STATE) if sample.step.is_idle]
    ios = sum(sample.ios for sample in idles)
    return met_if(bool(idles) and ios == 0, "no command", f"{ios} I/Os in {len(idles)} idle times")


def _logged_per_access(evidence: Evidence) -> Finding:
    samples = [*evidence.of(Phase.WAIT_STATE), *evidence.of(Phase.RETURN_TO_BASELINE)]
    accesses = [sample for sample in samples if not sample.step.is_idle]
    longest = max((sample.elapsed_ns for sample in accesses), default=0)
    return met_if(
        0 < longest <= 2 * _ACCESS_NS, "every access A", f"{len(accesses)} accesses, each by itself"
    )


def _lengths(samples: list[Sample]) -> str:
    shortest, longest = (format_duration(f(s.elapsed_ns for s in samples)) for f in (min, max))
    return shortest if shortest == longest else f"{shortest} to {longest}"


CHECKS: Final[Checks] = {
    "PTS-HIR-01": settings.class_settings,
    "PTS-HIR-02": settings.class_settings,
    "PTS-HIR-03": applied.purge_first,
    "PTS-HIR-04": with_arguments(settings.recommended, "qd", 32, 16),
    "PTS-HIR-05": with_arguments(settings.recommended, "tc", 4, 2),
    "PTS-HIR-06": settings.random_data,
    "PTS-HIR-07": _preconditioning,
    "PTS-HIR-08": with_arguments(applied.logged_every_minute, Phase.WDPC),
    "PTS-HIR-09": lambda evidence: all_of(
        [applied.tracked_minutes(evidence), applied.preconditioned(evidence)]
    ),
    "PTS-HIR-10": _stops_if_not_steady,
    "PTS-HIR-11": _order,
    **{
        f"PTS-HIR-{12 + index}": with_arguments(_wait_state, number)
        for index, number in enumerate(_WAIT_STATES)
    },
    "PTS-HIR-17": _return_to_baseline,
    "PTS-HIR-18": _logged_per_access,
    "PTS-HIR-19": _idle_means_no_commands,
}
ORDER: Final = _order
INTERPRETATIONS: Final = (
    *spec.STEADY_STATE,
    *spec.TRACKED_MINUTES,
    spec.Interpretation(
        "11.2 (3.2)",
        "What follows if preconditioning is not steady after 25 tracking rounds.",
        "The test ends without wait states.",
    ),
    spec.Interpretation(
        "11.2 (4.1)",
        "Whether IOPS of an access count the idle time after it.",
        "The active time alone; access C is logged every 5 s as well.",
    ),
)
