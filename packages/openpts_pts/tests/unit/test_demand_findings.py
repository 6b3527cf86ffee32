"""What the figures of CBW and DIRTH show to deviate, found in runs made up for it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from openpts.record.reader import Run, StepRecord
from openpts.runner.resource_check import interval_ns
from openpts.units import NS_PER_MS
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.verdict import Deviation
from tests.support.findings import findings
from tests.support.made_up_demand import demand_run, with_capture, with_shares_off
from tests.support.made_up_run import made_up_run


def found(run: Run) -> dict[str, Deviation]:
    return {entry.rule_id: entry for entry in findings(run)}


@pytest.mark.parametrize("test", ["cbw", "dirth"])
def test_a_run_as_the_specification_wants_it_has_none(test) -> None:
    assert found(demand_run(test)) == {}


@pytest.mark.parametrize(
    ("test", "limit", "middle"),
    [("cbw", "PTS-CBW-33", "PTS-CBW-35"), ("dirth", "PTS-DIRTH-25", "PTS-DIRTH-27")],
)
@pytest.mark.proves("PTS-CBW-33", "PTS-CBW-35", "PTS-DIRTH-25", "PTS-DIRTH-27")
def test_no_point_below_the_limit_and_none_between(test, limit, middle, golden) -> None:
    """At 6 ms for a single I/O the lowest response time is that of the minimum: nothing lies between."""
    entries = found(demand_run(test, latency_us=6_000))
    assert set(entries) == {limit, middle}
    assert entries[limit].required == "a MaxIOPS point with an average response time below 5.00 ms"
    assert entries[limit].used == golden


@pytest.mark.parametrize(
    ("test", "rule_id", "clause"),
    [("cbw", "PTS-CBW-17", "13.2 (3.2.2)"), ("dirth", "PTS-DIRTH-10", "14.2 (2.2.2)")],
)
@pytest.mark.proves("PTS-CBW-17", "PTS-DIRTH-10")
def test_preconditioning_that_never_got_steady_is_entered(test, rule_id, clause) -> None:
    """Minutes of 1 and 2 in turn: the last five are 1 2 1 2 1, whose range is 1 of 1.4 on average."""

    def restless(phase: Phase, number: int) -> float:
        return 0.5 if phase is Phase.WDPC and number % 2 else 1.0

    entries = found(demand_run(test, factor=restless))
    assert set(entries) == {rule_id}
    entry = entries[rule_id]
    assert entry.clause == clause
    assert entry.required == "preconditioning that comes to steady state within 25 tracking rounds"
    assert entry.used == "not steady in 25: range 71.4 % and slope 0.0 % of the average in the last 5"


def test_preconditioning_of_too_few_rounds_to_judge_is_entered() -> None:
    (entry,) = found(demand_run("cbw", max_rounds=3)).values()
    assert (entry.rule_id, entry.used) == ("PTS-CBW-17", "3 tracking rounds, too few to judge")


def test_fewer_points_between_than_asked_for_are_no_deviation() -> None:
    """TC 4 / QD 1 and TC 1 / QD 4 are all that lies between 10,000 and 100,000 IOPS."""
    run = demand_run("cbw", mid_points=3)
    assert len(run.phase(Phase.HISTOGRAM)) == 4
    assert findings(run) == ()


@pytest.mark.proves("PTS-CBW-11")
def test_shares_that_are_off_are_one_entry_with_the_worst(golden) -> None:
    (entry,) = findings(with_shares_off(demand_run("cbw")))
    assert entry.rule_id == "PTS-CBW-11"
    # 0.67 % more of 8 KiB than 10 % of the I/Os; farthest off where most I/Os are
    assert entry.used == golden


@pytest.mark.parametrize(("test", "rule_id"), [("cbw", "PTS-CBW-38"), ("dirth", "PTS-DIRTH-30")])
@pytest.mark.proves("PTS-CBW-38", "PTS-DIRTH-30")
def test_ios_that_are_in_no_file_are_entered(test, rule_id) -> None:
    (entry,) = findings(with_capture(demand_run(test), "17 I/Os are in no file"))
    assert entry.rule_id == rule_id
    assert "17 I/Os are in no file" in entry.used


SECOND_NS = 10**9


@pytest.mark.parametrize(
    ("minute_s", "interval_s"), [(60, 1), (10, 1), (4, 1), (3, 0.75), (0.4, 0.1), (2.5, 0.625), (4.5, 0.9)]
)
def test_an_interval_is_a_second_or_a_part_of_the_minute(minute_s, interval_s) -> None:
    assert interval_ns(round(minute_s * SECOND_NS)) == round(interval_s * SECOND_NS)


@given(minute_ns=st.integers(10**6, 3600 * SECOND_NS))
def test_a_minute_is_whole_intervals_but_for_what_no_clock_shows(minute_ns) -> None:
    length_ns = interval_ns(minute_ns)
    number = round(minute_ns / length_ns)
    assert number >= 4
    assert 0 < length_ns <= SECOND_NS
    assert 0 <= minute_ns - number * length_ns < number


RULES = {1: "PTS-HIR-12", 2: "PTS-HIR-13", 3: "PTS-HIR-14", 5: "PTS-HIR-15", 10: "PTS-HIR-16"}


@pytest.fixture(scope="module")
def run() -> Run:
    return made_up_run("hir")


def with_a_late_start(run: Run, state: int, late_ns: int) -> Run:
    """The second burst of a wait state begins so much late."""

    def moved(step: StepRecord) -> StepRecord:
        place = step.place
        if (place.phase, place.number, place.position) != (Phase.WAIT_STATE, state, 2):
            return step
        return replace(step, sample=replace(step.sample, started_ns=step.sample.started_ns + late_ns))

    return replace(run, steps=tuple(moved(step) for step in run.steps))


@pytest.mark.proves("PTS-HIR-12..16")
@pytest.mark.parametrize(("state", "rule_id"), RULES.items())
def test_a_late_edge_is_entered_under_the_requirement_of_its_wait_state(run, state, rule_id) -> None:
    assert findings(run) == ()
    assert findings(with_a_late_start(run, state, 9 * NS_PER_MS)) == ()
    late = findings(with_a_late_start(run, state, 11 * NS_PER_MS))
    assert {entry.rule_id for entry in late} == {rule_id}
