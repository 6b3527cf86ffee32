"""How long a drive lasts at a rate of writes, by its own log: what was written, and how worn it is."""

from typing import Self

from msgspec import Struct

from openpts.analysis.health_change import write_amplification
from openpts.units import S_PER_YEAR
from openpts.vocabulary.health import HealthReading


class Endurance(Struct, frozen=True):
    """The life of a drive so far: ``used_pct`` of it is gone after ``written_bytes`` of its host's.

    ``amplification`` is bytes to the flash over bytes of the host's in a stretch that was measured; None
    where the drive counts no bytes to its flash, or too few passed.
    """

    written_bytes: float
    used_pct: float
    amplification: float | None = None

    @classmethod
    def of(cls, before: HealthReading | None, after: HealthReading | None) -> Self | None:
        """By two readings of a log; None where it says nothing of wear, or that none is seen yet."""
        if before is None or after is None:
            return None
        written, used = after.values.get("host_write_bytes"), after.values.get("percentage_used_pct")
        if written is None or not used:
            return None
        return cls(float(written), float(used), write_amplification(before.values, after.values))

    @property
    def rated_bytes(self) -> float:
        """What the host may write in the whole life of the drive, if it continues as so far."""
        return 100 * self.written_bytes / self.used_pct

    @property
    def left_bytes(self) -> float:
        """What is left of that."""
        return max(0.0, self.rated_bytes - self.written_bytes)

    def years_at(self, bytes_per_s: float) -> float | None:
        """Until the drive says 100 % at a rate of the host's writes, day and night; None at a rate of 0."""
        return self.left_bytes / bytes_per_s / S_PER_YEAR if bytes_per_s else None
