"""The conditions of the preconditioning comparison."""

from enum import StrEnum
from typing import ClassVar

from openpts.procedures.kit.benchmark_profile import BenchmarkProfile, ProfileRow
from openpts.procedures.shared.benchmark.conditions import ProfileTestConditions
from openpts.vocabulary.verdict import SteadyState
from openpts.vocabulary.workload import Workload


class DriveState(StrEnum):
    """What a drive has been through before it is measured, in the order of the test."""

    FRESH = "FOB"
    SEQUENTIAL = "after SEQ"
    RANDOM = "after RND"


# LSI-PRE-01 to 05
class PreconConditions(ProfileTestConditions, frozen=True, kw_only=True, tag_field="test", tag="precon"):
    """The figures of one benchmark on a fresh drive, after sequential and after random writes.

    ``workload`` at ``tc`` and ``qd`` is the random conditioning. Its course is tracked by single minutes that
    begin ``tracking_period_ns`` apart, or ``tracking_fills`` user capacities where those are written before:
    it ends when they are steady, but not before ``steady_after_drive_fills`` user capacities, and at
    ``drive_fills`` or ``longest_ns`` at the latest. Before a row is measured in a state that the row before
    has disturbed, ``recondition_passes`` user capacities are written to bring it back. Rows with a test file
    have at most ``file_share_pct`` of the active range for it, so that a fresh drive stays fresh.
    """

    steady_state: ClassVar[SteadyState] = SteadyState.MINUTES

    benchmark: BenchmarkProfile
    recondition_passes: float
    workload: Workload
    tc: int
    qd: int
    drive_fills: float
    longest_ns: int
    tracking_period_ns: int
    tracking_fills: float
    steady_after_drive_fills: float
    file_share_pct: float

    def row_number(self, state: DriveState, place: int) -> int:
        """The number of the profile part that measures a row in a state; ``place`` counts from 0."""
        return tuple(DriveState).index(state) * len(self.benchmark.rows) + place + 1

    def row_of(self, number: int) -> tuple[str, ProfileRow]:
        """State and row of a profile part, in whatever order they were measured."""
        state, place = divmod(number - 1, len(self.benchmark.rows))
        return tuple(DriveState)[state], self.benchmark.rows[place]
