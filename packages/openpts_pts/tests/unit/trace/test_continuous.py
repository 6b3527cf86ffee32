"""Write saturation, host idle recovery and cross stimulus recovery step by step, against their tables."""

from typing import Any

import pytest

from openpts.units import GB
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.workload import WORKLOADS
from openpts_pts.conformance.catalogue import PTS
from openpts_pts.tests.unit.trace.scenario import (
    BYTES_PER_S,
    CAPACITY_BYTES,
    CLASSES,
    COURSES,
    NEVER,
    SETTLES,
    STEADY,
    assert_same,
    ended,
    play,
    settling,
)
from tests.support import table as tables
from tests.support.player import LONGEST_PIECE_S, lines
from tests.support.table import Case, load
from tests.support.table import lines as specified

pytestmark = pytest.mark.parametrize("drive_class", CLASSES)

SIX_HOURS_S = 21600
# Capacities of a drive that takes 500 MB/s: it is full four times after 800 s, 6.4 h - or never in 6 hours.
CAPACITIES = [100 * GB, 1000 * GB, 1600 * GB, 2700 * GB, 4000 * GB]


def written_share(workload: str) -> float:
    reads, writes = (int(phase) for phase in tables.WORKLOADS[workload]["rw"].split("/"))
    return writes / (reads + writes)


def saturation_s(workload: str, capacity_bytes: int) -> float:
    """Until four times the user capacity is written, or 6 hours (10.2 step 2.2)."""
    written_per_s = BYTES_PER_S * written_share(workload)
    return min(SIX_HOURS_S, 4 * capacity_bytes / written_per_s if written_per_s else SIX_HOURS_S)


@pytest.mark.parametrize("capacity_bytes", CAPACITIES)
@pytest.mark.proves("PTS-WSAT-01..02", "PTS-WSAT-04..09", "PTS-WSAT-18")
def test_write_saturation(drive_class, capacity_bytes) -> None:
    table = load("wsat")
    played = play("wsat", drive_class, settling(STEADY, Phase.SATURATION), capacity_bytes)
    end_s = saturation_s("write_intensive", capacity_bytes)
    case = Case(workloads=[table["default_workload"]], saturation_s=end_s)
    assert_same(lines(played, capacity_bytes), specified(table, drive_class, case))


@pytest.mark.parametrize("rule", ["4 x user capacity", "6 hours"])
@pytest.mark.proves("PTS-WSAT-08")
def test_write_saturation_says_which_rule_ended_it(drive_class, rule, golden) -> None:
    capacity_bytes = {"4 x user capacity": 100, "6 hours": 4000}[rule] * GB
    (outcome,) = play("wsat", drive_class, settling(STEADY, Phase.SATURATION), capacity_bytes).outcomes
    assert outcome.ended_by == golden


@pytest.mark.parametrize("capacity_bytes", [100 * GB, 1000 * GB])
@pytest.mark.parametrize("workload", sorted(tables.WORKLOADS.keys()))
@pytest.mark.proves("PTS-WSAT-12..17", "PTS-CBW-07..08", "PTS-CBW-10")
def test_optional_workloads_of_write_saturation(drive_class, workload, capacity_bytes) -> None:
    table = load("wsat")
    played = play(
        "wsat",
        drive_class,
        settling(STEADY, Phase.SATURATION),
        capacity_bytes,
        workloads=(WORKLOADS[workload],),
    )
    case = Case(workloads=[workload], saturation_s=saturation_s(workload, capacity_bytes))
    assert_same(lines(played, capacity_bytes), specified(table, drive_class, case))


def test_each_workload_of_write_saturation_has_a_cycle_of_its_own(drive_class) -> None:
    names = list(tables.WORKLOADS)
    played = play(
        "wsat",
        drive_class,
        settling(STEADY, Phase.SATURATION),
        4000 * GB,
        workloads=tuple(WORKLOADS[name] for name in names),
    )
    case = Case(workloads=names, saturation_s=SIX_HOURS_S)
    assert_same(lines(played, 4000 * GB), specified(load("wsat"), drive_class, case))
    assert len(played.outcomes) == len(names)


@pytest.mark.proves("PTS-WSAT-09")
def test_write_saturation_tells_when_it_is_steady_and_goes_on(drive_class) -> None:
    played = play("wsat", drive_class, settling(SETTLES, Phase.SATURATION), 5000 * GB)
    assert played.elapsed_s(Phase.SATURATION) == SIX_HOURS_S
    # minutes 1, 31, ... 331 are tracked
    checks = played.checks(Phase.SATURATION)
    assert [check.round_number for check in checks] == list(range(5, 13))
    assert [all(report.steady for report in check.reports) for check in checks] == [False] * 3 + [True] * 5
    assert [outcome.steady_round for outcome in played.outcomes] == [8]


@pytest.mark.parametrize(
    ("course", "capacity_gb", "end_s"),
    [
        # the fifth tracked minute ends at 7260 s, the eighth at 12660 s; the capacity is written before
        (STEADY, 3000, 7260),
        (SETTLES, 5000, 12660),
        # steady early, but not before the capacity is written once: after 8000 s, so at the sixth minute
        (STEADY, 4000, 9060),
        (NEVER, 5000, SIX_HOURS_S),
    ],
)
@pytest.mark.proves("PTS-WSAT-08..09")
def test_write_saturation_ends_when_steady_on_request(drive_class, course, capacity_gb, end_s) -> None:
    played = play(
        "wsat", drive_class, settling(course, Phase.SATURATION), capacity_gb * GB, stop_when_steady=True
    )
    case = Case(workloads=["write_intensive"], saturation_s=end_s)
    assert_same(lines(played, capacity_gb * GB), specified(load("wsat"), drive_class, case))


@pytest.mark.parametrize(("iops", "nines", "length_s"), [(8000, 6, 1200), (8000, 7, 1875)])
@pytest.mark.proves("PTS-WSAT-20..23")
def test_the_histogram_of_write_saturation_is_long_enough_for_the_nines(
    drive_class, iops, nines, length_s
) -> None:
    played = play("wsat", drive_class, lambda stimulus, phase, number: iops, nines=nines)
    assert length_s <= played.elapsed_s(Phase.HISTOGRAM) < length_s + (60 if length_s > 1200 else 1e-6)


@pytest.mark.parametrize("course", COURSES, ids=str)
@pytest.mark.proves("PTS-HIR-01..07", "PTS-HIR-09..17", "PTS-HIR-19")
def test_host_idle_recovery(drive_class, course) -> None:
    table = load("hir")
    played = play("hir", drive_class, settling(course, Phase.WDPC))
    not_steady = frozenset() if course.steady_round else frozenset({"wdpc"})
    case = Case({"wdpc": [course.last_round]}, not_steady)
    assert_same(lines(played, CAPACITY_BYTES), specified(table, drive_class, case))
    assert ended(played) == [(course.steady_round, course.last_round)]
    assert [check.round_number for check in played.checks(Phase.WDPC)] == list(
        range(5, course.last_round + 1)
    )


@pytest.mark.proves("PTS-HIR-11..17")
def test_host_idle_recovery_takes_as_long_as_its_segments(drive_class) -> None:
    played = play("hir", drive_class, settling(STEADY, Phase.WDPC))
    assert played.elapsed_s(Phase.WAIT_STATE) == 46800
    assert played.elapsed_s(Phase.RETURN_TO_BASELINE) == 9000
    for number, segment_s in ((1, 3600), (2, 5400), (3, 7200), (5, 10800), (10, 19800)):
        steps = [a for a in played.applied if a.phase is Phase.WAIT_STATE and a.number == number]
        assert sum(step.elapsed_ns for step in steps) == segment_s * 10**9
        assert sum(step.step.stimulus is None for step in steps) == 360


def test_25_tracking_rounds_last_12_hours_and_a_minute(drive_class) -> None:
    for name in ("hir", "cbw", "dirth"):
        assert play(name, drive_class, settling(NEVER, Phase.WDPC)).elapsed_s(Phase.WDPC) == 721 * 60


@pytest.mark.proves("PTS-XSR-01..03", "PTS-XSR-05..07", "PTS-XSR-09..10", "PTS-XSR-12..13", "PTS-XSR-15")
def test_cross_stimulus_recovery(drive_class) -> None:
    conditions: Any = PTS["xsr"].standard_conditions(DriveClass(drive_class), 1)
    chosen = (conditions.groups[1].tc, conditions.groups[1].qd)
    played = play("xsr", drive_class, settling(STEADY, Phase.ACCESS_GROUP))
    assert_same(
        lines(played, CAPACITY_BYTES),
        specified(load("xsr"), drive_class, Case(demand={"operator's choice": chosen})),
    )
    assert played.elapsed_s(Phase.ACCESS_GROUP) == 22 * 3600
    assert max(step.elapsed_ns for step in played.applied) <= LONGEST_PIECE_S * 10**9


@pytest.mark.proves("PTS-XSR-16")
def test_the_random_stimulus_of_cross_stimulus_recovery_has_a_demand_of_its_own(drive_class) -> None:
    played = play("xsr", drive_class, settling(STEADY, Phase.ACCESS_GROUP))
    sequential, random, again = (
        {
            (a.step.stimulus.tc, a.step.stimulus.qd)
            for a in played.applied
            if a.number == number and a.step.stimulus
        }
        for number in (1, 2, 3)
    )
    assert sequential == again
    assert len(sequential) == len(random) == 1
    assert sequential != random
