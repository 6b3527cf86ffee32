"""One setting of the host audit: what it does to a measurement, which values are right, what to do."""

import re
from collections.abc import Callable
from enum import StrEnum
from typing import Final

from msgspec import Struct

from openpts.vocabulary.facts import Scenario

Suits = tuple[Scenario, ...]
BOTH: Final[Suits] = (Scenario.REAL_WORLD, Scenario.SYNTHETIC)
SHIPPED: Final[Suits] = (Scenario.REAL_WORLD,)
TUNED: Final[Suits] = (Scenario.SYNTHETIC,)
NEITHER: Final[Suits] = ()

RECORDED: Final = "any (recorded)"
"""The advice where no value is better than another."""
END_IT: Final = "end it yourself (openpts ends no programs of others)"
COMMAND_LINE: Final = "change the kernel's command line and restart the machine"
"""What the operator can do, where several settings have it in common."""


class Group(StrEnum):
    """Which part of the machine a setting belongs to."""

    PROCESSOR = "Processor"
    QUEUE = "Drive's queue in the kernel"
    LINK = "Drive's link and power"
    MEMORY = "Memory"
    MACHINE = "Machine"
    OTHER_WORK = "Other work"


class Grade(StrEnum):
    """How well a value suits a scenario, the worst first."""

    BAD = "bad"
    UNKNOWN = "unknown"
    NOTE = "note"
    GOOD = "good"


class Advice(Struct, frozen=True):
    """One line of the audit. ``real_world`` and ``synthetic`` are the right values, ``reason`` is the effect.

    ``suits`` gives the scenarios for which a value is right; None: it is recorded and not judged. ``remedy``
    is what the operator can do; empty: openpts can change the setting, or it is not judged. ``is_state``: it
    changes by itself, and the value before the run counts. ``is_minor``: a value that is right for the other
    scenario changes results little. ``requirements`` are those of the guide.
    """

    group: Group
    key: str
    title: str
    real_world: str
    synthetic: str
    reason: str
    suits: Callable[[str], Suits | None] | None = None
    requirements: tuple[str, ...] = ()
    remedy: str = ""
    is_state: bool = False
    is_minor: bool = False

    def wanted(self, scenario: Scenario) -> str:
        """The right value for the scenario."""
        return self.real_world if scenario is Scenario.REAL_WORLD else self.synthetic

    def grade(self, value: str | None, scenario: Scenario) -> Grade:
        """How well the value suits the scenario; None is a value that could not be read."""
        if value is None:
            return Grade.UNKNOWN
        suits = None if self.suits is None else self.suits(value)
        if suits is None:
            return Grade.NOTE
        if scenario in suits:
            return Grade.GOOD
        return Grade.NOTE if self.is_minor and suits else Grade.BAD


def either(otherwise: Suits = SHIPPED, **kinds: Suits) -> Callable[[str], Suits]:
    """By the value itself; a value that is not named was chosen by the operator: real-world at best."""
    return lambda value: kinds.get(value, otherwise)


def where_there_is_one(suits: Callable[[str], Suits]) -> Callable[[str], Suits]:
    """For what not every drive has: a value that begins with ``none (`` suits both."""
    return lambda value: BOTH if value.startswith("none (") else suits(value)


def first_number(value: str) -> float | None:
    """The number at the beginning of a text."""
    match = re.match(r"\d+(?:\.\d+)?", value)
    return float(match[0]) if match else None


def starts_with(text: str, *, right: Suits = BOTH, otherwise: Suits = NEITHER) -> Callable[[str], Suits]:
    """``right`` if the value begins with the text."""
    return lambda value: right if value.startswith(text) else otherwise
