"""What trimmed LBAs read as: what the drive promises, and what was found."""

from enum import StrEnum

from msgspec import Struct


class Promise(StrEnum):
    """What a drive promises of reads of trimmed LBAs, if anything is known."""

    ZEROS = "zeros"
    ONES = "ones"
    DETERMINISTIC = "the same data each time"
    NONE = "no promise"
    UNKNOWN = "unknown"


class PromiseKept(StrEnum):
    """Whether it was kept."""

    AS_PROMISED = "as promised"
    NOT_AS_PROMISED = "not as promised"
    NO_PROMISE = "no promise"
    UNKNOWN = "n/a"


class TrimLimits(Struct, frozen=True):
    """What the kernel sends in one command and what the drive takes, in bytes; None where it is not known.

    Trims above ``most_bytes`` are split. Of a range only whole units of ``granularity_bytes`` are trimmed.
    """

    most_bytes: int | None = None
    hardware_most_bytes: int | None = None
    granularity_bytes: int | None = None
    source: str = ""


class TrimmedReads(Struct, frozen=True):
    """What was read twice from ``sectors`` that had been written, read back and trimmed.

    ``unstable`` sectors differed between both reads; each of the others counts once as ``zeros``, ``ones``,
    ``old`` (what had been written) or ``other``. ``advisory``: the interface lets a drive ignore a trim, so
    that old data breaks no promise. ``reason`` says why nothing was read, where ``sectors`` is 0.
    """

    promise: Promise
    source: str
    limits: TrimLimits = TrimLimits()
    advisory: bool = False
    sectors: int = 0
    zeros: int = 0
    ones: int = 0
    old: int = 0
    other: int = 0
    unstable: int = 0
    reason: str = ""

    @property
    def seen(self) -> str:
        """What the sectors hold, in words: ``zeros``, or each kind with its share."""
        counts = {
            "zeros": self.zeros,
            "ones": self.ones,
            "old data": self.old,
            "other data": self.other,
            "non-deterministic": self.unstable,
        }
        found = {word: count for word, count in counts.items() if count}
        if len(found) < 2:
            return next(iter(found), f"n/a: {self.reason}")
        return ", ".join(f"{word} {100 * count / self.sectors:.3g} %" for word, count in found.items())

    @property
    def kept(self) -> PromiseKept:
        """Whether what was seen is what is promised."""
        if not self.sectors or self.promise is Promise.UNKNOWN:
            return PromiseKept.UNKNOWN
        if self.promise is Promise.NONE:
            return PromiseKept.NO_PROMISE
        right = {
            Promise.ZEROS: self.zeros,
            Promise.ONES: self.ones,
            Promise.DETERMINISTIC: self.sectors - self.unstable,
        }[self.promise]
        if self.advisory and self.promise is not Promise.DETERMINISTIC:
            right += self.old
        return PromiseKept.AS_PROMISED if right == self.sectors else PromiseKept.NOT_AS_PROMISED
