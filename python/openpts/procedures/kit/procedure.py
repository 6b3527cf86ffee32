"""What makes a test: all that a runner, a plan or the command line asks for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from openpts.procedures.conditions import TestConditions
from openpts.procedures.kit.ledger import Rule
from openpts.vocabulary.conditions import DriveClass
from openpts.vocabulary.requests import Script


@dataclass(frozen=True, slots=True)
class TestDefinition:
    """One test: its standard conditions, its script, and the rules of its ledger.

    ``section`` is that of the specification, None for a test of the practice beyond it. ``script`` takes
    conditions of the kind that ``standard_conditions`` makes, and the user capacity in bytes; typed loosely,
    since each test has its own. ``possible_on`` leaves out what a device with sectors of so many bytes can't
    do, ``without_data`` what a simulated drive can't, which keeps no data. ``purges``: whether the script
    asks for any purge.
    """

    __test__ = False  # the name is the field's, not pytest's

    name: str
    title: str
    section: int | None
    standard_conditions: Callable[[DriveClass, int], TestConditions]
    script: Callable[[Any, int], Script]
    rules: Sequence[Rule] = ()
    possible_on: Callable[[Any, int], Any] = lambda conditions, _sector_bytes: conditions
    without_data: Callable[[Any], Any] = lambda conditions: conditions
    purges: bool = True

    @property
    def source(self) -> str:
        """``PTS section 7``, or that the specification does not know it."""
        return "practice beyond PTS" if self.section is None else f"PTS section {self.section}"
