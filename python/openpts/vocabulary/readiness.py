"""Interruptions of a drive, and how soon it worked again after each."""

from enum import StrEnum

from openpts.vocabulary.requests import DriverAnswer, DriverRequest


class Way(StrEnum):
    """What interrupts a drive."""

    RESET = "reset"
    SUBSYSTEM_RESET = "subsystem-reset"
    FLR = "flr"
    RESCAN = "rescan"
    REMOVAL = "removal"
    POWER = "power"
    FIRMWARE = "firmware"


class Interruption(DriverAnswer, frozen=True, kw_only=True):
    """What two streams saw: ``identify_ns`` and ``read_ns`` is how long after the order they went on.

    ``gap_ns`` is the longest gap of the reads, which began ``gap_from_ns`` after the order (before it where
    that is negative); ``calm_gap_ns`` the longest before the order: what is shorter than that can't be told
    from the host's own delays. ``shutdown_ns`` is how long the drive took to be shut down, None where it was
    not. ``path`` is its node afterwards: one that comes back may get another name.
    """

    identify_ns: int = 0
    read_ns: int = 0
    gap_ns: int = 0
    gap_from_ns: int = 0
    calm_gap_ns: int = 0
    shutdown_ns: int | None = None
    path: str = ""


class Interrupt(DriverRequest, frozen=True):
    """Interrupt the drive this way, or by the operator's ``command`` where there is one.

    The answer is an Interruption.
    """

    number: int
    way: Way
    command: str | None

    @property
    def planned(self) -> tuple[None, Interruption]:
        """An interruption that took no time."""
        return None, Interruption()
