"""The conditions of the tests that measure the rows of benchmarks."""

from openpts.procedures.kit.benchmark_profile import ProfileRow
from openpts.vocabulary.conditions import ExtendedConditions


class ProfileTestConditions(ExtendedConditions, frozen=True, kw_only=True):
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

    def row_of(self, number: int) -> tuple[str, ProfileRow]:
        """The benchmark, or the state of the drive, and the row of a profile part."""
        raise NotImplementedError
