"""The highest load within a limit, on a drive whose response times queueing theory has in closed form.

It serves one I/O after the other, each in the same time: with arrivals of a Poisson process that is M/D/1,
whatever the mix, since the sum of two Poisson processes is one.
"""

from typing import Any

import pytest
from msgspec.structs import replace

from openpts.fields.conditions import Conditions
from openpts.record.reader import Run
from openpts.report.run_part import summarize
from openpts.units import NS_PER_MS, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts_practice.qos import Limit, Operation, QosConditions
from tests.support.oracle_presets import write_oracle
from tests.support.queue_theory import highest_load, share_answered_within
from tests.support.transcript import Golden
from tests.support.whole_tests import run_whole

pytestmark = pytest.mark.slow

IOPS = 2000.0
SERVICE_NS = NS_PER_S / IOPS
TIGHT, LOOSE = Limit(Operation.READ, 99, 5 * NS_PER_MS), Limit(Operation.READ, 99, 15 * NS_PER_MS)
WRITES = Limit(Operation.WRITE, 90, 3 * NS_PER_MS)
NEVER = Limit(Operation.READ, 99, NS_PER_MS // 2 - 1000)
ALWAYS = Limit(Operation.READ, 50, 3600 * NS_PER_S)


def known_queue(conditions: Conditions) -> Conditions:
    """More slots than ever wait, so that the queue is the drive's and not the host's."""
    assert isinstance(conditions, QosConditions)
    return replace(
        conditions,
        limits=(TIGHT, LOOSE, WRITES, NEVER, ALWAYS),
        loads_pct=(20, 60, 98),
        minute_ns=100 * NS_PER_S,
        precondition_passes=0.1,
        tracking_period_ns=100 * NS_PER_S,
        tc=2,
        qd=512,
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("queue")
    preset = write_oracle(folder, [IOPS], by="seconds")
    return run_whole("qos", DriveClass.ENTERPRISE, folder / "run", known_queue, f"sim:{preset}")


@pytest.fixture(scope="module")
def figures(run: Run) -> dict[str, Any]:
    return dict(summarize(run))


def found(figures: dict[str, Any], read_pct: int, limit: Limit) -> dict[str, Any]:
    (one,) = [
        one for one in figures["highest_loads"] if one["read_pct"] == read_pct and one["limit"] == str(limit)
    ]
    return one


def test_peaks_are_those_of_the_drive(figures: dict[str, Any]) -> None:
    assert figures["peaks_iops"] == pytest.approx({"0/100": IOPS, "100/0": IOPS, "70/30": IOPS}, rel=1e-3)


@pytest.mark.parametrize(
    ("read_pct", "limit"), [(100, TIGHT), (100, LOOSE), (70, TIGHT), (70, LOOSE), (70, WRITES)], ids=str
)
def test_the_highest_load_is_that_of_theory(figures: dict[str, Any], read_pct: int, limit: Limit) -> None:
    exact = IOPS * highest_load(limit.latency_ns / SERVICE_NS, limit.percentile / 100)
    one = found(figures, read_pct, limit)
    assert one["reached"]
    assert one["kept_iops"] == pytest.approx(exact, rel=0.02)
    assert one["broken_iops"] == pytest.approx(exact, rel=0.02)
    assert one["doubt"] is None


@pytest.mark.parametrize("read_pct", [100, 70])
def test_where_no_load_keeps_a_limit_or_none_breaks_it_there_is_no_highest(
    figures: dict[str, Any], read_pct: int, golden: Golden
) -> None:
    never, always = found(figures, read_pct, NEVER), found(figures, read_pct, ALWAYS)
    assert (never["reached"], never["kept_iops"]) == (False, None)
    assert never["absence"] == golden
    assert (always["reached"], always["broken_iops"]) == (False, None)
    assert always["absence"] == golden


def test_percentiles_of_the_map_are_those_of_theory(figures: dict[str, Any]) -> None:
    """What is answered within the p99 that was measured is 99 %, whatever part of the load are writes."""
    carried = [pair for pair in figures["map"] if pair["reads_per_s"] + pair["writes_per_s"] < 0.9 * IOPS]
    assert len(carried) == 3
    for pair in carried:
        load = (pair["reads_per_s"] + pair["writes_per_s"]) / IOPS
        for operation in ("read", "write"):
            time = pair[f"{operation}_p99_ms"] * NS_PER_MS / SERVICE_NS
            assert share_answered_within(time, load) == pytest.approx(0.99, abs=0.003)


def test_pairs_beyond_the_drive_are_not_carried(figures: dict[str, Any]) -> None:
    for pair in figures["map"]:
        beyond = (pair["reads_per_s"] + pair["writes_per_s"]) / IOPS > 1.1
        assert pair["carried"] is not beyond
