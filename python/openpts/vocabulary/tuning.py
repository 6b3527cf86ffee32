"""Changes to settings of the host: what was asked for, and what became of it."""

from dataclasses import dataclass
from enum import StrEnum


class Means(StrEnum):
    """How a setting is changed."""

    FILE = "file"
    UNIT = "unit of systemd"
    HELD = "held by openpts"


@dataclass(frozen=True, slots=True)
class Change:
    """A setting that is to have another value. ``key`` is that of the host audit.

    ``place`` is the path of a file, the name of a unit, or what is held.
    """

    key: str
    means: Means
    place: str
    wanted: str


@dataclass(frozen=True, slots=True)
class ChangeReport:
    """What became of a change; ``failure`` is empty if it holds.

    ``found`` is None where nobody could read it, or where there is nothing to be put back.
    """

    key: str
    place: str
    found: str | None
    wanted: str
    failure: str = ""
