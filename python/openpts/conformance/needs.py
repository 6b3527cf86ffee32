"""Whether a run got far enough for a requirement."""

from openpts.analysis.steady_state import WINDOW_ROUNDS
from openpts.conformance.catalogue import Need
from openpts.evidence.evidence import Evidence
from openpts.evidence.finding import Finding, not_applicable, not_reached
from openpts.evidence.tracking import minutes_of, tracking_part
from openpts.vocabulary.part import Part

_TRACKED_TESTS = frozenset({"wsat", "hir"})
_UNTRACKED_TESTS = frozenset({"xsr"})


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
            return _fewer_than_window(evidence, tracking_part(evidence))
        case what:
            part = Part(what)
            return None if evidence.of(part, need.number) else _why(evidence, _no_step(part, need.number))


def _no_window(evidence: Evidence) -> Finding | None:
    if evidence.test in _UNTRACKED_TESTS:
        return not_applicable("the test does not look for steady state")
    part = tracking_part(evidence) if evidence.test in _TRACKED_TESTS else Part.ROUND
    return _fewer_than_window(evidence, part)


def _fewer_than_window(evidence: Evidence, part: Part) -> Finding | None:
    rounds = evidence.rounds(part) if part is Part.ROUND else minutes_of(evidence)
    most = max((sum(r.cycle == cycle for r in rounds) for cycle in evidence.tested_cycles), default=0)
    if most >= WINDOW_ROUNDS:
        return None
    return _why(evidence, f"{most} of {WINDOW_ROUNDS} rounds for a window")


def _no_step(part: Part, number: int | None) -> str:
    name = str(part).replace("_", " ")
    return f"no {name}{'' if number is None else f' {number}'} was completed"


def _why(evidence: Evidence, text: str) -> Finding:
    return not_reached(text if evidence.finished else f"{text}: {evidence.ending}")
