"""Verdicts: each requirement with its checks, from the answers and measured figures alone."""

import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Final

from msgspec import Struct

from openpts_nvme.dssd import descriptors, structures
from openpts_nvme.dssd.answers import NOT_ASKED, Answers
from openpts_nvme.dssd.rules import (
    DssdRequirement,
    RequirementKind,
    RuleOutcome,
    State,
    checks,
    identifiers,
    requirements,
    sources,
)

_PLACE: Final = re.compile(r"\{#(\d+)\+(\d+)\}")


class RequirementVerdict(StrEnum):
    """What is known of a requirement. DECLARED: log C5h lists it as unsupported."""

    MET = "met"
    NOT_MET = "not met"
    DECLARED = "said unsupported"
    NOT_APPLICABLE = "not applicable"
    NOT_CHECKED = "not checked"
    NOT_CHECKABLE = "not checkable"


class Judged(Struct, frozen=True):
    """A requirement with its verdict, and the outcomes that it rests on.

    ``contradicts``: the drive says that it does not support what was found to hold.
    """

    requirement: DssdRequirement
    verdict: RequirementVerdict
    outcomes: tuple[RuleOutcome, ...]
    contradicts: bool = False

    @property
    def why(self) -> str:
        """The finding first, then its reason."""
        failed = [each for each in self.outcomes if each.state is State.NOT_MET]
        if failed:
            more = f"; {len(failed) - 1} more" if len(failed) > 1 else ""
            return f"{failed[0].seen}; asked: {failed[0].asked}{more}"
        if self.requirement.kind is RequirementKind.OUT:
            return self.requirement.why_not
        lacking = [each.seen for each in self.outcomes if each.state is State.NOT_CHECKED and each.seen]
        if self.verdict is RequirementVerdict.NOT_CHECKED:
            return lacking[0] if lacking else "nothing that it concerns was found"
        if self.requirement.kind is RequirementKind.DECLARED:
            return "left to the drive: log C5h does not list it"
        met = [each for each in self.outcomes if each.state is State.MET]
        return met[0].seen if met else "its condition does not hold"


@cache
def lines() -> dict[str, tuple[str, ...]]:
    """Checks of one line each, by requirement."""
    found: dict[str, tuple[str, ...]] = {}
    folder = files(__package__).joinpath("lines")
    for file in folder.iterdir():
        if not file.name.endswith(".toml"):
            continue
        for key, value in tomllib.loads(file.read_text()).items():
            texts = [value] if isinstance(value, str) else value
            for index, identifier in enumerate(identifiers(key)):
                found[identifier] = found.get(identifier, ()) + tuple(_at(text, index) for text in texts)
    return found


def _at(text: str, index: int) -> str:
    """A line of the requirement at this place of a range."""
    return _PLACE.sub(lambda place: str(int(place[1]) + int(place[2]) * index), text)


@cache
def asked_sources() -> frozenset[str]:
    """All that some check looks at."""
    of_lines = (sources(line) for texts in lines().values() for line in texts)
    return frozenset[str]().union(*of_lines) | structures.SOURCES | descriptors.SOURCES


def judge(answers: Answers) -> tuple[Judged, ...]:
    """All requirements in the specification's order."""
    outcomes: dict[str, list[RuleOutcome]] = {}
    for identifier, texts in lines().items():
        outcomes[identifier] = [each.outcome(answers) for line in texts for each in checks(line)]
    for check in (*structures.CHECKS, descriptors.telemetry):
        for identifier, outcome in check(answers):
            outcomes.setdefault(identifier, []).append(outcome)
    was_searched = not answers.get("A1", NOT_ASKED).words
    listed = frozenset(structures.unsupported(answers))
    return tuple(
        _judged(
            requirement,
            tuple(outcomes.get(identifier, ())),
            is_listed=identifier in listed,
            is_absent=was_searched and identifier.startswith(descriptors.CONCERNS),
        )
        for identifier, requirement in requirements().items()
    )


def _judged(
    requirement: DssdRequirement, outcomes: tuple[RuleOutcome, ...], *, is_listed: bool, is_absent: bool
) -> Judged:
    """``is_absent``: the checks of its kind looked for it, and there was nothing that it concerns."""
    states = {each.state for each in outcomes}
    if State.NOT_MET in states:
        verdict = RequirementVerdict.DECLARED if is_listed else RequirementVerdict.NOT_MET
        return Judged(requirement, verdict, outcomes)
    if is_listed:
        return Judged(requirement, RequirementVerdict.DECLARED, outcomes, contradicts=State.MET in states)
    if requirement.kind is not RequirementKind.HOST:
        return Judged(requirement, RequirementVerdict.NOT_CHECKABLE, outcomes)
    if not outcomes and is_absent:
        return Judged(requirement, RequirementVerdict.NOT_APPLICABLE, outcomes)
    if State.NOT_CHECKED in states or not outcomes:
        return Judged(requirement, RequirementVerdict.NOT_CHECKED, outcomes)
    verdict = RequirementVerdict.MET if State.MET in states else RequirementVerdict.NOT_APPLICABLE
    return Judged(requirement, verdict, outcomes)


def counts(judged: tuple[Judged, ...]) -> Mapping[RequirementVerdict, int]:
    """How many requirements have each verdict."""
    found = Counter(each.verdict for each in judged)
    return {verdict: found[verdict] for verdict in RequirementVerdict}
