"""Checks a run against every requirement of the specification, with the table of all checks.

A requirement is shown in one of three ways, which are never added up: a check of the run's record (table.py);
a named test of openpts, for what every run does alike (proofs.toml); or not at all, with the reason
(reasons.toml).
"""

import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Any, Final

import msgspec

from openpts.analysis.steady_state import WINDOW_ROUNDS
from openpts.procedures.kit.standing import Standing, red_line_of
from openpts.record.reader import Run
from openpts.units import format_count, format_significant
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.verdict import Deviation, SteadyState, SteadyStateReport
from openpts_pages.texts import CELL_LONGEST, brief
from openpts_pts.conformance.catalogue import PTS, Level, Need, Requirement, catalogue
from openpts_pts.evidence.evidence import Cases, Checks, Evidence, RoundRecord, with_arguments
from openpts_pts.evidence.finding import (
    Finding,
    Status,
    all_of,
    built_in,
    deviated,
    met,
    not_applicable,
    not_reached,
    unverified,
)
from openpts_pts.evidence.settings import DISCLOSURE, FACTS, KEPT, SETTINGS, SETTINGS_CASES
from openpts_pts.evidence.stimulus import (
    MEASURED,
    SEQUENCE,
    SEQUENCE_CASES,
    TrackedMinute,
    minutes_of,
    tracked_verdicts,
)
from openpts_pts.shared.demand import checks as demand
from openpts_pts.shared.demand.checks import tracked_iops, tracked_window
from openpts_pts.shared.rounds.checks import if_not_steady, until_steady, verdicts


def _judged(evidence: Evidence) -> list[tuple[str, SteadyStateReport | None]]:
    if evidence.manifest.conditions.steady_state is SteadyState.ROUNDS:
        return verdicts(evidence)
    judged = tracked_verdicts(evidence)
    if tracked_iops(evidence):
        judged.append(("TC 32 QD 32", tracked_window(evidence)))
    return judged


def _never_steady(evidence: Evidence) -> bool:
    return evidence.manifest.conditions.steady_state is SteadyState.NONE


def _rule(
    evidence: Evidence, holds: Callable[[SteadyStateReport], bool], text: Callable[[SteadyStateReport], str]
) -> Finding:
    if _never_steady(evidence):
        return not_applicable("the test does not look for steady state")
    judged = _judged(evidence)
    reports = [(name, report) for name, report in judged if report is not None]
    if not reports:
        return not_reached(f"no window of {WINDOW_ROUNDS} rounds")
    broken = [(name, report) for name, report in reports if not holds(report)]
    if broken:
        name, report = broken[0]
        return not_reached(f"not steady: {name} {text(report)}")
    return met("; ".join(f"{name} {text(report)}" for name, report in reports))


def _steady_window(evidence: Evidence) -> Finding:
    if _never_steady(evidence):
        return not_applicable("the test does not look for steady state")
    reports = [report for _, report in _judged(evidence) if report is not None]
    return all_of(
        met(f"rounds {report.rounds[0]} to {report.rounds[-1]}")
        if len(report.rounds) == WINDOW_ROUNDS
        else deviated(f"{WINDOW_ROUNDS} rounds", f"{len(report.rounds)} rounds")
        for report in reports
    )


def _results_are_steady(evidence: Evidence) -> Finding:
    if evidence.manifest.conditions.steady_state in {SteadyState.NONE, SteadyState.MINUTES}:
        return not_applicable("the test shows the course of performance by design")
    if not evidence.outcomes:
        return not_reached(evidence.ending)
    if evidence.steady:
        return met(f"steady in round {evidence.outcomes[0].steady_round}")
    return not_reached(f"not steady after {evidence.outcomes[0].last_round} rounds; reported as such")


def _full_passes(evidence: Evidence) -> Finding:
    sizes = {len(found.samples) for found in evidence.rounds(Phase.ROUND)}
    if not sizes:
        return not_reached("no round was completed")
    if len(sizes) > 1:
        return deviated("all test points in every round", f"between {min(sizes)} and {max(sizes)}")
    return met(f"{sizes.pop()} test points in every round")


def _if_steady(evidence: Evidence) -> Finding | None:
    if not evidence.outcomes:
        return not_reached(evidence.ending)
    return None if evidence.steady else not_applicable("steady state was not reached")


_STEADY: Final = with_arguments(
    _rule,
    lambda r: r.steady,
    lambda r: (
        f"range {format_significant(r.range_pct)} %, slope {format_significant(r.slope_excursion_pct)} %"
    ),
)


STEADY: Final[Checks] = {
    "PTS-GEN-06": _results_are_steady,
    "PTS-DEF-05": _steady_window,
    "PTS-DEF-07": _full_passes,
    "PTS-SS-01": with_arguments(
        _rule, lambda r: r.range_ok, lambda r: f"range {format_significant(r.range_pct)} %"
    ),
    "PTS-SS-02": with_arguments(
        _rule, lambda r: r.slope_ok, lambda r: f"slope {format_significant(r.slope_excursion_pct)} %"
    ),
    "PTS-SS-03": _STEADY,
    "PTS-SS-04": _STEADY,
    "PTS-SS-05": _STEADY,
    "PTS-SS-07": until_steady,
    "PTS-FLOW-03": until_steady,
}
STEADY_CASES: Final[Cases] = {"PTS-FLOW-04": _if_steady, "PTS-FLOW-05": if_not_steady}


_OF_EACH: Final[dict[str, Any]] = {name: procedure.part("checks") for name, procedure in PTS.items()}


def _loops_in_order(evidence: Evidence) -> Finding:
    """The loops of each test, by what shows best that they ran in order (PTS 2.4.2)."""
    found: Finding = _OF_EACH[evidence.test].ORDER(evidence)
    return found


CHECKS: Final[Checks] = {
    "PTS-GEN-09": _loops_in_order,
    "PTS-DEF-12": demand.has_cpu,
    **SETTINGS,
    **SEQUENCE,
    **STEADY,
    **FACTS,
    **MEASURED,
    **KEPT,
    **{id_: check for checks in _OF_EACH.values() for id_, check in checks.CHECKS.items()},
}

CASES: Final[Cases] = {
    **SETTINGS_CASES,
    **SEQUENCE_CASES,
    **STEADY_CASES,
    **{id_: case for checks in _OF_EACH.values() for id_, case in getattr(checks, "CASES", {}).items()},
}


class ReasonKind(StrEnum):
    """Why a requirement is not settled, by the name of its table in reasons.toml."""

    OPERATOR = "operator"
    READER = "reader"
    RECORD = "record"
    PARTLY = "partly"


_TITLES = {
    ReasonKind.OPERATOR: "left to the operator",
    ReasonKind.READER: "for the reader",
    ReasonKind.RECORD: "not in the record",
    ReasonKind.PARTLY: "in part",
}


class Reason(msgspec.Struct, frozen=True):
    """The kind of the reason, and what openpts does instead, or lacks."""

    kind: ReasonKind
    text: str

    def __str__(self) -> str:
        return f"{_TITLES[self.kind]}: {self.text}"


@cache
def reasons() -> dict[str, Reason]:
    """All of them by the requirement's ID."""
    file = resources.files("openpts_pts.conformance") / "reasons.toml"
    tables = msgspec.convert(
        tomllib.loads(file.read_text(encoding="utf-8")), dict[ReasonKind, dict[str, str]]
    )
    return {
        requirement_id: Reason(kind, text)
        for kind, entries in tables.items()
        for requirement_id, text in entries.items()
    }


@cache
def proofs() -> dict[str, tuple[str, ...]]:
    """Tests by the requirement that they prove: ``packages/NAME/tests/unit/test_x.py::test_...``."""
    file = resources.files("openpts_pts.conformance") / "proofs.toml"
    return msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), dict[str, tuple[str, ...]])


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
            phase = Phase(what)
            return None if evidence.of(phase, need.number) else _why(evidence, _no_step(phase, need.number))


def _no_window(evidence: Evidence) -> Finding | None:
    match evidence.manifest.conditions.steady_state:
        case SteadyState.NONE:
            return not_applicable("the test does not look for steady state")
        case SteadyState.MINUTES:
            return _fewer_than_window(evidence, minutes_of(evidence))
        case _:
            return _fewer_than_window(evidence, evidence.rounds(Phase.ROUND))


def _fewer_than_window(evidence: Evidence, rounds: Sequence[RoundRecord | TrackedMinute]) -> Finding | None:
    most = max(Counter(found.cycle for found in rounds).values(), default=0)
    if most >= WINDOW_ROUNDS:
        return None
    return _why(evidence, f"{most} of {WINDOW_ROUNDS} rounds for a window")


def _no_step(phase: Phase, number: int | None) -> str:
    name = str(phase).replace("_", " ")
    return f"no {name}{'' if number is None else f' {number}'} was completed"


def _why(evidence: Evidence, text: str) -> Finding:
    return not_reached(text if evidence.finished else f"{text}: {evidence.ending}")


class Conformance(msgspec.Struct, frozen=True):
    """The state of one requirement in a run."""

    requirement: Requirement
    finding: Finding

    @property
    def status(self) -> Status:
        """The finding's."""
        return self.finding.status


def conformance_of(run: Run) -> tuple[Conformance, ...]:
    """One entry for each requirement, in the order of the catalogue.

    A requirement about what did not happen in the run is neither met nor built in. Deviated: the ledger has
    it. Met or deviated: a check of the record decides. Built in: every run does it alike, and the tests that
    prove it are named.
    """
    evidence = Evidence(run)
    ledger: dict[str, list[Deviation]] = {}
    for entry in run.ledger:
        ledger.setdefault(entry.rule_id, []).append(entry)
    return tuple(
        Conformance(requirement, _finding(requirement, evidence, ledger.get(requirement.id, [])))
        for requirement in catalogue()
    )


def deviated_shalls(conformances: Iterable[Conformance]) -> list[Conformance]:
    """The shall-requirements that deviated."""
    return [
        each
        for each in conformances
        if each.status is Status.DEVIATED and each.requirement.level is Level.SHALL
    ]


def count_line(conformances: Iterable[Conformance]) -> str:
    """``171 of 176 shall-requirements checked on the record are met; 5 deviated``; no other kind counts."""
    counts = Counter(c.status for c in conformances if c.requirement.level is Level.SHALL)
    met, broken = counts[Status.MET], counts[Status.DEVIATED]
    if not met + broken:
        return "no shall-requirement could be checked on the record"
    line = f"{met} of {met + broken} shall-requirements checked on the record are met"
    return f"{line}; {broken} deviated" if broken else line


def counts_by_level(conformances: Iterable[Conformance]) -> dict[Status, dict[Level, int]]:
    """How many requirements of each level have each status."""
    counts = {status: dict.fromkeys(Level, 0) for status in Status}
    for each in conformances:
        counts[each.status][each.requirement.level] += 1
    return counts


def _finding(requirement: Requirement, evidence: Evidence, entries: list[Deviation]) -> Finding:
    if evidence.test not in requirement.tests:
        return not_applicable(f"binds {', '.join(test.upper() for test in requirement.tests)}")
    # an entry under the rule of disclosure names a departure that no other rule is about: it is disclosed
    if entries and requirement.id != DISCLOSURE:
        return deviated(
            "; ".join(dict.fromkeys(entry.required for entry in entries)),
            "; ".join(dict.fromkeys(entry.used for entry in entries)),
        )
    if (reason := missing(evidence, requirement.needs)) is not None:
        return reason
    if (imported := evidence.run.manifest.imported) is not None:
        return unverified(f"imported from {imported.tool}: not measured by openpts")
    if (check := CHECKS.get(requirement.id)) is not None:
        return check(evidence)
    if (case := CASES.get(requirement.id)) is not None and (exempt := case(evidence)) is not None:
        return exempt
    return _without_check(requirement.id)


def _without_check(requirement_id: str) -> Finding:
    reason = reasons().get(requirement_id)
    if tests := proofs().get(requirement_id):
        return built_in(tests, str(reason) if reason else "")
    if reason is None:
        return unverified("openpts has no check and no test for it")
    return not_applicable(str(reason)) if reason.kind is ReasonKind.READER else unverified(str(reason))


_BEYOND = "This test is not part of the specification, so no result can be conformant with it."


def requirements_of(run: Run) -> tuple[Conformance, ...]:
    """The state of each requirement of the specification in a run; none of a test beyond it."""
    return conformance_of(run) if run.manifest.conditions.of_specification else ()


def standing_of(run: Run, requirements: tuple[Conformance, ...] | None = None) -> Standing:
    """Judge a run from its facts; ``requirements`` are its own, if they are known already.

    Conformant is only a finished, uncut run of openpts itself on a raw device that exists, whose ledger is
    empty, and whose record shows no other deviation from a requirement.
    """
    red_line = red_line_of(run)
    if not run.manifest.conditions.of_specification:
        return Standing(red_line, conformant=False, bottom_line=_BEYOND)
    everything = requirements_of(run) if requirements is None else requirements
    broken = deviated_shalls(everything)
    return Standing(
        red_line,
        conformant=not (run.ledger or red_line or broken),
        bottom_line=_bottom_line(run, red_line, broken),
        requirements=count_line(everything),
    )


def _bottom_line(run: Run, red_line: str, broken: Sequence[Conformance]) -> str:
    revision = run.manifest.conditions.drive_class.revision
    if run.ledger:
        count = format_count(len(run.ledger), "deviation")
        return f"{count} from {revision} recorded: compare figures only with runs that deviate alike."
    reason = red_line or "; ".join(f"{each.requirement.id}: {each.finding}" for each in broken)
    if reason:
        return (
            f"No deviation from {revision} is recorded, but the run can't be called conformant: "
            f"{brief(reason, CELL_LONGEST)}."
        )
    return f"No deviation recorded: this run is conformant with {revision}."
