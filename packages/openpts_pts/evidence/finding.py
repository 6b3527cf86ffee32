"""The result of checking one requirement against a run."""

from collections.abc import Iterable
from enum import StrEnum
from functools import partial
from typing import Final

import msgspec

_MOST_NOTES: Final = 3


class Status(StrEnum):
    """The state of a requirement in a run; states of different kinds are never added up.

    MET and DEVIATED: checked on the run's record. BUILT_IN: every run does it alike, as named tests of
    openpts prove; the record of this one does not show it. UNVERIFIED: neither record nor test shows it.
    NOT_REACHED: what it is about never happened in this run. NOT_APPLICABLE: it binds another test, an
    option that was not taken, or a case that did not arise.
    """

    MET = "met"
    DEVIATED = "deviated"
    BUILT_IN = "built in"
    UNVERIFIED = "not verifiable"
    NOT_REACHED = "not reached"
    NOT_APPLICABLE = "not applicable"


STATUS_TITLES: Final = {
    Status.MET: "Checked on this run's record: met",
    Status.DEVIATED: "Checked on this run's record: deviated",
    Status.BUILT_IN: "Built in, proven by a named test",
    Status.UNVERIFIED: "Not verifiable here",
    Status.NOT_REACHED: "Not reached in this run",
    Status.NOT_APPLICABLE: "Not applicable to this run",
}


class Finding(msgspec.Struct, frozen=True):
    """A status with what supports it: ``note``, or for a deviation what was required and what was used.

    ``tests`` are those that prove what is built in; its note says what is missing of it, if anything is.
    """

    status: Status
    note: str = ""
    required: str = ""
    used: str = ""
    tests: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.status is Status.DEVIATED:
            return f"required {self.required}; used {self.used}"
        return "; ".join(filter(None, (", ".join(self.tests), self.note)))


# Each is made with its note: what the record shows, or why nothing does.
met: Final = partial(Finding, Status.MET)
not_reached: Final = partial(Finding, Status.NOT_REACHED)
not_applicable: Final = partial(Finding, Status.NOT_APPLICABLE)
unverified: Final = partial(Finding, Status.UNVERIFIED)


def deviated(required: str, used: str) -> Finding:
    """Deviated: the record shows something else."""
    return Finding(Status.DEVIATED, required=required, used=used)


def built_in(tests: tuple[str, ...], note: str = "") -> Finding:
    """The finding of a requirement that ``tests`` prove; ``note`` is what the proof lacks."""
    return Finding(Status.BUILT_IN, note, tests=tests)


def met_if(holds: bool, required: str, used: str) -> Finding:
    """Met with what was used as its evidence, or deviated from what was required."""
    return met(used) if holds else deviated(required, used)


def all_of(findings: Iterable[Finding]) -> Finding:
    """The first that isn't met; else met, with all their notes, each once."""
    several = list(findings)
    if not several:
        return not_reached("no such step was completed")
    if broken := [finding for finding in several if finding.status is not Status.MET]:
        return broken[0]
    notes = list(dict.fromkeys(finding.note for finding in several))
    more = f"; and {len(notes) - _MOST_NOTES} others" if len(notes) > _MOST_NOTES else ""
    return met("; ".join(notes[:_MOST_NOTES]) + more)
