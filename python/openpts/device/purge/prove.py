"""The proof of a purge: what was on the drive before, marks among it, must be gone afterwards."""

from dataclasses import dataclass
from typing import Self

from openpts.device.purge.marks import (
    Mark,
    choose_places,
    count_blank,
    count_changed,
    read_marks,
    write_marks,
)
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import PurgeError


@dataclass(frozen=True, slots=True)
class Proof:
    """What reading back showed: how many of ``marks`` and of ``others``, places that held data already,
    changed, and how many of all those places are blank now: all zeros or all ones.
    """

    marks: int
    marks_changed: int
    others: int
    others_changed: int
    blank: int

    @property
    def left(self) -> int:
        """Places that still hold what they held before."""
        return self.marks - self.marks_changed + self.others - self.others_changed


@dataclass(frozen=True, slots=True)
class Evidence:
    """Places all over a target with what they held before its purge."""

    marks: tuple[Mark, ...]
    others: tuple[Mark, ...]

    @classmethod
    def gather(cls, target: OpenTarget) -> Self:
        """Read unmarked places, then mark others with random bytes. Raises PurgeError.

        A place that can't be read before its purge proves nothing and is left out.
        """
        facts = target.facts
        places = choose_places(facts.user_capacity_bytes, facts.sector_bytes)
        unmarked = set(choose_places(facts.user_capacity_bytes, facts.sector_bytes)) - set(places)
        others = read_marks(target.fd, tuple(sorted(unmarked)), facts.sector_bytes)
        try:
            marks = write_marks(target.fd, places, facts.sector_bytes)
        except OSError as error:
            raise PurgeError(
                f"can't mark {facts.path} before the purge: {error.strerror}; a drive on which a format or a "
                "sanitize failed takes nothing until one succeeds, which its own tools can bring about"
            ) from error
        return cls(marks, tuple(place for place in others if not place.is_blank))

    def compare(self, target: OpenTarget) -> Proof:
        """What is left of it on a target after its purge. Raises PurgeError if it can't be read."""
        try:
            return Proof(
                marks=len(self.marks),
                marks_changed=count_changed(target.fd, self.marks),
                others=len(self.others),
                others_changed=count_changed(target.fd, self.others),
                blank=count_blank(target.fd, (*self.marks, *self.others)),
            )
        except OSError as error:
            raise PurgeError(
                f"can't read {target.facts.path} after the purge: {error.strerror}{_gone(target)}"
            ) from error


def _gone(target: OpenTarget) -> str:
    """A hint where the kernel no longer has the drive by the name under which it was opened."""
    if target.device is None or target.device.folder.exists():
        return ""
    return "; it may have another name now, see openpts devices: purge it under that"
