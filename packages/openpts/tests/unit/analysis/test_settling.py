"""When a drive that is left alone counts as settled: ranges and rates worked out by hand."""

import math

import pytest
from msgspec.structs import replace

from openpts.analysis.drive_work import CounterMeter, Drawn, WattMeter, change, write_amplification
from openpts.analysis.settling import IdleObservation, judge
from openpts.units import GIB, MB, NS_PER_S
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


S = 1_000_000_000


def test_a_counter_gives_what_it_went_between_two_moments() -> None:
    meter = CounterMeter([0, 10 * S, 30 * S], [0.0, 50.0, 90.0])
    assert meter.drawn(0, 10 * S) == Drawn(50.0, 10 * S)
    assert meter.drawn(10 * S, 30 * S) == Drawn(40.0, 20 * S)


def test_a_counter_says_nothing_before_its_first_value_and_where_it_went_back() -> None:
    meter = CounterMeter([10 * S, 20 * S], [50.0, 20.0])
    assert meter.drawn(0, 10 * S) == meter.drawn(10 * S, 20 * S) == Drawn()


def test_each_sample_holds_until_the_next() -> None:
    meter = WattMeter([0, S, 2 * S, 3 * S], [4.0, 6.0, 8.0, 10.0])
    found = meter.drawn(S // 2, 3 * S)
    assert found.joules == pytest.approx(4 / 2 + 6 + 8)
    assert (found.covered_ns, found.mean_w) == (5 * S // 2, pytest.approx(6.4))


def test_a_meter_that_was_silent_covers_less_and_its_mean_stays() -> None:
    """Samples each second but for 10 s: a value holds for three of the usual distances."""
    times = [*range(11), *range(21, 31)]
    meter = WattMeter([t * S for t in times], [5.0] * len(times))
    found = meter.drawn(0, 31 * S)
    assert found.covered_ns == 23 * S
    assert found.mean_w == pytest.approx(5)


def test_nothing_is_known_before_the_first_sample_and_long_after_the_last() -> None:
    meter = WattMeter([100 * S, 101 * S], [5.0, 5.0])
    assert meter.drawn(0, 100 * S) == meter.drawn(200 * S, 300 * S) == Drawn()
    assert Drawn().mean_w is None


def test_samples_of_a_course_come_to_its_integral() -> None:
    """A sine of 3 W around 5 W over whole periods, sampled ten times a second."""
    times = [n * S // 10 for n in range(601)]
    watts = [5 + 3 * math.sin(2 * math.pi * t / (20 * S)) for t in times]
    assert WattMeter(times, watts).drawn(0, 60 * S).joules == pytest.approx(300, rel=1e-3)


def test_a_step_that_begins_by_rounding_before_the_counter_is_read_has_none_of_the_energy_before_it() -> None:
    """As 3 of 100 runs on scaled simulated drives had it: the first load got the preconditioning's energy."""
    end_ns = 91_145_645_484
    meter = CounterMeter([0, end_ns, end_ns + 15 * S], [0.0, 1154.1, 1285.7])
    found = meter.drawn(end_ns - 1, end_ns - 1 + 15 * S + 1)
    assert found.joules == pytest.approx(131.6)


BEFORE = {"host_write_bytes": 10e9, "nand_write_bytes": 30e9}


def test_a_counter_that_went_back_tells_nothing() -> None:
    assert change({"power_cycles": 3}, {"power_cycles": 2}, "power_cycles") is None
    assert change({"power_cycles": 2}, {}, "power_cycles") is None


def test_write_amplification_is_flash_by_host() -> None:
    after = {"host_write_bytes": 12e9, "nand_write_bytes": 35e9}
    assert write_amplification(BEFORE, after) == 2.5
    assert write_amplification(BEFORE, BEFORE) is None
    assert write_amplification({}, after) is None


@pytest.mark.parametrize(("steps", "known"), [(49, False), (50, True)])
@pytest.mark.parametrize("coarse", ["host", "nand"])
def test_a_counter_in_gigabytes_must_have_gone_far_enough(coarse, steps, known) -> None:
    after = {name: value + 1000 * GIB for name, value in BEFORE.items()}
    after[f"{coarse}_write_bytes"] = BEFORE[f"{coarse}_write_bytes"] + steps * GIB
    after[f"{coarse}_write_unit_bytes"] = GIB
    assert (write_amplification(BEFORE, after) is not None) == known
