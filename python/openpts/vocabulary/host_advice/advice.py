"""What one line of the host audit is made of, and how a value is graded for a scenario."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from openpts.vocabulary.tuning import Scenario

Suits = tuple[Scenario, ...]
BOTH: Final[Suits] = (Scenario.REAL_WORLD, Scenario.SYNTHETIC)
SHIPPED: Final[Suits] = (Scenario.REAL_WORLD,)
TUNED: Final[Suits] = (Scenario.SYNTHETIC,)
NEITHER: Final[Suits] = ()


class Group(StrEnum):
    """Which part of the machine a setting belongs to."""

    PROCESSOR = "Processor"
    QUEUE = "Drive's queue in the kernel"
    LINK = "Drive's link and power"
    MEMORY = "Memory"
    MACHINE = "Machine"
    OTHER_WORK = "Other work"


class Grade(StrEnum):
    """How a value stands to a scenario, the worst first."""

    BAD = "bad"
    UNKNOWN = "unknown"
    NOTE = "note"
    GOOD = "good"


@dataclass(frozen=True, slots=True)
class Advice:
    """One line of the audit. ``suits`` says for which scenarios a value is right; None: it is only told.

    ``is_state``: it changes by itself, and the value before the run counts. ``is_minor``: a value that is
    right for the other scenario only moves a result by little. ``requirements`` are those of the guide.
    """

    key: str
    group: Group
    title: str
    real_world: str
    synthetic: str
    reason: str
    suits: Callable[[str], Suits | None] | None = None
    requirements: tuple[str, ...] = ()
    is_state: bool = False
    is_minor: bool = False

    def wanted(self, scenario: Scenario) -> str:
        """The advice for that scenario."""
        return self.real_world if scenario is Scenario.REAL_WORLD else self.synthetic

    def grade(self, value: str | None, scenario: Scenario) -> Grade:
        """How the value stands to the scenario; None is a value that nobody could read."""
        if value is None:
            return Grade.UNKNOWN
        suits = None if self.suits is None else self.suits(value)
        if suits is None:
            return Grade.NOTE
        if scenario in suits:
            return Grade.GOOD
        return Grade.NOTE if self.is_minor and suits else Grade.BAD


def either(otherwise: Suits = SHIPPED, **kinds: Suits) -> Callable[[str], Suits]:
    """By the value itself; others are what somebody chose, which real machines have at best."""
    return lambda value: kinds.get(value, otherwise)


def where_there_is_one(suits: Callable[[str], Suits]) -> Callable[[str], Suits]:
    """Of what not every drive has: right where a value says that there is none."""
    return lambda value: BOTH if value.startswith("none (") else suits(value)


def first_number(value: str) -> float | None:
    """The number that a text begins with."""
    match = re.match(r"\d+(?:\.\d+)?", value)
    return float(match[0]) if match else None


def starts_with(text: str, *, right: Suits = BOTH, otherwise: Suits = NEITHER) -> Callable[[str], Suits]:
    """Right where the value begins so."""
    return lambda value: right if value.startswith(text) else otherwise
