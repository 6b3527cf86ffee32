"""What the figures of CBW and DIRTH show to deviate, found in runs made up for it."""

import pytest

from openpts.record.reader import Run
from openpts.vocabulary.deviation import Deviation
from openpts.vocabulary.phase import Phase
from tests.support.findings import findings
from tests.support.made_up_demand import demand_run, with_capture, with_shares_off
from tests.support.transcript import Golden


def found(run: Run) -> dict[str, Deviation]:
    return {entry.rule_id: entry for entry in findings(run)}


@pytest.mark.parametrize("test", ["cbw", "dirth"])
def test_a_run_as_the_specification_wants_it_has_none(test: str) -> None:
    assert found(demand_run(test)) == {}


@pytest.mark.parametrize(
    ("test", "limit", "middle"),
    [("cbw", "PTS-CBW-33", "PTS-CBW-35"), ("dirth", "PTS-DIRTH-25", "PTS-DIRTH-27")],
)
@pytest.mark.proves("PTS-CBW-33", "PTS-CBW-35", "PTS-DIRTH-25", "PTS-DIRTH-27")
def test_no_point_below_the_limit_and_none_between(
    test: str, limit: str, middle: str, golden: Golden
) -> None:
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
def test_preconditioning_that_never_got_steady_is_entered(test: str, rule_id: str, clause: str) -> None:
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
def test_shares_that_are_off_are_one_entry_with_the_worst(golden: Golden) -> None:
    (entry,) = findings(with_shares_off(demand_run("cbw")))
    assert entry.rule_id == "PTS-CBW-11"
    # 0.67 % more of 8 KiB than 10 % of the I/Os; farthest off where most I/Os are
    assert entry.used == golden


@pytest.mark.parametrize(("test", "rule_id"), [("cbw", "PTS-CBW-38"), ("dirth", "PTS-DIRTH-30")])
@pytest.mark.proves("PTS-CBW-38", "PTS-DIRTH-30")
def test_ios_that_are_in_no_file_are_entered(test: str, rule_id: str) -> None:
    (entry,) = findings(with_capture(demand_run(test), "17 I/Os are in no file"))
    assert entry.rule_id == rule_id
    assert "17 I/Os are in no file" in entry.used
