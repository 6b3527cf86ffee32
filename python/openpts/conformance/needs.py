"""Whether a run got far enough for a requirement."""

from collections.abc import Sequence

from openpts.analysis.steady_state import WINDOW_ROUNDS
from openpts.conformance.catalogue import Need
from openpts.evidence.evidence import Evidence, RoundRecord
from openpts.evidence.finding import Finding, not_applicable, not_reached
from openpts.evidence.tracking import TrackedMinute, minutes_of
from openpts.vocabulary.part import Part
from openpts.vocabulary.verdict import SteadyState


def missing(evidence: Evidence, need: Need) -> Finding | None:
    """Why the requirement can't have been fulfilled in this run; None if it could."""
    match need.what:
        case "record":
            return None
        case "steps":
            return None if evidence.steps else _why(evidence, "no step was completed")
        case "purge":
            ran = any(purge.ran for purge in evidence.manifest.purges)
            return None if ran else _why(evidence, "no purge was run")
        case "cache":
            return None if evidence.manifest.write_caches else _why(evidence, "the cache was not read")
        case "result":
            return None if evidence.outcomes else _why(evidence, "the test was not completed")
        case "window":
            return _no_window(evidence)
        case "tracking_window":
            return _fewer_than_window(evidence, minutes_of(evidence))
        case what:
            part = Part(what)
            return None if evidence.of(part, need.number) else _why(evidence, _no_step(part, need.number))


def _no_window(evidence: Evidence) -> Finding | None:
    match evidence.manifest.conditions.steady_state:
        case SteadyState.NONE:
            return not_applicable("the test does not look for steady state")
        case SteadyState.MINUTES:
            return _fewer_than_window(evidence, minutes_of(evidence))
        case _:
            return _fewer_than_window(evidence, evidence.rounds(Part.ROUND))


def _fewer_than_window(evidence: Evidence, rounds: Sequence[RoundRecord | TrackedMinute]) -> Finding | None:
    most = max((sum(r.cycle == cycle for r in rounds) for cycle in evidence.tested_cycles), default=0)
    if most >= WINDOW_ROUNDS:
        return None
    return _why(evidence, f"{most} of {WINDOW_ROUNDS} rounds for a window")


def _no_step(part: Part, number: int | None) -> str:
    name = str(part).replace("_", " ")
    return f"no {name}{'' if number is None else f' {number}'} was completed"


def _why(evidence: Evidence, text: str) -> Finding:
    return not_reached(text if evidence.finished else f"{text}: {evidence.ending}")
