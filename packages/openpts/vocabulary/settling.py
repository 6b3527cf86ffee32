"""When a drive that is left alone counts as having come to rest."""

from typing import Self

from msgspec import Struct

from openpts.units import KIB, MB, NS_PER_S

_MINUTE_NS = 60 * NS_PER_S


# SOL-DEV-03, SOL-DEV-04
class SettlingRule(Struct, frozen=True, kw_only=True):
    """Idle time with a short look at the drive now and then; the looks only read.

    A look comes each ``look_ns`` and reads single blocks at random for ``probe_ns``, one at a time. The drive
    is settled when over ``looks`` of them the median and the 99th percentile of the response time range over
    no more than the given per cent of their own mean, its temperature, where it tells one, over no more than
    ``within_k``, and when it writes to its media no faster than given, where its log counts that; but not
    before ``least_ns``. After ``longest_ns`` the wait ends in any case.
    """

    look_ns: int = _MINUTE_NS
    probe_ns: int = 2 * NS_PER_S
    block_size_bytes: int = 4 * KIB
    looks: int = 5
    median_within_pct: float = 10.0
    tail_within_pct: float = 20.0
    within_k: float = 1.0
    nand_within_bytes_per_s: float = MB
    least_ns: int = 10 * _MINUTE_NS
    longest_ns: int = 60 * _MINUTE_NS

    @classmethod
    def within(cls, longest_ns: int, look_ns: int) -> Self:
        """The rule with looks that are so far apart, and times in proportion."""
        standard = cls()
        return cls(
            look_ns=look_ns,
            probe_ns=min(standard.probe_ns, look_ns),
            least_ns=min(longest_ns, standard.least_ns * look_ns // standard.look_ns),
            longest_ns=longest_ns,
        )
