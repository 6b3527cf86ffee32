"""The conditions of a test that runs rounds of test points: what section 5 and the header report."""

from dataclasses import dataclass
from enum import StrEnum

from openpts.vocabulary.stimulus import ActiveRange
from openpts.vocabulary.verdict import TrackingVariable


class Profile(StrEnum):
    """PTS-E or PTS-C: the two sets of settings of the specification."""

    ENTERPRISE = "enterprise"
    CLIENT = "client"

    @property
    def revision(self) -> str:
        """The header's field Rev. (PTS 5.1)."""
        return f"PTS-{'E' if self is Profile.ENTERPRISE else 'C'} 2.0.1"


@dataclass(frozen=True, slots=True)
class TestConditions:
    """What was set for a test; sizes in bytes, mixes as per cent of reads, in the order of the loops.

    ``skipped_block_sizes_bytes`` are those that the device's sector size makes impossible.
    ``precondition_passes`` counts in user capacities written.
    """

    __test__ = False  # the name is the field's, not pytest's

    test: str
    profile: Profile
    write_cache_enabled: bool
    active_range: ActiveRange
    tc: int
    qd: int
    precondition_block_size_bytes: int
    precondition_passes: float
    read_pcts: tuple[int, ...]
    block_sizes_bytes: tuple[int, ...]
    skipped_block_sizes_bytes: tuple[int, ...]
    step_duration_ns: int
    max_rounds: int
    tracking: tuple[TrackingVariable, ...]
    seed: int

    @property
    def largest_block_size_bytes(self) -> int:
        """The largest transfer of the whole test, preconditioning included."""
        return max(*self.block_sizes_bytes, self.precondition_block_size_bytes)

    @property
    def round_duration_ns(self) -> int:
        """Planned length of one round."""
        return self.step_duration_ns * len(self.read_pcts) * len(self.block_sizes_bytes)
