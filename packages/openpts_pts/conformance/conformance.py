"""Checks a run against every requirement of the specification.

A requirement is shown in one of three ways, which are never added up: a check of the run's record (table.py);
a named test of openpts, for what every run does alike (proofs.toml); or not at all, with the reason
(reasons.toml).
"""

import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import cache
from importlib import resources

import msgspec

from openpts.analysis.steady_state import WINDOW_ROUNDS
from openpts.record.reader import Run
from openpts.vocabulary.deviation import Deviation
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.verdict import SteadyState
from openpts_pts.conformance.catalogue import Level, Need, Requirement, catalogue
from openpts_pts.conformance.table import CASES, CHECKS
from openpts_pts.evidence.evidence import Evidence, RoundRecord
from openpts_pts.evidence.facts import DISCLOSURE
from openpts_pts.evidence.finding import (
    Finding,
    Status,
    built_in,
    deviated,
    not_applicable,
    not_reached,
    unverified,
)
from openpts_pts.evidence.tracking import TrackedMinute, minutes_of


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
