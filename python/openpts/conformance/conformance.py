"""Checks a run against every requirement of the specification.

A requirement is shown in one of three ways, which are never added up: a check of the run's record (checks/);
a named test of openpts, for what every run does alike (proofs.toml); or not at all, with the reason
(reasons.toml).
"""

from collections import Counter
from collections.abc import Iterable

import msgspec

from openpts.conformance.catalogue import Level, Requirement, catalogue
from openpts.conformance.needs import missing
from openpts.conformance.proofs import proofs
from openpts.conformance.reasons import ReasonKind, reasons
from openpts.conformance.table import CASES, CHECKS
from openpts.evidence.evidence import Evidence
from openpts.evidence.facts import DISCLOSURE
from openpts.evidence.finding import (
    Finding,
    Status,
    built_in,
    deviated,
    not_applicable,
    unverified,
)
from openpts.record.reader import Run
from openpts.vocabulary.deviation import Deviation


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
