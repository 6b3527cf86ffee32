"""Steady state and ledger of the IOPS test; its sequence stands in trace/."""

from typing import Any

import pytest
from msgspec.structs import replace

from openpts.procedures.kit.ledger import deviations
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.requests import Apply, Outcome
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import Stimulus
from openpts_pts.iops import IopsConditions
from openpts_pts.iops import script as iops
from openpts_pts.shared.rounds.script import without_impossible_sizes
from tests.support.player import Drive, Played, Rate

CAPACITY = 1_920_383_410_176


def play(conditions: IopsConditions, rate: Rate) -> Played:
    return Drive(CAPACITY, rate).play(iops.script(conditions, CAPACITY))


def only_outcome(played: Played) -> Outcome:
    (outcome,) = played.outcomes
    return outcome


def rounds(played: Played) -> list[Apply]:
    return [r for r in played.requests if isinstance(r, Apply) and r.phase is Phase.ROUND]


def constant(_stimulus: Stimulus, _phase: Phase, _number: int) -> float:
    return 100_000


def conditions(drive_class: DriveClass = DriveClass.ENTERPRISE, **changes: Any) -> IopsConditions:
    return replace(iops.standard_conditions(drive_class, seed=1), **changes)


@pytest.mark.parametrize(
    ("size", "read_pct"), [(4 * 1024, 0), (64 * 1024, 65), (1024 * 1024, 100)], ids=["4K", "64K", "1024K"]
)
def test_each_of_the_tracking_variables_alone_can_hold_the_test_up(size, read_pct) -> None:
    def restless(stimulus: Stimulus, _phase: Phase, number: int) -> float:
        tracked = (stimulus.block_size_bytes, stimulus.read_pct) == (size, read_pct)
        return 100_000 * (1 + number % 2 if tracked else 1)

    assert only_outcome(play(conditions(max_rounds=6), restless)) == Outcome(steady_round=None, last_round=6)


def test_other_cells_may_wander() -> None:
    tracked = {(4 * 1024, 0), (64 * 1024, 65), (1024 * 1024, 100)}

    def wandering(stimulus: Stimulus, _phase: Phase, number: int) -> float:
        inside = (stimulus.block_size_bytes, stimulus.read_pct) in tracked
        return 100_000 if inside else 1000 * number

    assert only_outcome(play(conditions(), wandering)).steady_round == 5


def test_no_preconditioning_is_asked_for_where_the_operator_wants_none() -> None:
    played = play(conditions(precondition_passes=0), constant)
    assert not any(applied.phase is Phase.WIPC for applied in played.applied)


def test_sizes_smaller_than_a_sector_are_left_out_and_entered() -> None:
    on_4k_sectors = without_impossible_sizes(conditions(), sector_bytes=4096)
    assert on_4k_sectors.skipped_block_sizes_bytes == (512,)
    (first, *_) = rounds(play(on_4k_sectors, constant))
    assert len(first.steps) == 49
    (entry,) = deviations(on_4k_sectors, conditions(), iops.RULES)
    assert entry.rule_id == "PTS-IOPS-13"
    assert entry.used == "1024, 128, 64, 32, 16, 8, 4 KiB"
