"""How a machine is set up for a measurement: for which scenario, and what became of each change."""

from enum import StrEnum

from msgspec import Struct


class Means(StrEnum):
    """How a setting is changed."""

    FILE = "file"
    UNIT = "unit of systemd"
    HELD = "held by openpts"


class Change(Struct, frozen=True):
    """A setting that is to have another value. ``key`` is that of the host audit.

    ``place`` is the path of a file, the name of a unit, or what is held.
    """

    key: str
    means: Means
    place: str
    wanted: str


class ChangeReport(Struct, frozen=True):
    """What became of a change; ``failure`` is empty if it holds.

    ``found`` is None where it could not be read, or where there is nothing to restore.
    """

    key: str
    place: str
    found: str | None
    wanted: str
    failure: str = ""


# SOL-GEN-02
class Scenario(StrEnum):
    """What a run is to show; its value is the word for the command line and the report."""

    REAL_WORLD = "real-world"
    SYNTHETIC = "synthetic"

    @property
    def subject(self) -> str:
        """What is tested: a machine as its users have it, or the drive alone."""
        return "the platform" if self is Scenario.REAL_WORLD else "the drive"
