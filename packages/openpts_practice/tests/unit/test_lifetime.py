"""What the lifetime test asks of a drive, and what ends it."""

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from msgspec.structs import replace
from msgspec.structs import replace as with_changes
from scipy import optimize, stats

from openpts.units import GB, KIB, NS_PER_S, TB
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.facts import HealthReading
from openpts.vocabulary.requests import Apply, CycleFinished, Purge
from openpts.vocabulary.sample import NOTHING, IoErrors, IoFailure, OperationSample, Phase, Sample, StepState
from openpts.vocabulary.stimulus import (
    AccessPattern,
    ActiveRange,
    ByteAmount,
    Duration,
    RandomData,
    Step,
    Stimulus,
    VerifiedData,
    ZeroData,
)
from openpts_practice.lifetime import Continued, StopOn
from openpts_practice.lifetime.results import (
    SPEED,
    DriveCycle,
    FittedLine,
    drive_cycle,
    stretches,
    wear_points,
)
from openpts_practice.lifetime.script import A_HANDFUL, standard_conditions, without_data
from openpts_practice.lifetime.script import script as lifetime_test
from tests.support.interval_samples import sample_of
from tests.support.player import Drive, Played

CAPACITY_BYTES = 960 * GB
PIECE_BYTES = 2**38


def play(logs: list[Mapping[str, float]] | None = None, **changes: Any) -> Played:
    """``logs``: what is told before the first cycle, and after each; the last of them from then on."""
    conditions = replace(standard_conditions(DriveClass.ENTERPRISE, 1), **changes)
    left = list(logs or [{}])

    def health(_phase: Phase, _number: int) -> HealthReading:
        return HealthReading("made up", left.pop(0) if len(left) > 1 else left[0])

    return Drive(CAPACITY_BYTES, lambda *_: 10_000, health).play(lifetime_test(conditions, CAPACITY_BYTES))


def ended(played: Played) -> tuple[int, str]:
    cycles = [r.number for r in played.requests if isinstance(r, Apply)]
    (outcome,) = played.outcomes
    return cycles[-1], outcome.ended_by


@pytest.mark.proves("HYP-LIFE-01")
def test_a_cycle_writes_the_range_once_and_reads_it_once() -> None:
    played = play(drive_cycles=2)
    for number in (1, 2):
        steps = [a.step for a in played.applied if a.number == number]
        amounts = [step.stop.amount_bytes for step in steps if isinstance(step.stop, ByteAmount)]
        assert amounts == [PIECE_BYTES] * 3 + [CAPACITY_BYTES - 3 * PIECE_BYTES] + [PIECE_BYTES] * 3 + [
            CAPACITY_BYTES - 3 * PIECE_BYTES
        ]
        stimuli = [step.stimulus for step in steps if step.stimulus is not None]
        assert [s.read_pct for s in stimuli] == [0] * 4 + [100] * 4
        assert {(s.random_pct, s.block_size_bytes, s.tc, s.qd) for s in stimuli} == {(0, 128 * KIB, 1, 32)}
        assert {s.data for s in stimuli} == {VerifiedData(number)}


def test_the_active_range_bounds_a_cycle() -> None:
    played = play(drive_cycles=1, active_range=ActiveRange(0, 25))
    assert sum(a.step.stop.amount_bytes for a in played.applied) == 2 * CAPACITY_BYTES // 4  # type: ignore[union-attr]


def test_a_drive_that_keeps_no_data_is_not_compared() -> None:
    conditions = without_data(standard_conditions(DriveClass.CLIENT, 1))
    played = Drive(CAPACITY_BYTES, lambda *_: 10_000).play(lifetime_test(conditions, CAPACITY_BYTES))
    assert {a.step.stimulus.data for a in played.applied if a.step.stimulus} == {RandomData()}


def test_other_data_than_random_is_written_as_asked_for_and_not_compared() -> None:
    """Zeros are zeros, whichever cycle wrote them."""
    played = play(drive_cycles=1, data=ZeroData())
    assert {a.step.stimulus.data for a in played.applied if a.step.stimulus} == {ZeroData()}


def test_no_drive_is_used_up_unasked() -> None:
    assert ended(play()) == (A_HANDFUL, "5 cycles, as asked for")


@pytest.mark.proves("HYP-TMP-01")
def test_a_run_that_continues_another_reads_first_what_that_wrote() -> None:
    after = Continued(
        run="EARLIER",
        folder="/earlier",
        cycle=5,
        written_at="2026-01-01T00:00:00+00:00",
        written_ns=0,
        written_c=None,
        compares=True,
        rest_ns=0,
        reads=(),
    )
    played = play(drive_cycles=2, continues=after)
    assert not any(isinstance(request, Purge) for request in played.requests)
    later = [a for a in played.applied if a.phase is Phase.LATER_READ]
    assert {(a.number, a.step.stimulus.data, a.step.stimulus.read_pct) for a in later if a.step.stimulus} == {
        (5, VerifiedData(5), 100)
    }
    assert sum(a.step.stop.amount_bytes for a in later) == CAPACITY_BYTES  # type: ignore[union-attr]
    cycles = dict.fromkeys(a.number for a in played.applied if a.phase is Phase.DRIVE_CYCLE)
    assert (list(cycles), played.applied[: len(later)]) == ([6, 7], later)
    assert ended(played) == (7, "2 cycles, as asked for")
    uncompared = play(drive_cycles=1, continues=replace(after, compares=False))
    assert {a.step.stimulus.data for a in uncompared.applied[: len(later)] if a.step.stimulus} == {
        RandomData()
    }
    rested = play(drive_cycles=1, continues=replace(after, rest_ns=NS_PER_S))
    assert rested.applied[0].step == Step.of(None, Duration(NS_PER_S))


def test_media_errors_do_not_end_a_run_that_waits_for_a_failed_write() -> None:
    logs = [{"media_errors": 0}, {"media_errors": 4}]
    assert ended(play(logs, stop_on=StopOn.FAILED_WRITE)) == (A_HANDFUL, "5 cycles, as asked for")
    assert not standard_conditions(DriveClass.CLIENT, 1).goes_on_over_read_errors
    assert replace(
        standard_conditions(DriveClass.CLIENT, 1), stop_on=StopOn.FAILED_WRITE
    ).goes_on_over_read_errors


def wear(*shares: float) -> list[Mapping[str, float]]:
    return [{"percentage_used_pct": share} for share in shares]


@pytest.mark.parametrize(
    ("logs", "changes", "cycle", "reason"),
    [
        (wear(97, 98, 99.5, 100), {}, 3, "100 % of the rated life used (limit 100 %)"),
        (wear(97, 98, 99.5, 100), {"wear_limit_pct": 98}, 1, "98 % of the rated life used (limit 98 %)"),
        (wear(0), {"write_limit_bytes": 2 * TB}, 3, "2.88 TB written (limit 2 TB)"),
        (
            [{"media_errors": 4}, {"media_errors": 4}, {"media_errors": 6}],
            {},
            2,
            "media errors counted by the drive: 2",
        ),
        ([{"read_only": 0}, {"read_only": 1}], {}, 1, "the drive takes no more writes"),
        (wear(0), {"longest_ns": 1500 * NS_PER_S}, 2, "48 min 50 s elapsed (limit 25 min 0 s)"),
    ],
)
def test_what_ends_it_sooner(logs, changes, cycle, reason) -> None:
    assert ended(play(logs, **changes)) == (cycle, reason)


@pytest.mark.parametrize("operation", ["write", "read"])
def test_the_first_failed_io_ends_it(operation) -> None:
    """HYP-LIFE-03: and the log is read once more after it."""
    drive = Drive(CAPACITY_BYTES, lambda *_: 10_000)
    script = lifetime_test(standard_conditions(DriveClass.ENTERPRISE, 1), CAPACITY_BYTES)
    answer: Any = None
    while not isinstance(request := script.send(answer), CycleFinished):
        answer = HealthReading("made up") if not isinstance(request, Apply) else None
        if isinstance(request, Apply):
            assert request.may_fail
            samples = [drive.sample(request.phase, request.number, step) for step in request.steps[:2]]
            bad = with_changes(
                samples[1], state=StepState.FAILED, failure=IoFailure(operation, 0, 512, "gone")
            )
            answer = (samples[0], bad)
    assert request.outcome.ended_by == f"first failed {operation} in cycle 1: gone"
    with pytest.raises(StopIteration):
        next(script)


def sample(read_pct: int, length_s: int, amount: int, slowest_ns: int) -> Sample:
    stimulus = Stimulus.of(AccessPattern.SEQUENTIAL, 128 * KIB, read_pct, 1, 32, ActiveRange())
    done = OperationSample(10, amount, 10, 1, slowest_ns, b"")
    return sample_of(
        Step.of(stimulus, ByteAmount(amount)),
        ended_by="amount",
        elapsed_ns=length_s * NS_PER_S,
        read=done if read_pct else NOTHING,
        write=NOTHING if read_pct else done,
    )


def cycle(number: int, wear: float, **log: float) -> DriveCycle:
    samples = [sample(0, 10, 1000, 50), sample(0, 30, 2000, 90), sample(100, 5, 3000, 20)]
    return drive_cycle(number, samples, {"percentage_used_pct": wear, **log})


def test_a_cycle_puts_its_steps_together() -> None:
    found = cycle(3, 1.0)
    assert (found.write.bytes, SPEED.of(found.write), found.write.max_latency_ns) == (3000, 75, 90)
    assert (found.read.bytes, SPEED.of(found.read), found.read.max_latency_ns) == (3000, 600, 20)
    assert (found.errors, found.failure, found.complete) == (0, None, True)


def test_a_cycle_whose_reads_are_missing_is_not_complete() -> None:
    """A run that was stopped between two steps: each of them is."""
    assert not drive_cycle(1, [sample(0, 10, 1000, 50)], {}).complete
    assert not drive_cycle(1, [sample(0, 10, 2000, 50), sample(100, 5, 1000, 20)], {}).complete
    assert drive_cycle(1, [sample(0, 10, 2000, 50), *[sample(100, 5, 1000, 20)] * 2], {}).complete


def test_reads_that_failed_and_did_not_end_it_leave_a_cycle_complete() -> None:
    """The last read of a range may be shorter than the others."""
    written = sample(0, 10, 1000 * KIB, 50)
    lost = IoErrors("read", "no", 2, (0, 131_072))
    failure = IoFailure("read", 0, 128 * KIB, "no")
    reads = replace(sample(100, 5, 744 * KIB, 20), errors=(lost,), failure=failure)
    found = drive_cycle(1, [written, reads], {})
    assert (found.complete, found.written, found.errors, found.failure) == (True, True, 2, None)
    fewer = replace(reads, errors=(replace(lost, count=1),))
    assert not drive_cycle(1, [written, fewer], {}).complete


def test_a_cycle_that_failed_has_no_read_and_counts_its_errors() -> None:
    failure = IoFailure("write", 4096, 512, "no")
    bad = replace(
        sample(0, 2, 100, 9),
        state=StepState.FAILED,
        failure=failure,
        errors=(IoErrors("write", "no", 3, (1,)), IoErrors("read", "no", 1, (1,))),
    )
    found = drive_cycle(1, [sample(0, 10, 1000, 50), bad], {})
    assert (found.complete, found.errors, found.failure) == (False, 4, failure)
    assert SPEED.of(found.read) is None
    assert wear_points([found], {"percentage_used_pct": 7.0}) == ((0, 7.0),)


def test_a_run_of_little_wear_is_told_cycle_by_cycle() -> None:
    cycles = [cycle(n, n * 0.9) for n in range(1, 6)]
    found = stretches(cycles, {"percentage_used_pct": 0.0})
    assert [(s.first, s.last, s.wear_pct) for s in found] == [(n, n, n * 0.9) for n in range(1, 6)]


def test_a_stretch_spans_five_per_cent_of_wear() -> None:
    # 2 % a cycle from 10 % on: cycles 1 to 3 begin below 15 %, 4 and 5 below 20 %, 6 to 8 below 25 %
    before = {"percentage_used_pct": 10.0, "media_errors": 1.0}
    cycles = [cycle(n, 10 + 2 * n, media_errors=float(n), available_spare_pct=100 - n) for n in range(1, 9)]
    found = stretches(cycles, before)
    assert [(s.first, s.last) for s in found] == [(1, 3), (4, 5), (6, 8)]
    assert [s.wear_pct for s in found] == [16, 20, 26]
    assert [s.media_errors for s in found] == [2, 2, 3]
    assert [s.spare_pct for s in found] == [97, 95, 92]
    assert SPEED.of(found[0].write) == 75
    assert found[0].write.bytes == 9000
    assert found[2].write_amplification is None


def test_wear_points_begin_before_the_first_cycle() -> None:
    cycles = [cycle(1, 0.5), cycle(2, 1.25)]
    assert wear_points(cycles, {"percentage_used_pct": 0.25}) == ((0, 0.25), (1, 0.5), (2, 1.25))
    assert wear_points([], {}) == ()


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_log_that_lacks_wear_at_any_time_is_told_cycle_by_cycle(missing) -> None:
    cycles = [cycle(n, 10.0 * n) for n in (1, 2)]
    logs = [{"percentage_used_pct": 0.0}, *(c.log for c in cycles)]
    logs[missing] = {}
    cycles = [replace(c, log=logs[n]) for n, c in enumerate(cycles, start=1)]
    assert len(stretches(cycles, logs[0])) == 2


Points = Sequence[tuple[float, float]]

WORN: list[tuple[float, float]] = [(n, round(0.1 * n + 0.3)) for n in range(40)]
"""A log in whole per cent, as drives keep it."""


def scattered(count: int, slope: float, deviation: float, seed: int) -> list[tuple[float, float]]:
    draws = random.Random(seed)
    return [(float(n), 2 + slope * n + draws.gauss(0, deviation)) for n in range(count)]


CASES = [scattered(3, 1.5, 0.5, 1), scattered(12, 0.4, 0.1, 2), scattered(200, 0.05, 1.0, 3), WORN]


def line_through(points: Points) -> FittedLine:
    line = FittedLine.through(points)
    assert line is not None
    return line


def oracle_interval(points: Points, x: float, confidence: float) -> tuple[float, float]:
    xs, ys = [p[0] for p in points], [p[1] for p in points]
    fit = stats.linregress(xs, ys)
    n, mean = len(xs), sum(xs) / len(xs)
    left = sum((y - fit.intercept - fit.slope * x_) ** 2 for x_, y in points)
    deviation = math.sqrt(left / (n - 2))
    spread = sum((x_ - mean) ** 2 for x_ in xs)
    t = stats.t.ppf((1 + confidence) / 2, n - 2)
    half = t * deviation * math.sqrt(1 + 1 / n + (x - mean) ** 2 / spread)
    at = fit.intercept + fit.slope * x
    return at - half, at + half


@pytest.mark.parametrize("points", CASES)
def test_the_line_is_that_of_linregress(points) -> None:
    line = line_through(points)
    fit = stats.linregress([p[0] for p in points], [p[1] for p in points])
    assert line.slope == pytest.approx(fit.slope, rel=1e-12)
    for x in (-3.0, 0.0, 17.5, 1000.0):
        assert line.at(x) == pytest.approx(fit.intercept + fit.slope * x, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("points", CASES)
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_the_interval_is_that_of_the_t_distribution(points, confidence) -> None:
    line = line_through(points)
    for x in (0.0, 7.0, 60.0, 900.0):
        assert line.interval(x, confidence) == pytest.approx(oracle_interval(points, x, confidence), rel=1e-9)


@pytest.mark.parametrize("points", CASES[1:])
def test_a_crossing_is_where_the_ends_of_the_interval_reach_the_value(points) -> None:
    line, value = line_through(points), 100.0
    crossing = line.crossing(value, 0.95)
    assert crossing.earliest < crossing.likely < crossing.latest
    for end, found in ((1, crossing.earliest), (0, crossing.latest)):
        root = optimize.brentq(lambda x, end=end: oracle_interval(points, x, 0.95)[end] - value, 0, 1e6)
        assert found == pytest.approx(root, rel=1e-9)
    assert line.at(crossing.likely) == pytest.approx(value)


def test_a_slope_that_may_be_none_has_no_latest_crossing() -> None:
    points = [(0.0, 0.0), (1.0, 0.5), (2.0, 0.2), (3.0, 0.6), (4.0, 0.3)]
    line = line_through(points)
    crossing = line.crossing(100, 0.95)
    assert crossing.latest is None
    root = optimize.brentq(lambda x: oracle_interval(points, x, 0.95)[1] - 100, 4, 1e6)
    assert crossing.earliest == pytest.approx(root, rel=1e-9)
    # and no lower end ever comes so far
    assert all(line.interval(10.0**n, 0.95)[0] < 100 for n in range(12))


def test_points_on_a_line_leave_no_doubt() -> None:
    crossing = line_through([(n, 3 * n + 1) for n in range(5)]).crossing(100, 0.95)
    assert (crossing.earliest, crossing.likely, crossing.latest) == pytest.approx((33, 33, 33))


@pytest.mark.parametrize("points", [[], [(1, 2)], [(1, 2), (2, 3)], [(4, 1), (4, 2), (4, 3)]])
def test_there_is_no_line_through_too_little(points) -> None:
    assert FittedLine.through(points) is None


@pytest.mark.parametrize("slope", [0, -0.5])
def test_a_line_that_does_not_rise_crosses_nothing(slope) -> None:
    assert line_through([(n, 5 + slope * n) for n in range(6)]).crossing(100, 0.95) is None
