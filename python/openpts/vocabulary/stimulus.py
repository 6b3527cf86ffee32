"""What is issued to the device: the stimulus, and when it stops (PTS 2.1, glossary of openpts)."""

import math
from dataclasses import dataclass
from enum import StrEnum

from openpts.units import NS_PER_S, format_block_size


class AccessPattern(StrEnum):
    """Order of the LBAs accessed: RND or SEQ."""

    RANDOM = "random"
    SEQUENTIAL = "sequential"

    @property
    def short(self) -> str:
        """The specification's abbreviation."""
        return "RND" if self is AccessPattern.RANDOM else "SEQ"


@dataclass(frozen=True, slots=True)
class ActiveRange:
    """ActiveRange(start:end) in per cent of MaxUserLBA (PTS 2.1.1)."""

    start_pct: float = 0
    end_pct: float = 100

    def first_and_last_lba(self, max_user_lba: int) -> tuple[int, int]:
        """Both ends inclusive, fractions of an LBA rounded down."""
        return (
            math.floor(self.start_pct * max_user_lba / 100),
            math.floor(self.end_pct * max_user_lba / 100),
        )

    def bytes_of(self, user_capacity_bytes: int, sector_bytes: int) -> tuple[int, int]:
        """The half-open byte range [start, end) inside a device of that capacity and LBA size."""
        first, last = self.first_and_last_lba(user_capacity_bytes // sector_bytes - 1)
        return first * sector_bytes, (last + 1) * sector_bytes


@dataclass(frozen=True, slots=True)
class Stimulus:
    """One access pattern: block size, R/W mix, order, range and demand.

    Payload is random, fresh for each write (PTS 3.5). Total outstanding I/O is ``tc * qd``.
    """

    access_pattern: AccessPattern
    block_size_bytes: int
    read_pct: int
    tc: int
    qd: int
    active_range: ActiveRange

    @property
    def toio(self) -> int:
        """Total outstanding I/O: thread count times queue depth (PTS 2.1.29)."""
        return self.tc * self.qd

    @property
    def rw_mix(self) -> str:
        """Reads/writes as the specification prints it: ``65/35``."""
        return f"{self.read_pct}/{100 - self.read_pct}"

    def __str__(self) -> str:
        return f"{self.access_pattern.short} {format_block_size(self.block_size_bytes)} {self.rw_mix}"


@dataclass(frozen=True, slots=True)
class Duration:
    """Stop after this much time."""

    duration_ns: int

    @classmethod
    def seconds(cls, seconds: float) -> "Duration":
        """A duration from seconds, rounded to the nanosecond."""
        return cls(round(seconds * NS_PER_S))


@dataclass(frozen=True, slots=True)
class ByteAmount:
    """Stop after this many bytes were transferred, over all threads together."""

    amount_bytes: int


StopRule = Duration | ByteAmount


@dataclass(frozen=True, slots=True)
class Step:
    """One element of a test: a stimulus and the rule that ends it."""

    stimulus: Stimulus
    stop: StopRule
