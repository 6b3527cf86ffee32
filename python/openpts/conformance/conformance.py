"""Holds a run against every requirement of the specification, from its record alone."""

from collections import Counter
from collections.abc import Iterable

import msgspec

from openpts.conformance.catalogue import Level, Requirement, catalogue
from openpts.conformance.checks.facts import DISCLOSURE
from openpts.conformance.checks.table import CHECKS
from openpts.conformance.evidence import Evidence
from openpts.conformance.finding import (
    Finding,
    Status,
    deviated,
    met,
    not_applicable,
    unverified,
)
from openpts.conformance.needs import missing
from openpts.conformance.places import places
from openpts.conformance.unimplemented import FOR_READER, unimplemented
from openpts.record.reader import Run
from openpts.vocabulary.deviation import Deviation


class Conformance(msgspec.Struct, frozen=True):
    """How one requirement stands in a run."""

    requirement: Requirement
    finding: Finding

    @property
    def status(self) -> Status:
        """The finding's."""
        return self.finding.status


def conformance_of(run: Run) -> tuple[Conformance, ...]:
    """One entry for each requirement, in the order of the catalogue.

    Never met is what did not happen in the run. What the ledger has is deviated; what the record shows is
    checked there; what holds by the way openpts is built names the place.
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
    """What shall be and was otherwise."""
    return [
        each
        for each in conformances
        if each.status is Status.DEVIATED and each.requirement.level is Level.SHALL
    ]


def count_line(conformances: Iterable[Conformance]) -> str:
    """``310 of 352 shall-requirements met``, of those that bind this run, and how the others stand."""
    counts = Counter(c.status for c in conformances if c.requirement.level is Level.SHALL)
    binding = sum(counts.values()) - counts[Status.NOT_APPLICABLE]
    others = [
        f"{counts[status]} {status}"
        for status in (Status.DEVIATED, Status.NOT_REACHED, Status.UNVERIFIED)
        if counts[status]
    ]
    line = f"{counts[Status.MET]} of {binding} shall-requirements met"
    return f"{line}; {', '.join(others)}" if others else line


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
    return _by_construction(requirement.id)


def _by_construction(requirement_id: str) -> Finding:
    exception = unimplemented().get(requirement_id)
    if where := places().get(requirement_id):
        missing_part = f"; {exception}" if exception else ""
        return met(f"by construction: {where[0]}{missing_part}")
    if exception is None:
        return unverified("no part of openpts is known to do it")
    return not_applicable(str(exception)) if exception.kind == FOR_READER else unverified(str(exception))
