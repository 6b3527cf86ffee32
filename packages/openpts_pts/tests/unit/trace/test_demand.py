"""Composite workload and demand intensity step by step, against their tables."""

from fractions import Fraction
from typing import Any

import pytest

from openpts.units import GB
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import AccessPattern, Stimulus
from openpts.vocabulary.workload import WORKLOADS
from openpts_pts.conformance.catalogue import PTS
from openpts_pts.tests.unit.trace.scenario import (
    CAPACITY_BYTES,
    CLASSES,
    NEVER,
    SETTLES,
    STEADY,
    Trajectory,
    assert_same,
    ended,
    play,
)
from tests.support.player import Drive, Rate, lines, mean_block_bytes
from tests.support.table import Case, load
from tests.support.table import lines as specified

Point = tuple[int, int]

# IOPS by (TC, QD), ART = TOIO / IOPS. Max: below 5 ms, within 1 % of the best of those, fewest I/Os
# outstanding, more threads. Mid: nearest to halfway between that and (1, 1). All points that are not here
# are slower than (1, 1), so that they are candidates for nothing.
SLOWER = 5000
DEEP: dict[Point, float] = {
    (32, 32): 100000,  # 10.24 ms
    (16, 32): 99900,  # 5.125 ms
    (8, 32): 99500,
    (32, 8): 99500,
    (4, 8): 52000,
    (8, 2): 48000,
    (1, 1): 9000,
}
PLATEAU: dict[Point, float] = {
    (32, 8): 99900,
    (16, 8): 99800,
    (8, 8): 99000,  # still within 1 %
    (4, 8): 90000,
    (1, 1): 9000,
}
DEEP_CHOICE: dict[str, Point] = {"max": (32, 8), "min": (1, 1), "mid": (4, 8)}
DRIVES = [
    # 54250 is halfway: 52000 is nearer than 48000
    pytest.param(DEEP, DEEP_CHOICE, id="deep queues"),
    # 54000 is halfway
    pytest.param(PLATEAU, {"max": (8, 8), "min": (1, 1), "mid": (4, 8)}, id="plateau"),
]


def rate(points: dict[Point, float], preconditioning: Trajectory, rounds: Trajectory) -> Rate:
    """Operating points as given, all others slow; of the rounds, the tracked point alone has a course."""

    def iops(stimulus: Stimulus, phase: Phase, number: int) -> float:
        if phase is Phase.WDPC:
            return 80000 * preconditioning.of_round(number)
        point = (stimulus.tc, stimulus.qd)
        if phase is Phase.ROUND and point == (32, 32):
            return points.get(point, SLOWER) * rounds.of_round(number)
        return points.get(point, SLOWER)

    return iops


@pytest.mark.full_matrix(most=6)
@pytest.mark.parametrize("drive_class", CLASSES)
@pytest.mark.parametrize(
    ("preconditioning", "rounds"),
    [(STEADY, STEADY), (SETTLES, NEVER), (NEVER, SETTLES), (NEVER, NEVER)],
    ids=str,
)
@pytest.mark.parametrize(("points", "chosen"), DRIVES)
@pytest.mark.proves(
    "PTS-CBW-01..04",
    "PTS-CBW-07..08",
    "PTS-CBW-10",
    "PTS-CBW-12..15",
    "PTS-CBW-17..22",
    "PTS-CBW-24..25",
    "PTS-CBW-27..28",
    "PTS-CBW-31..38",
    "PTS-CBW-40..42",
)
def test_composite(drive_class, preconditioning, rounds, points, chosen) -> None:
    played = play("cbw", drive_class, rate(points, preconditioning, rounds))
    case = Case({"wdpc": [preconditioning.last_round], "round": [rounds.last_round]}, demand=chosen)
    assert_same(lines(played, CAPACITY_BYTES), specified(load("cbw"), drive_class, case))
    assert ended(played) == [(rounds.steady_round, rounds.last_round)]
    for phase, course in ((Phase.WDPC, preconditioning), (Phase.ROUND, rounds)):
        assert [check.round_number for check in played.checks(phase)] == list(range(5, course.last_round + 1))


@pytest.mark.full_matrix(most=6)
@pytest.mark.parametrize("drive_class", CLASSES)
@pytest.mark.parametrize("workload", sorted(WORKLOADS))
@pytest.mark.parametrize("course", [STEADY, SETTLES], ids=str)
@pytest.mark.proves(
    "PTS-DIRTH-01..08",
    "PTS-DIRTH-10..14",
    "PTS-DIRTH-16..17",
    "PTS-DIRTH-19..20",
    "PTS-DIRTH-23..30",
    "PTS-DIRTH-32..34",
)
def test_demand_intensity(drive_class, workload, course) -> None:
    played = play("dirth", drive_class, rate(DEEP, course, course), workload=WORKLOADS[workload])
    case = Case(
        {"wdpc": [course.last_round], "round": [course.last_round]}, demand=DEEP_CHOICE, workloads=[workload]
    )
    assert_same(lines(played, CAPACITY_BYTES), specified(load("dirth"), drive_class, case))


@pytest.mark.parametrize("drive_class", CLASSES)
@pytest.mark.parametrize(("points", "chosen"), DRIVES)
@pytest.mark.proves("PTS-DIRTH-10", "PTS-DIRTH-19..20")
def test_demand_intensity_that_is_never_steady_goes_on(drive_class, points, chosen) -> None:
    played = play("dirth", drive_class, rate(points, NEVER, NEVER), workload=WORKLOADS["oltp"])
    case = Case({"wdpc": [25], "round": [25]}, demand=chosen, workloads=["oltp"])
    assert_same(lines(played, CAPACITY_BYTES), specified(load("dirth"), drive_class, case))
    assert ended(played) == [(None, 25)]


@pytest.mark.parametrize("fast_in", [{8}, {1, 2, 3}], ids=["last round", "rounds before the window"])
@pytest.mark.proves("PTS-CBW-28", "PTS-DIRTH-20")
def test_operating_points_are_chosen_by_their_averages_over_the_window(fast_in) -> None:
    usual = rate(DEEP, STEADY, SETTLES)

    def iops(stimulus: Stimulus, phase: Phase, number: int) -> float | Fraction:
        # once in five rounds it is the fastest of all, which makes 44000 on the average
        fast = phase is Phase.ROUND and (stimulus.tc, stimulus.qd) == (16, 16) and number in fast_in
        return 200000 if fast else usual(stimulus, phase, number)

    case = Case({"wdpc": [5], "round": [8]}, demand=DEEP_CHOICE)
    played = play("cbw", "enterprise", iops)
    assert_same(lines(played, CAPACITY_BYTES), specified(load("cbw"), "enterprise", case))


@pytest.mark.parametrize("name", ["cbw", "dirth"])
@pytest.mark.proves("PTS-CBW-60", "PTS-DIRTH-52")
def test_independent_preconditioning_comes_before_all_else_on_request(name) -> None:
    constant = rate(DEEP, STEADY, STEADY)
    asked_for = lines(play(name, "enterprise", constant, precondition_passes=2.0), CAPACITY_BYTES)
    without = lines(play(name, "enterprise", constant), CAPACITY_BYTES)
    # 13.1 (2.1), 14.1 (2.1): no demand is given for it, so that of the preconditioning that follows
    wipc = "wipc 1: SEQ 128 KiB 0/100, TC 32 QD 32, range 0-100 %, 2 x user capacity"
    assert_same(asked_for, [*without[:2], wipc, *without[2:]])


@pytest.mark.parametrize("drive_class", CLASSES)
@pytest.mark.proves("PTS-DIRTH-02")
def test_demand_intensity_has_one_random_block_size_by_default(drive_class) -> None:
    conditions: Any = PTS["dirth"].standard_conditions(DriveClass(drive_class), 1)
    stimulus = conditions.workload.stimulus(tc=1, qd=1, active_range=conditions.active_range)
    assert stimulus.access_pattern is AccessPattern.RANDOM
    assert len(stimulus.block_sizes) == 1


@pytest.mark.parametrize("name", ["cbw", "dirth"])
@pytest.mark.parametrize(
    ("capacity_gb", "end_s"),
    # at 500 MB/s a tenth is written after 20, 800 and 3200 s: at least 5 minutes, at most 30
    [(100, 300), (4000, 800), (16000, 1800)],
)
@pytest.mark.proves("PTS-CBW-22", "PTS-DIRTH-14")
def test_a_round_pre_write_ends_by_the_first_of_its_rules(name, capacity_gb, end_s) -> None:
    def iops(stimulus: Stimulus, phase: Phase, number: int) -> Fraction:
        return 500 * 10**6 / mean_block_bytes(stimulus)

    test = PTS[name]
    conditions = test.standard_conditions(DriveClass.ENTERPRISE, 1)
    drive = Drive(capacity_gb * GB, iops)
    played = drive.play(test.script(conditions, capacity_gb * GB))
    lengths_ns = [a.elapsed_ns for a in played.applied if a.phase is Phase.ROUND_PREWRITE]
    assert len(lengths_ns) == 5
    assert lengths_ns == pytest.approx([end_s * 10**9] * 5, abs=1000)
