"""The estimate of a run's folder is an upper bound of what a run leaves, and not a wild one."""

import pytest

from openpts.planning.dry_run import AssumedDrive, PlannedApply, capture_bytes, record_bytes
from openpts.units import KIB, NS_PER_S
from openpts.vocabulary.requests import Apply
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, ByteAmount, Duration, Step, Stimulus
from tests.support.one_point import run_one_point


def planned(step: Step, seconds: int) -> PlannedApply:
    return PlannedApply(1, Apply(Phase.ROUND, 1, (step,)), (seconds * NS_PER_S,), (0,))


def point(read_pct: int, *, capture: bool = False) -> Step:
    stimulus = Stimulus.of(AccessPattern.RANDOM, 4 * KIB, read_pct, 4, 32, ActiveRange())
    return Step.of(stimulus, Duration.seconds(60), capture=capture)


@pytest.mark.parametrize(("read_pct", "operations"), [(100, 1), (0, 1), (65, 2)])
def test_each_interval_has_a_histogram_for_each_operation(read_pct, operations) -> None:
    minute, hour = (record_bytes([planned(point(read_pct), s)], NS_PER_S) for s in (60, 3600))
    assert hour - minute == 3540 * (200 + operations * 6000)


def test_longer_intervals_make_a_smaller_record() -> None:
    seconds, minutes = (record_bytes([planned(point(0), 3600)], ns * NS_PER_S) for ns in (1, 60))
    assert seconds > 50 * (minutes - 1_000_000)


def test_a_histogram_of_a_slow_drive_has_a_bucket_for_each_write() -> None:
    writes = Stimulus.of(AccessPattern.RANDOM, 4 * KIB, 0, 4, 32, ActiveRange())
    apply = Apply(Phase.SWEEP, 1, (Step.of(writes, ByteAmount(4000 * KIB)),))
    slow, fast = (PlannedApply(1, apply, (s * NS_PER_S,), (4000 * KIB,)) for s in (10_000, 10))
    nothing = record_bytes([], NS_PER_S)
    assert record_bytes([slow], NS_PER_S) - nothing == 10_001 * 200 + 1000 * 150
    assert record_bytes([fast], NS_PER_S) - nothing == 11 * (200 + 6000)


def test_an_idle_gap_has_next_to_nothing() -> None:
    gap = Step.of(None, Duration.seconds(60))
    assert record_bytes([planned(gap, 60)], NS_PER_S) - record_bytes([], NS_PER_S) < 1000


def test_only_what_is_captured_counts_at_the_assumed_rate() -> None:
    drive = AssumedDrive(write_iops=10_000, write_bytes_per_s=10**12, latency_ns=1)
    assert capture_bytes([planned(point(0), 60)], drive) == 0
    assert capture_bytes([planned(point(0, capture=True), 60)], drive) == 60 * 10_000 * 9


def test_a_run_stays_below_its_estimate(tmp_path) -> None:
    folder = run_one_point("oracle", tmp_path / "run", step_s=60, max_rounds=5).folder
    size_bytes = sum(path.stat().st_size for path in folder.iterdir())
    fill_and_rounds = [planned(point(0), 60) for _ in range(5)]
    assert size_bytes < record_bytes(fill_and_rounds, NS_PER_S)
