"""When a drive that is left alone counts as settled: ranges and rates worked out by hand."""

import pytest
from msgspec.structs import replace

from openpts.analysis.settling import IdleObservation, judge
from openpts.units import MB, NS_PER_S
from openpts.vocabulary.settling import SettlingRule

RULE = SettlingRule(looks=3, least_ns=0, median_within_pct=10, tail_within_pct=20, within_k=1)


def looks(*values: tuple[int | None, int | None, float | None]) -> list[IdleObservation]:
    return [IdleObservation(60 * NS_PER_S * n, *value) for n, value in enumerate(values, start=1)]


def test_too_few_looks_settle_nothing() -> None:
    verdict = judge(looks((100, 200, 30.0), (100, 200, 30.0)), RULE)
    assert (verdict.settled, verdict.restless) == (False, "2 of 3 looks")


def test_ranges_are_told_and_count_up_to_their_limit() -> None:
    verdict = judge(looks((95, 180, 30.0), (100, 200, 31.0), (105, 220, 31.0)), RULE)
    assert verdict.median_range_pct == pytest.approx(10)  # 10 of 100
    assert verdict.tail_range_pct == pytest.approx(20)  # 40 of 200
    assert verdict.range_k == 1
    assert verdict.settled


@pytest.mark.parametrize(
    ("last", "says"),
    [
        ((111, 200, 30.0), "median within 10.6 %, not 10"),  # 11 of 103.67
        ((100, 250, 30.0), "99 % within 23.1 %, not 20"),  # 50 of 216.67
        ((100, 200, 31.5), "temperature within 1.5 K, not 1"),
        ((111, 250, 30.0), "median within 10.6 %, not 10; 99 % within 23.1 %, not 20"),
    ],
)
def test_what_still_moves_is_named(last, says) -> None:
    verdict = judge(looks((100, 200, 30.0), (100, 200, 30.0), last), RULE)
    assert (verdict.settled, verdict.restless) == (False, says)


def test_only_the_last_looks_count() -> None:
    assert judge(looks((900, 9000, 60.0), *[(100, 200, 30.0)] * 3), RULE).settled


def test_a_drive_without_a_temperature_is_judged_by_its_response_times() -> None:
    assert judge(looks(*[(100, 200, None)] * 3), RULE).settled


def test_a_temperature_that_was_lost_is_not_judged() -> None:
    verdict = judge(looks((100, 200, 30.0), (100, 200, None), (100, 200, 30.0)), RULE)
    assert verdict.settled
    assert verdict.range_k is None


def test_nothing_to_judge_by_is_not_settled() -> None:
    verdict = judge(looks(*[(None, None, None)] * 3), RULE)
    assert (verdict.settled, verdict.restless) == (
        False,
        "neither response times nor a temperature to judge by",
    )


def test_the_least_time_is_waited_for() -> None:
    rule = replace(RULE, least_ns=200 * NS_PER_S)
    steady = [(100, 200, 30.0)] * 4
    assert judge(looks(*steady[:3]), rule).restless == "less idle time than asked for"  # 180 s
    assert judge(looks(*steady), rule).settled  # 240 s


@pytest.mark.parametrize(("bytes_in_window", "settled"), [(119 * MB, True), (240 * MB, False)])
def test_writes_to_the_media_without_a_host_are_background_work(bytes_in_window, settled) -> None:
    """Two minutes lie between the first look and the last: 120 MB are 1 MB/s."""
    window = [
        IdleObservation(60 * NS_PER_S * n, 100, 200, 30.0, 5e12 + written)
        for n, written in ((1, 0), (2, bytes_in_window), (3, bytes_in_window))
    ]
    verdict = judge(window, RULE)
    assert verdict.nand_bytes_per_s == pytest.approx(bytes_in_window / 120)
    assert verdict.settled is settled
    if not settled:
        assert verdict.restless == "NAND writes within 2 MB/s, not 1"
