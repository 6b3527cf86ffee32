"""How long histograms get, and what happens where the I/Os don't suffice all the same."""

import pytest
from msgspec.structs import replace

from openpts.fields.conditions import Conditions
from openpts.record.reader import Run
from openpts.units import NS_PER_S
from openpts.vocabulary.sample import Phase
from openpts_pts.shared.nines import histogram_ns
from tests.support.findings import findings
from tests.support.interval_samples import step_of
from tests.support.made_up_run import made_up_run

SHORTEST_NS = 1200 * NS_PER_S


@pytest.mark.proves("PTS-LAT-18", "PTS-LAT-20", "PTS-WSAT-21", "PTS-WSAT-23")
@pytest.mark.parametrize(
    ("per_s", "nines", "seconds"), [(1000, 5, 1200), (1000, 6, 1500), (100, 6, 15_000), (7, 3, 1200)]
)
def test_the_length_is_that_of_one_and_a_half_times_the_ios_needed(per_s, nines, seconds) -> None:
    measured = [step_of([[5] * per_s] * 3) for _ in range(5)]
    assert histogram_ns(SHORTEST_NS, nines, measured) == seconds * NS_PER_S
    assert histogram_ns(SHORTEST_NS, None, measured) == SHORTEST_NS


def test_only_recorded_ios_count_towards_nines() -> None:
    """A simulated drive at scale 1:50 tells 50 I/Os for each that has a response time."""
    sample = step_of([[5] * 20] * 3)
    scaled = replace(sample, write=replace(sample.write, ios=50 * sample.write.ios))
    assert scaled.iops == 1000
    assert histogram_ns(SHORTEST_NS, 6, [scaled]) == 75_000 * NS_PER_S


def test_without_an_io_there_is_no_rate() -> None:
    assert histogram_ns(SHORTEST_NS, 9, [step_of([[]])]) == SHORTEST_NS
    assert histogram_ns(SHORTEST_NS, 9, []) == SHORTEST_NS


def with_nines(nines: int) -> Run:
    def adjust(conditions: Conditions) -> Conditions:
        return replace(conditions, nines=nines)

    return made_up_run("lat", adjust=adjust)


@pytest.mark.proves("PTS-LAT-19", "PTS-LAT-21")
def test_nines_that_the_ios_carry_are_no_deviation() -> None:
    run = with_nines(7)
    assert findings(run) == ()
    assert sum(step.sample.ios for step in run.phase(Phase.HISTOGRAM)) == 24_000_000  # 20 min are enough


@pytest.mark.proves("PTS-LAT-19", "PTS-LAT-21")
def test_nines_that_the_ios_do_not_carry_are_in_the_ledger() -> None:
    """The drive was three times slower in the histogram than its window had led to believe."""
    run = with_nines(8)
    (first, *_) = run.phase(Phase.HISTOGRAM)
    slower = replace(run, steps=(*run.steps[: run.steps.index(first)], first))
    (entry,) = findings(slower)
    assert (entry.rule_id, entry.required) == ("PTS-LAT-19", "100,000,000 I/Os or more for 8 nines")
    assert entry.used == f"{first.sample.ios:,} I/Os"


@pytest.mark.proves("PTS-WSAT-22")
def test_each_workload_of_write_saturation_needs_its_ios() -> None:
    def adjust(conditions: Conditions) -> Conditions:
        return replace(conditions, histogram_ns=NS_PER_S, workloads=conditions.workloads * 2)

    entries = findings(made_up_run("wsat", adjust=adjust))
    assert [entry.rule_id for entry in entries] == ["PTS-WSAT-22"] * 2
    assert entries[0].used == "20,000 I/Os in the histogram of RND 4 KiB RW0"
