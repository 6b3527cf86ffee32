"""The requirements of four guides beside the specification, and what a run shows of them.

They bind no test and count in no report: `openpts verify --guide` shows them.
"""

import tomllib
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from importlib import resources

import msgspec

from openpts.record.reader import Run
from openpts_host.advice.advice import Advice, Grade
from openpts_host.advice.table import ADVICE
from openpts_pts.conformance.catalogue import GUIDES, by_id
from openpts_pts.conformance.conformance import missing, proofs
from openpts_pts.conformance.table import CHECKS
from openpts_pts.evidence.evidence import Evidence
from openpts_pts.evidence.finding import Finding, all_of, built_in, deviated, met, not_applicable, unverified


class GuideStatus(StrEnum):
    """How a requirement of a guide is shown, or why it is not."""

    CHECKED = "checked"
    BUILT_IN = "built in"
    OPERATOR = "left to the operator"
    OUTSIDE = "outside"
    MISSING = "not met"


class Practice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One requirement: ``clause`` is its place in the guide, ``text`` what it asks, in openpts' words.

    ``like`` are requirements of the specification that ask the same, and whose checks are its own. One of the
    others may say why it is not shown, or, ``partly``, what of it is not.
    """

    clause: str
    text: str
    like: tuple[str, ...] = ()
    operator: str = ""
    outside: str = ""
    missing: str = ""
    partly: str = ""

    @property
    def tests(self) -> tuple[str, ...]:
        """The tests whose records show it; empty for all."""
        bound = [set(by_id()[id_].tests) for id_ in self.like]
        return tuple(sorted(set.intersection(*bound))) if bound else ()

    @property
    def note(self) -> str:
        """Why it is not shown, or not as a whole."""
        return self.operator or self.outside or self.missing or self.partly


@cache
def practices(guide: str) -> dict[str, Practice]:
    """The requirements of a guide by their IDs, in its order."""
    file = resources.files("openpts_pts.conformance") / "guides" / f"{guide}.toml"
    return msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), dict[str, Practice])


@cache
def all_practices() -> dict[str, Practice]:
    """The requirements of all guides by their IDs."""
    return {id_: practice for guide in GUIDES for id_, practice in practices(guide).items()}


def settings_of(id_: str) -> tuple[Advice, ...]:
    """The settings of the host audit that a requirement is about, as far as the audit judges them."""
    return tuple(one for one in ADVICE if id_ in one.requirements and one.suits is not None)


def answer_of(id_: str, proven: Mapping[str, object]) -> GuideStatus:
    """How a requirement is shown, where ``proven`` has those that named tests prove."""
    practice = all_practices()[id_]
    answers = {
        GuideStatus.OPERATOR: practice.operator,
        GuideStatus.OUTSIDE: practice.outside,
        GuideStatus.MISSING: practice.missing,
        GuideStatus.CHECKED: practice.like,
        GuideStatus.BUILT_IN: id_ in proven,
    }
    otherwise = GuideStatus.CHECKED if settings_of(id_) else GuideStatus.MISSING
    return next((answer for answer, holds in answers.items() if holds), otherwise)


def findings(run: Run, guide: str) -> dict[str, Finding]:
    """What the run shows of each requirement of a guide."""
    evidence = Evidence(run)
    return {id_: _finding(id_, practice, run, evidence) for id_, practice in practices(guide).items()}


def _finding(id_: str, practice: Practice, run: Run, evidence: Evidence) -> Finding:
    match answer_of(id_, proofs()):
        case GuideStatus.CHECKED if practice.like:
            return _like(practice, evidence)
        case GuideStatus.CHECKED:
            return _settings(settings_of(id_), run)
        case GuideStatus.BUILT_IN:
            return built_in(proofs()[id_], practice.note)
        case GuideStatus.OUTSIDE:
            return not_applicable(practice.note)
        case answer:
            return unverified(f"{answer}: {practice.note or 'openpts has no check and no test for it'}")


def _like(practice: Practice, evidence: Evidence) -> Finding:
    if evidence.test not in practice.tests:
        return not_applicable(f"is about {', '.join(test.upper() for test in practice.tests)}")
    return all_of(missing(evidence, by_id()[id_].needs) or CHECKS[id_](evidence) for id_ in practice.like)


def _settings(settings: tuple[Advice, ...], run: Run) -> Finding:
    """Met if no setting is wrong for the run's scenario, as the host audit found them before the run."""
    scenario, known = run.manifest.scenario, []
    if run.manifest.target.simulation is not None or scenario is None:
        return not_applicable("a simulated drive has no host, and an imported run no scenario")
    for advice in settings:
        fact = run.manifest.host_before.get(advice.key)
        value = None if fact is None else fact.value
        if advice.grade(value, scenario) is Grade.BAD:
            return deviated(f"{advice.title}: {advice.wanted(scenario)}", str(value))
        known += [] if value is None else [f"{advice.title}: {value}"]
    return met("; ".join(known)) if known else unverified("the host does not report it")
