"""Counters of a drive and samples of its power: changes and integrals worked out by hand."""

import math

import pytest

from openpts.units import GIB
from openpts_work.counters import CounterMeter, Drawn, WattMeter, change, write_amplification

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
