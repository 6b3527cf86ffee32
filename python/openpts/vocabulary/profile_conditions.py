"""The conditions of the tests that measure the rows of benchmarks."""

from enum import StrEnum

from openpts.vocabulary.benchmark_profile import BenchmarkProfile, ProfileRow
from openpts.vocabulary.practice_conditions import PracticeConditions
from openpts.vocabulary.settling import SettlingRule
from openpts.vocabulary.workload import Workload


class DriveState(StrEnum):
    """What a drive has been through before it is measured, in the order of the test."""

    FRESH = "FOB"
    SEQUENTIAL = "after SEQ"
    RANDOM = "after RND"


class ProfileTestConditions(PracticeConditions, frozen=True, kw_only=True):
    """What both have in common.

    ``precondition_passes`` counts in user capacities that are written sequentially. No pass or warm-up of a
    row lasts longer than ``longest_pass_ns``, no pause longer than ``longest_pause_ns``. ``impossible`` says
    in words which rows the device's sectors rule out, or which of their sizes.
    """

    precondition_passes: float
    precondition_block_size_bytes: int
    precondition_tc: int
    precondition_qd: int
    longest_pass_ns: int
    longest_pause_ns: int
    impossible: tuple[str, ...] = ()


class BenchmarksConditions(
    ProfileTestConditions, frozen=True, kw_only=True, tag_field="test", tag="benchmarks"
):
    """The rows of benchmarks on a drive in one state; without preconditioning it was only purged.

    Before the first row of each benchmark the drive is left alone until it has come to rest, but no longer
    than ``settle_ns``; 0 is not at all.
    """

    benchmarks: tuple[BenchmarkProfile, ...]
    settle_ns: int = 0

    # SOL-DEV-04
    @property
    def settling(self) -> SettlingRule | None:
        """How it is seen that the drive has come to rest."""
        if not self.settle_ns:
            return None
        standard = SettlingRule()
        return SettlingRule(
            look_ns=self.minute_ns,
            probe_ns=min(standard.probe_ns, self.minute_ns),
            least_ns=min(self.settle_ns, standard.least_ns * self.minute_ns // standard.look_ns),
            longest_ns=self.settle_ns,
        )

    def row_of(self, number: int) -> tuple[str, ProfileRow]:
        """Benchmark and row of a profile part: rows are numbered through from 1."""
        places = [(one.title, row) for one in self.benchmarks for row in one.rows]
        return places[number - 1]


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
