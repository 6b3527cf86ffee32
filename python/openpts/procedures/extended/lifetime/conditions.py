"""The conditions of the lifetime test."""

from openpts.vocabulary.conditions import ExtendedConditions
from openpts.vocabulary.data import RandomData


class LifetimeConditions(ExtendedConditions, frozen=True, kw_only=True, tag_field="test", tag="lifetime"):
    """Drive cycles: the whole active range written once in sequence, then read once.

    It ends after ``drive_cycles``, or sooner: with the first I/O that fails, when the drive counts a media
    error or takes no more writes, when it has used ``wear_limit_pct`` of its rated life, after
    ``write_limit_bytes`` (None: no limit), or after ``longest_ns``. ``verify``: what is read must be what
    this cycle wrote, if that is random data; no other can be told from what an earlier cycle wrote.
    """

    block_size_bytes: int
    tc: int
    qd: int
    drive_cycles: int
    write_limit_bytes: int | None = None
    wear_limit_pct: float
    longest_ns: int
    verify: bool = True

    @property
    def compares(self) -> bool:
        """Whether what is read is compared with what was written."""
        return self.verify and self.data == RandomData()
