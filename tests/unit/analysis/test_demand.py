"""Demand variation as a whole: window, averages, choice, knee, against what follows by hand."""

from collections.abc import Callable, Iterator

import pytest
from msgspec.structs import replace

from openpts.procedures.pts.dirth.script import standard_conditions
from openpts.procedures.shared.demand.results import (
    DemandResults,
    OperatingPoint,
    analyze_demand,
    choose_points,
    operating_points,
)
from openpts.units import NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.sample import NOTHING, CpuShares, OperationSample, Sample, StepState
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Step, Stimulus
from openpts.vocabulary.stop import Duration
from tests.support.made_up_demand import Point

CONDITIONS = replace(standard_conditions(DriveClass.ENTERPRISE, 1), tcs=(4, 2, 1), qds=(2, 1))
POINTS = operating_points(CONDITIONS.tcs, CONDITIONS.qds)

Model = Callable[[int, OperatingPoint], int]


def measured(point: OperatingPoint, iops: int, *, cpu_pct: float | None = 5.0) -> Sample:
    latency_ns = point.toio * NS_PER_S // iops
    return Sample(
        step=Step.of(
            Stimulus.of(AccessPattern.RANDOM, 8192, 65, point.tc, point.qd, ActiveRange()), Duration(NS_PER_S)
        ),
        state=StepState.COMPLETE,
        ended_by="duration",
        started_ns=0,
        elapsed_ns=NS_PER_S,
        gap_ns=0,
        read=OperationSample(iops, iops * 8192, iops * latency_ns, latency_ns, 2 * latency_ns, b""),
        write=NOTHING,
        interval_ns=NS_PER_S,
        intervals=(),
        cpu=None if cpu_pct is None else CpuShares(1, cpu_pct, 2, 3),
        failure=None,
    )


def rounds(count: int, model: Model) -> Iterator[tuple[int, Sample]]:
    for number in range(1, count + 1):
        for point in POINTS:
            yield number, measured(point, model(number, point))


def analyzed(count: int, model: Model, steady_round: int | None = None) -> DemandResults:
    return analyze_demand(CONDITIONS, rounds(count, model), steady_round)


@pytest.mark.proves("PTS-CBW-28", "PTS-DIRTH-20")
def test_results_are_means_over_the_window() -> None:
    results = analyzed(7, lambda number, point: 100 * number + point.toio, steady_round=6)
    assert results.window.rounds == (2, 3, 4, 5, 6)
    found = results.results[OperatingPoint(2, 1)]
    assert found.iops == 402
    assert list(found.iops_by_round) == [202, 302, 402, 502, 602]
    latencies = [2 * NS_PER_S // iops for iops in found.iops_by_round]
    assert found.mean_latency_ns == pytest.approx(sum(latencies) / 5)
    assert found.max_latency_ns == 2 * max(2 * NS_PER_S // iops for iops in (202, 302, 402, 502, 602))
    assert found.bandwidth_bytes_per_s == pytest.approx(402 * 8192)
    assert found.cpu.sys_pct == 5
    assert not results.steady
    assert results.iops_by_round(results.tracked) == tuple(100 * number + 8 for number in range(1, 8))


@pytest.mark.proves("PTS-CBW-27", "PTS-DIRTH-19")
def test_steady_state_is_judged_on_the_highest_demand_alone() -> None:
    restless = analyzed(5, lambda number, point: 1000 if point == POINTS[0] else 1000 * number)
    assert restless.tracked == OperatingPoint(4, 2)
    assert restless.steady
    assert restless.verdict.values == (1000,) * 5


def test_without_a_complete_round_nothing_is_chosen() -> None:
    results = analyze_demand(CONDITIONS, list(rounds(1, lambda _number, point: point.toio))[:-1], None)
    assert (results.rounds, results.results, results.chosen, results.verdict) == ((), {}, None, None)
    assert results.by_toio() == ()
    assert results.knee_toio() is None


@pytest.mark.proves("PTS-CBW-59", "PTS-DIRTH-51")
def test_points_of_equal_toio_stand_together() -> None:
    by_toio = analyzed(5, lambda _number, point: 1000 * point.tc + point.qd).by_toio()
    assert [(group.toio, [point.point for point in group.points]) for group in by_toio] == [
        (1, [(1, 1)]),
        (2, [(2, 1), (1, 2)]),
        (4, [(4, 1), (2, 2)]),
        (8, [(4, 2)]),
    ]
    assert by_toio[1].iops == (2001 + 1002) / 2
    assert by_toio[1].bandwidth_bytes_per_s == pytest.approx(by_toio[1].iops * 8192)


def test_the_knee_is_where_response_times_exceed_twice_the_first() -> None:
    # a drive that answers 1,000 I/Os a second at most: 1 ms for each that is outstanding
    assert analyzed(5, lambda _number, _point: 1000).knee_toio() == 4
    assert analyzed(5, lambda _number, point: 1000 * point.toio).knee_toio() is None


def test_no_point_between_is_taken_twice() -> None:
    points = [
        Point(OperatingPoint(tc, 1), iops, 1e6) for tc, iops in ((32, 100.0), (8, 52.0), (4, 48.0), (1, 10.0))
    ]
    chosen = choose_points(points, art_limit_ns=5_000_000, plateau_pct=1, mid_points=5)
    # 25 and 40 are nearest to 48, the others to what is left
    assert [middle.iops for middle in chosen.middles] == [48, 52]
    assert len(chosen.mid_targets_iops) == 5
    with pytest.raises(ValueError, match="no operating point"):
        choose_points([], art_limit_ns=5_000_000, plateau_pct=1, mid_points=1)


def test_a_point_without_an_io_has_no_response_time_below_the_limit() -> None:
    silent = Point(OperatingPoint(2, 1), 0.0, None)
    slow = Point(OperatingPoint(1, 1), 10.0, 9e6)
    chosen = choose_points([silent, slow], art_limit_ns=5_000_000, plateau_pct=1, mid_points=1)
    assert (chosen.maximum, chosen.below_art_limit) == (slow, False)
