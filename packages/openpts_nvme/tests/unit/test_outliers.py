"""Causes of slow I/Os, held against stalls that were planted, and against the drive's own counts."""

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
from msgspec.structs import replace

from openpts.record.health import HealthRecord, ReadingPoint, TelemetrySeries
from openpts.record.reader import StepRecord
from openpts.units import NS_PER_MS, NS_PER_S
from openpts.vocabulary.facts import HealthReading
from openpts.vocabulary.sample import Phase, SlowIo, StepPlace
from openpts_nvme.outliers.causes import BUCKETS, OPERATIONS, PREFIX, Cause, MonitorInterval, comparisons_of
from openpts_nvme.outliers.pages import judged
from openpts_nvme.outliers.rules import HIDES, Around, Surroundings, Witnessed, cause_of
from tests.support.interval_samples import step_of
from tests.support.judged_stalls import judged_stalls

if TYPE_CHECKING:
    from openpts.record.reader import Run

# Of a drive that had it alone while its thread looked four times; nothing else is known.
AT_DRIVE = SlowIo(
    operation="write",
    offset_bytes=8192,
    length_bytes=4096,
    submitted_ns=NS_PER_S,
    latency_ns=20 * NS_PER_MS,
    silence_ns=20 * NS_PER_MS,
    idle_ns=5_000,
    absent_ns=0,
    own_ns=0,
    waited_ns=10_000,
    ran_ns=30_000,
    interruptions=0,
    looks=4,
    least_at_driver=1,
    missing_at_driver=0,
    foreign_at_driver=0,
)
CLEAN = Around(link_errors=0.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit_ms", "lengths_ms", "least"), [(0.2, (0.2, 5.0), 0.95), (5.0, (5.0, 50.0), 0.99)]
)
def test_planted_stalls_are_put_down_to_what_was_planted(limit_ms, lengths_ms, least) -> None:
    found = judged_stalls(1200, 7, limit_ms, lengths_ms)
    assert found.recall >= least, found.table()
    assert found.precision >= least, found.table()


def test_what_the_record_does_not_tell_is_not_known() -> None:
    told = Witnessed(AT_DRIVE, CLEAN)
    assert cause_of(told)[0] is Cause.DRIVE
    for less in (
        replace(told, around=Around()),
        replace(told, slow=replace(AT_DRIVE, least_at_driver=None, missing_at_driver=None)),
        replace(told, slow=replace(AT_DRIVE, looks=0)),
    ):
        assert cause_of(less)[0] is Cause.NOT_KNOWN


_MOST_SECONDS = [second for second in range(38) if second % 5 in {1, 2, 3}]


@pytest.mark.parametrize(
    ("slow_s", "others_too", "cause"),
    [
        (_MOST_SECONDS, False, Cause.LINK),
        (_MOST_SECONDS, True, Cause.DRIVE),
        # none of the seconds is without: whether errors are usual can't be told
        (range(2, 38), True, Cause.DRIVE),
    ],
)
def test_errors_of_a_link_that_come_with_slow_ios_alone_are_their_cause(slow_s, others_too, cause) -> None:
    slow_ios = [replace(AT_DRIVE, submitted_ns=s * NS_PER_S + NS_PER_S // 2) for s in slow_s]
    errors = [sum(second in slow_s or others_too for second in range(at)) for at in range(42)]
    counter = TelemetrySeries([s * NS_PER_S for s in range(42)], [float(count) for count in errors])
    surroundings = Surroundings({"link_errors_tcp": counter}, (), 1.0, slow_ios)
    step = StepRecord(StepPlace(1, Phase.ROUND, 1, 0), step_of([[80_000] * 1000]))
    found = {cause_of(Witnessed(slow, surroundings.around(slow, step)))[0] for slow in slow_ios}
    assert found == {cause}


def test_the_drives_own_count_confirms_or_denies() -> None:
    blind = Witnessed(AT_DRIVE, Around())
    assert cause_of(replace(blind, drive_denies=False))[0] is Cause.DRIVE
    assert cause_of(replace(blind, drive_denies=True))[0] is Cause.LINK
    stopped = replace(AT_DRIVE, absent_ns=15 * NS_PER_MS, interruptions=1)
    assert cause_of(Witnessed(stopped, CLEAN, drive_denies=True))[0] is Cause.ENGINE


def test_a_drive_that_had_it_alone_and_denies_it_hides_it() -> None:
    assert cause_of(Witnessed(AT_DRIVE, CLEAN, drive_denies=True)) == (Cause.DRIVE, HIDES)
    deep = replace(AT_DRIVE, least_at_driver=32)
    assert cause_of(Witnessed(deep, CLEAN, drive_denies=True))[0] is Cause.LINK


def _reading(t_s: int, writes: tuple[int, ...]) -> HealthRecord:
    values = {f"{PREFIX}{words}_{bucket}": 0.0 for words in OPERATIONS.values() for bucket in range(BUCKETS)}
    values |= {f"{PREFIX}writes_{bucket}": float(count) for bucket, count in enumerate(writes)}
    values |= {f"{PREFIX}threshold_{bucket}_ms": ms for bucket, ms in enumerate((5.0, 10.0, 50.0, 250.0))}
    reading = HealthReading("log", values)
    return HealthRecord(ReadingPoint.DURING, 1, None, None, "", t_s * NS_PER_S, reading)


@pytest.mark.parametrize(
    ("after", "lacks"), [((0, 0, 0, 0), 2), ((0, 1, 0, 0), 1), ((0, 2, 0, 0), 0), ((0, 5, 0, 0), 0)]
)
def test_a_drive_that_lacks_what_it_had_alone_is_named(after, lacks) -> None:
    sample = step_of([[20 * NS_PER_MS, 20 * NS_PER_MS, 6 * NS_PER_MS]])
    deep = replace(AT_DRIVE, least_at_driver=4)
    sample = replace(sample, slow_ios=(AT_DRIVE, AT_DRIVE, deep))
    run = SimpleNamespace(
        manifest=SimpleNamespace(ordered=None),
        telemetry_series={"aer_correctable_errors": TelemetrySeries((0, 2 * NS_PER_S), (0.0, 0.0))},
        health=(_reading(0, (0, 0, 0, 0)), _reading(2, after)),
        steps=(StepRecord(StepPlace(1, Phase.ROUND, 1, 0), sample),),
    )
    found = judged(cast("Run", run))
    assert [one.hidden for one in found.comparisons] == [lacks]
    named = f"The drive hides outliers: of the I/Os that it had alone its latency monitor lacks {lacks}."
    assert found.hides == (named if lacks else "")


def _compared(*writes: tuple[int, ...]) -> MonitorInterval:
    """Between the readings of one step with writes of 1, 6, 7, 20 and 300 ms."""
    latencies_ns = [ms * NS_PER_MS for ms in (1, 6, 7, 20, 300)]
    step = StepRecord(StepPlace(1, Phase.ROUND, 1, 0), step_of([latencies_ns]))
    (found,) = comparisons_of([_reading(2 * at, counts) for at, counts in enumerate(writes)], [step])
    return found


def test_both_witnesses_count_in_the_same_buckets() -> None:
    found = _compared((4, 4, 4, 4), (6, 5, 4, 5))
    assert found.thresholds_ns == tuple(ms * NS_PER_MS for ms in (5, 10, 50, 250))
    assert found.host["write"] == (4, 2, 1, 1)
    assert found.drive["write"] == (4, 2, 1, 1)
    assert found.drive["read"] == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("after", "denies"), [((0, 0, 0, 0), True), ((2, 1, 0, 1), False), ((0, 0, 0, 1), None)]
)
def test_a_drive_that_counts_fewer_says_not_which(after, denies) -> None:
    found = _compared((0, 0, 0, 0), after)
    assert found.denies(replace(AT_DRIVE, submitted_ns=0)) is denies
    assert found.denies(replace(AT_DRIVE, submitted_ns=0, latency_ns=4 * NS_PER_MS)) is None
    assert found.denies(replace(AT_DRIVE, submitted_ns=9 * NS_PER_S)) is None


def test_a_drive_with_more_has_commands_of_others() -> None:
    assert _compared((0, 0, 0, 0), (9, 0, 0, 0)).denies(replace(AT_DRIVE, submitted_ns=0)) is False
