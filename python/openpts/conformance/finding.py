"""What holding one requirement against a run came to."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

import msgspec

_MOST_NOTES: Final = 3


class Status(StrEnum):
    """How a requirement stands in a run.

    NOT_REACHED: what it is about never happened in this run. NOT_APPLICABLE: it binds another test, an
    option that was not taken, or a case that did not arise. UNVERIFIED: the record can't tell.
    """

    MET = "met"
    DEVIATED = "deviated"
    NOT_REACHED = "not reached"
    NOT_APPLICABLE = "not applicable"
    UNVERIFIED = "cannot verify"


class Finding(msgspec.Struct, frozen=True):
    """A status with what supports it: ``note``, or for a deviation what was required and what was used."""

    status: Status
    note: str = ""
    required: str = ""
    used: str = ""

    def __str__(self) -> str:
        if self.status is Status.DEVIATED:
            return f"required {self.required}; used {self.used}"
        return self.note


def met(note: str) -> Finding:
    """The record shows it."""
    return Finding(Status.MET, note)


def deviated(required: str, used: str) -> Finding:
    """The record shows something else."""
    return Finding(Status.DEVIATED, required=required, used=used)


def not_reached(note: str) -> Finding:
    """It never came to that."""
    return Finding(Status.NOT_REACHED, note)


def not_applicable(note: str) -> Finding:
    """It binds nothing here."""
    return Finding(Status.NOT_APPLICABLE, note)


def unverified(note: str) -> Finding:
    """The record can't tell, for this reason."""
    return Finding(Status.UNVERIFIED, note)


def met_if(holds: bool, required: str, used: str) -> Finding:
    """Met with what was used as its evidence, or deviated from what was required."""
    return met(used) if holds else deviated(required, used)


def all_of(findings: Iterable[Finding]) -> Finding:
    """The first that isn't met; else met, with what all of them say, each once."""
    several = list(findings)
    if not several:
        return not_reached("no such step was completed")
    if broken := [finding for finding in several if finding.status is not Status.MET]:
        return broken[0]
    notes = list(dict.fromkeys(finding.note for finding in several))
    more = f"; and {len(notes) - _MOST_NOTES} others" if len(notes) > _MOST_NOTES else ""
    return met("; ".join(notes[:_MOST_NOTES]) + more)
