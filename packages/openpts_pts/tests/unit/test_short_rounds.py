"""Elements of the short form: which are made longer, and when a window is known well enough."""

import math
from collections.abc import Sequence

import pytest
from msgspec.structs import replace as with_changes

from openpts.units import KIB, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.sample import Interval, Sample
from openpts.vocabulary.stimulus import AccessPattern, Duration
from openpts.vocabulary.uncertainty import Uncertainty
from openpts.vocabulary.verdict import Better, RoundPoint, TrackingVariable
from openpts_pages.measure import Measured
from openpts_pages.model import Cell
from openpts_pts.iops.script import standard_conditions
from openpts_pts.shared.one_pass import WINDOWS, OnePass
from openpts_pts.shared.rounds.report import RoundReport
from openpts_pts.shared.rounds.results import RoundTestResults, analyze_round_test
from openpts_pts.shared.rounds.script import first_round, following_round
from tests.support.made_up_run import made_up_run
from tests.support.synthetic_run import step_sample

WRITES = TrackingVariable(AccessPattern.RANDOM, 4 * KIB, 0)
MINUTE_NS = 60 * NS_PER_S


def element(read_pct: int, *rates: float) -> Sample:
    """One with an interval of a second for each rate."""
    seconds = [step_sample(4 * KIB, read_pct, rate, 1) for rate in rates]
    intervals = tuple(
        Interval(
            read=one.read, write=one.write, elapsed_ns=NS_PER_S, cpu=None, index=n, in_flight=0, errors=0
        )
        for n, one in enumerate(seconds)
    )
    whole = step_sample(4 * KIB, read_pct, sum(rates) / len(rates), len(rates))
    return with_changes(whole, intervals=intervals)


def following(*rounds: Sequence[Sample]) -> tuple[tuple[int, ...], bool]:
    """Seconds of the next elements, and whether the window is enough."""
    window = [tuple(one) for one in rounds]
    lengths_ns, steps = (4 * NS_PER_S, MINUTE_NS), tuple(one.step for one in window[-1])
    steps, enough = following_round(0.05, lengths_ns, (WRITES,), window, steps)
    lengths = [step.stop.duration_ns // NS_PER_S for step in steps if isinstance(step.stop, Duration)]
    return tuple(lengths), enough


LEVEL = (1000.0, 1002.0, 998.0, 1001.0)
RISES = (1000.0, 1100.0, 1200.0, 1300.0)


def test_the_first_round_has_a_minute_and_all_others_short_elements_where_these_show_the_same() -> None:
    steps = tuple(element(read_pct, *LEVEL).step for read_pct in (0, 50, 65))
    first = first_round(MINUTE_NS, (WRITES,), steps)
    assert [step.stop for step in first] == [Duration(ns * NS_PER_S) for ns in (60, 4, 60)]
    level, later = element(0, *LEVEL * 15), element(65, *[930.0] * 5, *[1000.0] * 55)
    assert following((level, element(50, *RISES), later)) == ((4, 4, 60), False)
    # each of these short elements is level, so that nothing else would have made it longer
    short = element(65, *[930.0] * 4)
    assert following(*[(element(0, *LEVEL), short)] * 5) == ((4, 4), True)


def test_a_variable_that_is_still_on_its_way_when_it_ends_becomes_a_minute() -> None:
    one = (element(0, *RISES), element(65, *LEVEL))
    assert following(one, one)[0] == (4, 4)
    assert following(one, one, one) == ((60, 4), False)
    # a key value as well, which no rule of steady state is about
    other = (element(0, *LEVEL), element(65, *RISES))
    assert following(other, other, other) == ((4, 60), False)
    # all others would be most of what the rounds write
    further = (element(0, *LEVEL), element(50, *RISES))
    assert following(further, further, further) == ((4, 4), True)


def test_a_variable_is_known_only_from_elements_of_one_length() -> None:
    short, long = element(0, *RISES), element(0, *LEVEL * 4)
    assert following(*[(short,)] * 3) == ((60,), False)
    assert following(*[(short,)] * 3, (long,)) == ((16,), False)
    assert following(*[(long,)] * 5) == ((16,), True)


def test_scatter_makes_no_element_longer_but_the_window_not_enough() -> None:
    ups, downs = element(0, *RISES), element(0, *reversed(RISES))
    assert following((ups,), (downs,), (ups,), (downs,)) == ((4,), True)
    more, less = element(0, *(2 * rate for rate in LEVEL)), element(0, *LEVEL)
    assert following((more,), (less,), (more,), (less,)) == ((4,), False)


def test_a_variable_that_a_window_does_not_know_well_enough_has_longer_elements() -> None:
    level, stalled = element(0, *LEVEL), element(0, 1000.0, 100.0, 1000.0, 1000.0)
    assert following((level,), (stalled,), (level,), (level,)) == ((4,), False)
    assert following((level,), (stalled,), (level,), (level,), (level,)) == ((60,), False)
    # of what reports have on their cover as well, which no rule of steady state is about; of no others
    mixed = [
        (level, *(element(pct, *(rate * (1 + place) for rate in LEVEL)) for pct in (50, 65)))
        for place in range(5)
    ]
    assert following(*mixed) == ((4, 4, 60), False)


def test_none_is_longer_than_a_minute() -> None:
    assert following(*[(element(0, *(1000.0 + 100 * place for place in range(20))),)] * 3) == ((60,), False)
    minute = element(0, *(1000.0 + 100 * place for place in range(60)))
    assert following(*[(minute,)] * 3) == ((60,), False)


def one_pass() -> OnePass:
    """One that holds, with windows of 1,000 IOPS after it."""
    fresh, afterwards = (
        tuple(step_sample(4 * KIB, 0, iops, 4) for _ in range(WINDOWS)) for iops in (2000, 1000)
    )
    return OnePass(fresh, afterwards, 1.28)


def rounds_of(write_iops: float, before: OnePass | None) -> RoundTestResults:
    """Five rounds of 4 KiB reads and of writes at this rate."""
    conditions = with_changes(
        standard_conditions(DriveClass.ENTERPRISE, seed=1),
        block_sizes_bytes=(4 * KIB,),
        read_pcts=(100, 0),
        within_pct=5.0,
        minute_ns=5 * NS_PER_S,
    )
    elements = [(number, *one) for number in range(1, 6) for one in ((100, 5000.0), (0, write_iops))]
    rounds = [(number, step_sample(4 * KIB, pct, iops, 4)) for number, pct, iops in elements]
    return analyze_round_test(conditions, rounds, 5, one_pass=before)


def test_rounds_that_change_the_rate_of_the_windows_after_the_pass_are_in_another_state() -> None:
    """By root sum of squares with what the pass may have left."""

    def state(write_iops: float, read_pct: int) -> float | None:
        cells = rounds_of(write_iops, one_pass()).cells
        return cells[RoundPoint(AccessPattern.RANDOM, 4 * KIB, read_pct)].state

    left = one_pass().state_off
    assert left is not None
    assert state(1000, 0) == pytest.approx(left)
    assert state(1040, 0) == state(960, 0) == pytest.approx(math.hypot(left, 0.04))
    assert state(1040, 100) == 0


def test_values_that_are_not_known_as_well_as_was_asked_for_are_named() -> None:
    def value(label: str, expanded: float) -> Measured:
        found = Uncertainty(standard=expanded / 2, coverage_factor=2.0)
        return Measured(label, label, "IOPS", Cell("200", 200.0), Better.HIGHER, uncertainty=found)

    values = (value("well", 10.0), value("badly", 12.0))
    short = rounds_of(1000, one_pass())
    one, others = RoundReport(made_up_run("iops"), short).short_form(values)
    assert one.text == "badly: known within 6 % at 95 %, and 5 % were asked for."
    assert "elements of 5.00 s" in others.text
    # at full length, after a pass that didn't hold as well
    assert RoundReport(made_up_run("iops"), rounds_of(1000, None)).short_form(values) == ()
