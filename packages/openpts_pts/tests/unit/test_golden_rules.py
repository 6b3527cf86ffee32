"""Small cases that the specification's rules decide, worked out by hand."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from openpts.analysis.latency import ios_needed
from openpts.units import NS_PER_MS, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.sample import CpuShares, OperationSample, Phase, Sample
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Duration, Step, Stimulus
from openpts_pts.dirth.script import standard_conditions
from openpts_pts.shared.demand.results import (
    DemandResults,
    OperatingPoint,
    analyze_demand,
    choose_points,
    operating_points,
)
from openpts_pts.shared.nines import histogram_ns
from openpts_pts.tests.unit.trace.scenario import CAPACITY_BYTES, STEADY, play, settling
from tests import DATA
from tests.support.interval_samples import sample_of
from tests.support.made_up_demand import Point
from tests.support.player import Drive
from tests.support.table import load

VECTORS = yaml.safe_load((DATA / "rule_vectors.yaml").read_text())
CHOICES = VECTORS["operating_points"]


def measured(points: Sequence[Sequence[float]]) -> list[Point]:
    return [
        Point(OperatingPoint(int(tc), int(qd)), iops, art_ms * NS_PER_MS) for tc, qd, iops, art_ms in points
    ]


def choose(points: list[Point], mid_points: int = 1) -> Any:
    return choose_points(points, replace(CONDITIONS, mid_points=mid_points))


@pytest.mark.parametrize("choice", CHOICES.values(), ids=CHOICES)
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.proves("PTS-CBW-31..36", "PTS-CBW-40..41", "PTS-DIRTH-23..28", "PTS-DIRTH-32..33")
def test_maximum_minimum_and_mid(choice, backwards) -> None:
    points = measured(choice["points"])
    chosen = choose(points[::-1] if backwards else points)
    assert [list(m.point) for m in chosen.in_order] == [choice["max"], choice["min"], choice["mid"]]
    assert chosen.mid_targets_iops == (choice["mid_target_iops"],)
    assert chosen.below_art_limit


@pytest.mark.proves("PTS-CBW-33", "PTS-DIRTH-25")
def test_5_ms_are_not_below_5_ms() -> None:
    chosen = choose(measured([[32, 32, 200000, 5.0], [8, 8, 100000, 4.999], [1, 1, 9000, 0.111]]))
    assert chosen.maximum.point == (8, 8)
    assert chosen.below_art_limit


def test_without_a_point_below_5_ms_the_maximum_is_that_of_the_lowest_response_time() -> None:
    chosen = choose(measured([[32, 32, 900, 1138], [2, 1, 110, 18.2], [1, 1, 60, 16.7]]))
    assert (chosen.maximum.point, chosen.below_art_limit) == ((1, 1), False)
    assert chosen.middles == ()


@pytest.mark.proves("PTS-CBW-35", "PTS-DIRTH-27")
def test_more_points_between_divide_the_iops_equally() -> None:
    points: list[list[float]] = [
        [32, 1, 100, 4],
        [16, 1, 76, 3],
        [8, 1, 51, 2],
        [4, 1, 24, 1],
        [2, 1, 40, 1],
        [1, 1, 0.5, 1],
    ]
    chosen = choose(measured(points), mid_points=3)
    assert chosen.mid_targets_iops == pytest.approx((25.375, 50.25, 75.125))
    assert [m.point.tc for m in chosen.middles] == [4, 8, 16]


@pytest.mark.proves("PTS-CBW-35", "PTS-DIRTH-27")
def test_of_two_points_as_near_to_the_middle_the_lower_toio_is_taken_then_the_higher_tc() -> None:
    ends: list[list[float]] = [[32, 1, 110, 1], [1, 1, 10, 1]]
    (lower,) = choose(measured([*ends, [8, 2, 50, 1], [4, 2, 70, 1]])).middles
    assert lower.point == (4, 2)
    (higher,) = choose(measured([*ends, [2, 4, 50, 1], [4, 2, 70, 1]])).middles
    assert higher.point == (4, 2)


@pytest.mark.proves("PTS-UNIT-04", "PTS-CBW-20..21", "PTS-CBW-24..25", "PTS-DIRTH-12..13", "PTS-DIRTH-16..17")
def test_operating_points_go_from_high_to_low() -> None:
    values = VECTORS["toio"]["values"]
    points = operating_points(values, values)
    assert [list(point) for point in points] == [
        point for same in load("cbw")["operating_points"].values() for point in same
    ]
    assert Counter(point.toio for point in points) == VECTORS["toio"]["combinations"]


@pytest.mark.parametrize("case", VECTORS["active_range"])
@pytest.mark.proves("PTS-DEF-01")
def test_active_range(case) -> None:
    phase = ActiveRange(case["start_pct"], case["end_pct"])
    max_user_lba = int(case["max_user_lba"])
    assert phase.first_and_last_lba(max_user_lba) == (case["first_lba"], case["last_lba"])
    assert phase.bytes_of((max_user_lba + 1) * 512, 512) == (
        case["first_lba"] * 512,
        (case["last_lba"] + 1) * 512,
    )


@pytest.mark.parametrize("name", ["iops", "tp", "lat"])
@pytest.mark.proves("PTS-IOPS-07", "PTS-TP-08", "PTS-LAT-07", "PTS-PRE-02")
def test_a_client_drive_is_preconditioned_2_67_times_in_its_range(name) -> None:
    played = play(name, "client", settling(STEADY, Phase.ROUND))
    (first, *_) = (applied for applied in played.applied if applied.phase is Phase.WIPC)
    start, end = first.step.stimulus.active_range.bytes_of(CAPACITY_BYTES, 512)
    # 500 MB/s are written, so the time tells the bytes
    written_bytes = first.elapsed_ns * 500 // 1000
    assert written_bytes / (end - start) == pytest.approx(
        VECTORS["client_wipc_passes_over_its_range"], abs=5e-5
    )


@pytest.mark.parametrize(("nines", "ios"), VECTORS["nines"]["ios_needed"].items())
@pytest.mark.proves("PTS-LAT-19", "PTS-WSAT-22")
def test_ios_needed_for_so_many_nines(nines, ios) -> None:
    assert ios_needed(float("99." + "9" * (nines - 2))) == ios


@pytest.mark.parametrize("case", VECTORS["nines"]["lengths"])
@pytest.mark.proves("PTS-LAT-18..21", "PTS-WSAT-21..23")
def test_time_for_so_many_nines(case) -> None:
    stimulus = Stimulus.of(AccessPattern.RANDOM, 4096, 0, 1, 1, ActiveRange())
    drive = Drive(1, lambda *_: case["iops"])
    measured = drive.sample(Phase.ROUND, 1, Step.of(stimulus, Duration.seconds(60)))
    length_s = histogram_ns(0, int(case["nines"]), [measured]) / NS_PER_S
    assert case["seconds_minimum"] < case["seconds_recommended"] <= length_s < case["seconds_recommended"] + 1


CONDITIONS = replace(standard_conditions(DriveClass.ENTERPRISE, 1), tcs=(4, 2, 1), qds=(2, 1))
POINTS = operating_points(CONDITIONS.tcs, CONDITIONS.qds)

Model = Callable[[int, OperatingPoint], int]


def measured_at(point: OperatingPoint, iops: int, *, cpu_pct: float | None = 5.0) -> Sample:
    latency_ns = point.toio * NS_PER_S // iops
    return sample_of(
        Step.of(
            Stimulus.of(AccessPattern.RANDOM, 8192, 65, point.tc, point.qd, ActiveRange()), Duration(NS_PER_S)
        ),
        read=OperationSample(iops, iops * 8192, iops * latency_ns, latency_ns, 2 * latency_ns, b""),
        cpu=None if cpu_pct is None else CpuShares(1, cpu_pct, 2, 3),
    )


def rounds(count: int, model: Model) -> Iterator[tuple[int, Sample]]:
    for number in range(1, count + 1):
        for point in POINTS:
            yield number, measured_at(point, model(number, point))


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
    assert not results.by_toio()
    assert results.knee_toio() is None


@pytest.mark.proves("PTS-CBW-59", "PTS-DIRTH-51")
def test_points_of_equal_toio_stand_together() -> None:
    by_toio = analyzed(5, lambda _number, point: 1000 * point.tc + point.qd).by_toio()
    assert [(toio, [one.point for one in points]) for toio, points in by_toio.items()] == [
        (1, [(1, 1)]),
        (2, [(2, 1), (1, 2)]),
        (4, [(4, 1), (2, 2)]),
        (8, [(4, 2)]),
    ]


def test_the_knee_is_where_response_times_exceed_twice_the_first() -> None:
    # a drive that answers 1,000 I/Os a second at most: 1 ms for each that is outstanding
    assert analyzed(5, lambda _number, _point: 1000).knee_toio() == 4
    assert analyzed(5, lambda _number, point: 1000 * point.toio).knee_toio() is None


def test_no_point_between_is_taken_twice() -> None:
    points = [
        Point(OperatingPoint(tc, 1), iops, 1e6) for tc, iops in ((32, 100.0), (8, 52.0), (4, 48.0), (1, 10.0))
    ]
    chosen = choose(points, mid_points=5)
    # 25 and 40 are nearest to 48, the others to what is left
    assert [middle.iops for middle in chosen.middles] == [48, 52]
    assert len(chosen.mid_targets_iops) == 5
    with pytest.raises(ValueError, match="no operating point"):
        choose([])


def test_a_point_without_an_io_has_no_response_time_below_the_limit() -> None:
    silent = Point(OperatingPoint(2, 1), 0.0, None)
    slow = Point(OperatingPoint(1, 1), 10.0, 9e6)
    chosen = choose([silent, slow])
    assert (chosen.maximum, chosen.below_art_limit) == (slow, False)
