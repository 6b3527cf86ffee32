"""What the figures of CBW and DIRTH show to deviate, found in runs made up for it."""

from pathlib import Path

import pytest

from openpts.record.reader import Run, read_run
from openpts.vocabulary.deviation import Deviation
from openpts.vocabulary.facts import CaptureReport
from openpts.vocabulary.phase import Phase
from tests.support.findings import findings
from tests.support.synthetic_demand import SyntheticDemand, write_synthetic_demand


def run_of(folder: Path, wanted: SyntheticDemand) -> Run:
    return read_run(write_synthetic_demand(folder / "run", wanted))


def found(folder: Path, wanted: SyntheticDemand) -> dict[str, Deviation]:
    return {entry.rule_id: entry for entry in findings(run_of(folder, wanted))}


@pytest.mark.parametrize("test", ["cbw", "dirth"])
def test_a_run_as_the_specification_wants_it_has_none(tmp_path: Path, test: str) -> None:
    assert found(tmp_path, SyntheticDemand(test)) == {}


@pytest.mark.parametrize(
    ("test", "limit", "middle"),
    [
        ("cbw", "PTS-CBW-33", "PTS-CBW-35"),
        ("dirth", "PTS-DIRTH-25", "PTS-DIRTH-27"),
    ],
)
@pytest.mark.proves("PTS-CBW-33", "PTS-CBW-35", "PTS-DIRTH-25", "PTS-DIRTH-27")
def test_no_point_below_the_limit_and_none_between(
    tmp_path: Path, test: str, limit: str, middle: str
) -> None:
    """At 6 ms for a single I/O the lowest response time is that of the minimum: nothing lies between."""
    entries = found(tmp_path, SyntheticDemand(test, latency_us=6_000))
    assert set(entries) == {limit, middle}
    assert entries[limit].required == "a MaxIOPS point with an average response time below 5.00 ms"
    assert "6.00 ms" in entries[limit].used


@pytest.mark.parametrize(
    ("test", "rule_id", "clause"),
    [("cbw", "PTS-CBW-17", "13.2 (3.2.2)"), ("dirth", "PTS-DIRTH-10", "14.2 (2.2.2)")],
)
@pytest.mark.proves("PTS-CBW-17", "PTS-DIRTH-10")
def test_preconditioning_that_never_got_steady_is_entered(
    tmp_path: Path, test: str, rule_id: str, clause: str
) -> None:
    """Minutes of 1 and 2 in turn: the last five are 1 2 1 2 1, whose range is 1 of 1.4 on average."""

    def restless(phase: Phase, number: int) -> float:
        return 0.5 if phase is Phase.WDPC and number % 2 else 1.0

    entries = found(tmp_path, SyntheticDemand(test, factor=restless))
    assert set(entries) == {rule_id}
    entry = entries[rule_id]
    assert entry.clause == clause
    assert entry.required == "preconditioning that comes to steady state within 25 tracking rounds"
    assert entry.used == "not steady in 25: range 71.4 % and slope 0.0 % of the average in the last 5"


def test_preconditioning_of_too_few_rounds_to_judge_is_entered(tmp_path: Path) -> None:
    (entry,) = found(tmp_path, SyntheticDemand("cbw", changes={"max_rounds": 3})).values()
    assert (entry.rule_id, entry.used) == ("PTS-CBW-17", "3 tracking rounds, too few to judge")


def test_fewer_points_between_than_asked_for_are_no_deviation(tmp_path: Path) -> None:
    """TC 4 / QD 1 and TC 1 / QD 4 are all that lies between 10,000 and 100,000 IOPS."""
    run = run_of(tmp_path, SyntheticDemand("cbw", changes={"mid_points": 3}))
    assert len(run.phase(Phase.HISTOGRAM)) == 4
    assert findings(run) == ()


@pytest.mark.proves("PTS-CBW-11")
def test_shares_that_are_off_are_one_entry_with_the_worst(tmp_path: Path) -> None:
    (entry,) = findings(run_of(tmp_path, SyntheticDemand("cbw", moved=0.01)))
    assert entry.rule_id == "PTS-CBW-11"
    # 0.67 % more of 8 KiB than 10 % of the I/Os; farthest off where most I/Os are
    assert entry.used.startswith("65 of 130 distributions are off")
    assert "(10.670 % for 10 %" in entry.used


@pytest.mark.parametrize(("test", "rule_id"), [("cbw", "PTS-CBW-38"), ("dirth", "PTS-DIRTH-30")])
@pytest.mark.proves("PTS-CBW-38", "PTS-DIRTH-30")
def test_ios_that_are_in_no_file_are_entered(tmp_path: Path, test: str, rule_id: str) -> None:
    lost = CaptureReport("capture", files=1, ios=9, lost="17 I/Os are in no file")
    (entry,) = findings(run_of(tmp_path, SyntheticDemand(test, capture=lost)))
    assert entry.rule_id == rule_id
    assert "17 I/Os are in no file" in entry.used
