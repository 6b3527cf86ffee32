"""Notices an I/O that hangs while it hangs."""

from dataclasses import dataclass
from typing import Final

from openpts.engine.contract import OutstandingIo
from openpts.units import NS_PER_S

HANG_NS: Final = 5 * NS_PER_S


@dataclass(slots=True)
class HangWatch:
    """Sees the oldest outstanding I/O again and again, and says when it is worth a word.

    That is when it gets as old as ``HANG_NS``, and then at each doubling of that age. It is one hang as long
    as anything is that old: a drive that answers all of a deep queue late is reported once, not for each I/O.
    """

    _due_ns: int = HANG_NS

    def news(self, oldest: OutstandingIo | None) -> OutstandingIo | None:
        """The I/O, if its age is due to be reported."""
        if oldest is None or oldest.age_ns < HANG_NS:
            self._due_ns = HANG_NS
            return None
        if oldest.age_ns < self._due_ns:
            return None
        while self._due_ns <= oldest.age_ns:
            self._due_ns *= 2
        return oldest
