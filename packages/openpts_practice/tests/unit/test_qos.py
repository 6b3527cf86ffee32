"""The test of response times under load: what it asks for, what a load is, how the highest one is found."""

import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from openpts.analysis.latency import encode_counts
from openpts.errors import UsageError
from openpts.parameters.overrides import Overrides, conditions_of, refuse_contradictions
from openpts.planning.dry_run import AssumedDrive, Ending, dry_run
from openpts.units import KIB, MIB, NS_PER_MS, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.requests import Apply, CycleFinished, Purge, SetWriteCache
from openpts.vocabulary.sample import Phase, Sample
from openpts.vocabulary.stimulus import (
    ActiveRange,
    ByteAmount,
    ClosedLoop,
    Duration,
    FixedRate,
    Poisson,
    Step,
    Stimulus,
)
from openpts_practice.qos import Limit, Operation, QosConditions
from openpts_practice.qos.points import MOST_MEASUREMENTS, Bracket, Point, bracket_of, ios_for, points_of
from openpts_practice.qos.results import contour
from openpts_practice.qos.script import load_step, script, standard_conditions
from tests.support.queueing_drive import QueueingDrive

CAPACITY_BYTES = 1000 * MIB
READS_PER_S, WRITES_PER_S = 100_000, 25_000
MINUTE_NS = 60 * NS_PER_S
P99 = Limit(Operation.READ, 99, NS_PER_MS)


def conditions(drive_class: DriveClass = DriveClass.ENTERPRISE, **changes: Any) -> QosConditions:
    return replace(standard_conditions(drive_class, 7), **changes)


def service_rate(stimulus: Stimulus, _phase: Phase, _number: int) -> float:
    reads = stimulus.read_pct / 100
    return 1 / (reads / READS_PER_S + (1 - reads) / WRITES_PER_S)


DRIVE = QueueingDrive(CAPACITY_BYTES, service_rate, reads_per_s=READS_PER_S, writes_per_s=WRITES_PER_S)


def requests(used: QosConditions) -> list[Any]:
    return DRIVE.play(script(used, CAPACITY_BYTES)).requests


def applies(used: QosConditions, phase: Phase) -> list[Apply]:
    return [one for one in requests(used) if isinstance(one, Apply) and one.phase is phase]


def rates(step: Step) -> tuple[float, float]:
    (point,) = points_of([DRIVE.sample(Phase.SWEEP, 1, step)])
    return point.reads_per_s, point.writes_per_s


@pytest.mark.parametrize("drive_class", list(DriveClass))
def test_the_drive_is_purged_filled_and_written_until_steady(drive_class) -> None:
    asked = requests(conditions(drive_class))
    enterprise = drive_class is DriveClass.ENTERPRISE
    assert asked[:2] == [Purge(), SetWriteCache(not enterprise)]
    fill, *tracked = [one for one in asked if isinstance(one, Apply)][:6]
    (step,) = fill.steps
    assert (step.stimulus.block_size_bytes, step.stimulus.random_pct, step.stimulus.read_pct) == (
        128 * KIB,
        0,
        0,
    )
    assert step.stop == ByteAmount(2 * CAPACITY_BYTES)
    for number, apply in enumerate(tracked, start=1):
        assert (apply.phase, apply.number) == (Phase.WDPC, number)
        assert [one.stop for one in apply.steps][-1] == Duration(MINUTE_NS)
        stimulus = apply.steps[-1].stimulus
        tc, qd = (4, 32) if enterprise else (2, 32)
        assert (stimulus.random_pct, stimulus.read_pct, stimulus.tc, stimulus.qd) == (100, 0, tc, qd)
    assert isinstance(asked[-1], CycleFinished)
    assert asked[-1].outcome.steady_round == 5


def test_peaks_are_closed_loops_of_writes_reads_and_each_mix() -> None:
    (apply,) = applies(conditions(), Phase.PROFILE)
    stimuli = [step.stimulus for step in apply.steps]
    assert [one.read_pct for one in stimuli if one] == [0, 100, 70]
    assert {one.pacing for one in stimuli if one} == {ClosedLoop()}


def test_the_map_has_each_pair_once_as_two_streams() -> None:
    used = conditions()
    (apply,) = applies(used, Phase.SWEEP)
    wanted = {
        (round(r / 100 * READS_PER_S), round(w / 100 * WRITES_PER_S))
        for r in used.loads_pct
        for w in used.loads_pct
    }
    found = [tuple(map(round, rates(step))) for step in apply.steps]
    assert (len(found), set(found)) == (36, wanted)
    for step in apply.steps:
        assert [stream.name for stream in step.streams] == ["reads", "writes"]
        assert [stimulus.read_pct for stimulus in step.stimuli] == [100, 0]
        assert all(isinstance(stimulus.pacing, Poisson) for stimulus in step.stimuli)
        assert {stimulus.active_range for stimulus in step.stimuli} == {ActiveRange(0, 100)}
        assert (step.ramp_ns, step.stop) == (5 * NS_PER_S, Duration(MINUTE_NS))


def test_the_order_of_the_map_is_that_of_the_seed() -> None:
    used = conditions()
    orders = [[rates(step) for step in applies(one, Phase.SWEEP)[0].steps] for one in (used, used)]
    assert orders[0] == orders[1] != sorted(orders[0])
    (other,) = applies(replace(used, seed=8), Phase.SWEEP)
    assert [rates(step) for step in other.steps] != orders[0]


def test_a_fixed_rate_may_be_asked_for() -> None:
    step = load_step(conditions(arrivals="fixed"), 700, 300)
    assert [stimulus.pacing for stimulus in step.stimuli] == [FixedRate(700), FixedRate(300)]


def test_a_load_of_one_operation_is_one_stream() -> None:
    (stimulus,) = load_step(conditions(), 700, 0).stimuli
    assert (stimulus.read_pct, stimulus.planned_ios_per_s) == (100, 700)


def test_a_mix_of_reads_alone_has_no_writes_at_a_rate_of_rounding() -> None:
    rate = 2e4 / 3
    assert any((load := share / 100 * rate) * 100 / 100 != load for share in conditions().loads_pct)
    drive = QueueingDrive(CAPACITY_BYTES, lambda *_: rate, reads_per_s=rate, writes_per_s=rate)
    asked = drive.play(script(conditions(mixes_read_pct=(100, 0), limits=()), CAPACITY_BYTES)).requests
    loads = [one for one in asked if isinstance(one, Apply) and one.phase is Phase.LOAD]
    found = {apply.number: {one.read_pct for step in apply.steps for one in step.stimuli} for apply in loads}
    assert found == {1: {100}, 2: {0}}


@pytest.mark.parametrize(("reads_per_s", "seconds"), [(100_000, 60), (200, 60), (100, 100), (15, 600)])
def test_a_load_lasts_until_ten_ios_are_slower_than_its_percentile(reads_per_s, seconds) -> None:
    """p99.9 takes 10,000 I/Os."""
    assert load_step(conditions(), reads_per_s, 0).stop == Duration(seconds * NS_PER_S)


def sample_at(load_per_s: float, **changes: Any) -> Sample:
    return replace(DRIVE.sample(Phase.LOAD, 1, load_step(conditions(), load_per_s, 0)), **changes)


def point_at(load_per_s: float, **changes: Any) -> Point:
    return points_of([sample_at(load_per_s, **changes)])[0]


def test_ios_that_were_not_done_make_a_load_that_is_not_carried() -> None:
    whole = point_at(1000)
    assert (whole.done_pct, whole.is_carried(1)) == (100, True)
    left = point_at(1000, unissued=600)
    assert left.done_pct == pytest.approx(100 * 60_000 / 60_600)
    assert [left.is_carried(share) for share in (0.9, 1)] == [False, True]


def test_an_engine_that_counts_no_undone_ios_is_found_out() -> None:
    """Half of the I/Os offered were done; a Poisson process alone is within four standard errors."""
    sample = sample_at(1000)
    halved = replace(sample, read=replace(sample.read, ios=sample.read.ios // 2))
    assert points_of([halved])[0].done_pct == pytest.approx(50 + 400 / 60_000**0.5)
    few = replace(sample, read=replace(sample.read, ios=sample.read.ios - 900))  # of 60,000 +- 4 x 245
    assert points_of([few])[0].done_pct == 100


def test_a_load_that_is_not_carried_keeps_no_limit() -> None:
    assert point_at(1000).keeps(P99, 1) is True
    assert point_at(1000, unissued=1000).keeps(P99, 1) is False
    assert point_at(99_500).keeps(P99, 1) is False


def test_too_few_ios_say_nothing_of_a_percentile() -> None:
    few = point_at(
        1000,
        read=DRIVE.sample(Phase.LOAD, 1, load_step(conditions(), 10, 0)).read,
        step=load_step(conditions(), 10, 0),
    )
    assert few.distribution(Operation.READ).count < ios_for(99.99)
    assert few.keeps(Limit(Operation.READ, 99.99, NS_PER_MS), 1) is None
    assert few.percentile_ns(Operation.READ, 99) is not None


def test_several_measurements_of_a_load_are_one_point() -> None:
    points = points_of([sample_at(load) for load in (500, 200, 500, 500)])
    assert [(point.ios_per_s, len(point.samples)) for point in points] == [(200, 1), (500, 3)]
    assert (
        points[1].distribution(Operation.READ).count
        == 3 * points_of([sample_at(500)])[0].distribution(Operation.READ).count
    )


def bracket(*loads: float, limit: Limit = P99, **changes: Any) -> Bracket:
    return bracket_of(points_of([sample_at(load) for load in loads]), limit, conditions(**changes))


def ends(found: Bracket) -> tuple[float | None, float | None]:
    kept, broken = (None if end is None else end.ios_per_s for end in (found.kept, found.broken))
    return kept, broken


def test_the_search_halves_what_is_left() -> None:
    """p99 of M/M/1 is ln 100 services of 1 / (1 - load): 1 ms at 95.4 % of 100,000 a second."""
    assert ends(bracket(10_000, 50_000, 100_000)) == (50_000, 100_000)
    assert bracket(10_000, 50_000, 100_000).next_load(conditions()) == 75_000


def test_ends_that_lie_close_are_measured_again() -> None:
    used = conditions(repeats=2)
    loads = [95_000.0, 95_800.0]
    assert bracket(*loads).next_load(used) == 95_000
    assert bracket(*loads, 95_000).next_load(used) == 95_800
    assert bracket(*loads, *loads).next_load(used) is None


def test_a_limit_that_every_load_keeps_or_breaks_is_not_reached() -> None:
    for loads, expected in (((1000.0, 2000.0), (2000, None)), ((98_000.0, 99_000.0), (None, 98_000))):
        found = bracket(*loads)
        assert (ends(found), found.is_reached, found.next_load(conditions())) == (expected, False, None)


def test_lower_loads_that_break_a_limit_are_counted() -> None:
    """A drive that sleeps at low loads answers later than at higher ones."""
    asleep = sample_at(100, read=sample_at(99_000).read, step=load_step(conditions(), 100, 0))
    found = bracket_of(points_of([asleep, sample_at(50_000), sample_at(99_000)]), P99, conditions())
    assert (ends(found), found.broken_below) == ((50_000, 99_000), 1)


def test_of_each_mix_and_limit_the_highest_load_is_found() -> None:
    """What M/M/1 has in closed form: load = 1 - ln(1 / (1 - q)) / (limit x rate)."""
    found = [
        apply for apply in requests(conditions()) if isinstance(apply, Apply) and apply.phase is Phase.LOAD
    ]
    for number, rate in ((1, READS_PER_S), (2, 1 / (0.7 / READS_PER_S + 0.3 / WRITES_PER_S))):
        steps = [step for apply in found if apply.number == number for step in apply.steps]
        points = points_of([DRIVE.sample(Phase.LOAD, number, step) for step in steps])
        exact = rate * (1 - 4.605 / (1e-3 * READS_PER_S))
        kept, broken = ends(bracket_of(points, P99, conditions()))
        assert broken is not None
        assert kept <= exact * 1.001 <= broken * 1.002
        assert (broken - kept) / broken <= 0.01
        assert bracket_of(points, P99, conditions()).next_load(conditions()) is None


def test_a_drive_without_io_ends_the_test() -> None:
    played = script(conditions(), CAPACITY_BYTES)
    answer: Any = None
    while not isinstance(request := played.send(answer), CycleFinished):
        answer = None
        if isinstance(request, Apply):
            samples = [DRIVE.sample(request.phase, request.number, step) for step in request.steps]
            nothing = request.phase is Phase.PROFILE
            answer = tuple(
                replace(one, read=replace(one.read, ios=0), write=replace(one.write, ios=0))
                if nothing
                else one
                for one in samples
            )
    assert request.outcome.ended_by == "no I/O at a peak"


def test_a_plan_has_the_longest_search() -> None:
    planned = dry_run(script(conditions(), CAPACITY_BYTES), CAPACITY_BYTES, AssumedDrive(), Ending.LONGEST)
    of_loads = [one for one in planned if one.apply.phase is Phase.LOAD]
    for number in (1, 2):
        searched = [one for one in of_loads if one.apply.number == number][1:]
        assert 2 * 5 <= len(searched) < 2 * MOST_MEASUREMENTS
    assert sum(sum(one.written_bytes) for one in planned if one.apply.phase is Phase.SWEEP) > 0


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("p99=1ms", P99),
        ("read-p99.9=500us", Limit(Operation.READ, 99.9, 500_000)),
        (" write-p50=0.2s ", Limit(Operation.WRITE, 50, 200 * NS_PER_MS)),
    ],
)
def test_limits_are_written_as_they_are_spoken(text, limit) -> None:
    used = conditions_of(Overrides({"limits": [text]}, {"limits": "--limits"}), conditions())
    assert used.limits == (limit,)


@pytest.mark.parametrize(
    "text", ["99=1ms", "p100=1ms", "p99=1", "p99=0ms", "p0=1ms", "trim-p99=1ms", "p99=1ms;", ""]
)
def test_other_limits_are_refused(text) -> None:
    with pytest.raises(UsageError, match="--limits"):
        conditions_of(Overrides({"limits": [text]}, {"limits": "--limits"}), conditions())


@pytest.mark.parametrize(
    "values",
    [
        {"limits": ["write-p99=1ms"], "mixes_read_pct": [100]},
        {"mixes_read_pct": [0]},
        {"longest_seconds": 30},
    ],
)
def test_what_can_not_be_together_is_refused(values) -> None:
    given = Overrides(values, {name: name for name in values})
    with pytest.raises(UsageError):
        refuse_contradictions(given, conditions_of(given, conditions()))


def test_a_limit_of_writes_is_searched_in_mixes_that_write() -> None:
    used = conditions(limits=(P99, Limit(Operation.WRITE, 99, NS_PER_MS)), mixes_read_pct=(100, 70, 0))
    assert [len(used.limits_of(mix)) for mix in used.mixes_read_pct] == [1, 2, 1]


def test_a_time_scale_leaves_the_limits() -> None:
    scaled = conditions_of(Overrides({"time_scale": "1/60"}, {"time_scale": "--time-scale"}), conditions())
    assert (scaled.minute_ns, scaled.limits) == (NS_PER_S, conditions().limits)


def test_ios_that_the_host_submitted_late_mark_a_load() -> None:
    """Half of them 10 ms late, where a response takes 10 us."""
    assert not point_at(1000, slips=encode_counts([(0, 60_000)])).is_limited_by_host
    assert point_at(1000, slips=encode_counts([(0, 30_000), (10_000_000, 30_000)])).is_limited_by_host


def test_a_line_crosses_where_the_logarithm_does() -> None:
    grid = [[1.0, 100.0], [1.0, 100.0]]
    assert contour(grid, 10) == (((0.5, 0.0), (0.5, 1.0)),)
    ((first, _second),) = contour(grid, 2)
    assert first[0] == pytest.approx(math.log10(2) / 2)


def test_a_line_through_several_squares_is_one() -> None:
    """x * y = constant: straight lines on two logarithmic axes."""
    grid = [[10.0 ** (row + column) for column in range(4)] for row in range(4)]
    ((*line,),) = contour(grid, 10**2.5)
    assert all(column + row == pytest.approx(2.5) for column, row in line)
    assert {line[0], line[-1]} == {(2.5, 0.0), (0.0, 2.5)}


def test_a_hill_has_a_ring() -> None:
    grid = [[1.0, 1.0, 1.0], [1.0, 100.0, 1.0], [1.0, 1.0, 1.0]]
    (ring,) = contour(grid, 10)
    assert ring[0] == ring[-1]
    assert set(ring) == {(0.5, 1.0), (1.0, 0.5), (1.5, 1.0), (1.0, 1.5)}


@pytest.mark.parametrize("kept_at_first", [True, False])
def test_opposite_corners_that_keep_the_limit_are_held_apart(kept_at_first) -> None:
    low, high = (1.0, 100.0) if kept_at_first else (100.0, 1.0)
    lines = contour([[low, high], [high, low]], 10)
    kept = [(0, 0), (1, 1)] if kept_at_first else [(1, 0), (0, 1)]
    assert len(lines) == 2
    for line in lines:
        near = [corner for corner in kept if all(math.dist(corner, place) <= 0.5 for place in line)]
        assert len(near) == 1


def test_beside_a_load_that_is_not_carried_it_is_at_the_one_that_keeps_the_limit() -> None:
    assert contour([[1.0, math.inf], [1.0, math.inf]], 10) == (((0.0, 0.0), (0.0, 1.0)),)


def test_squares_with_a_corner_that_is_not_known_have_no_line() -> None:
    assert contour([[1.0, 100.0, 100.0], [1.0, None, 100.0]], 10) == ()


def test_where_all_or_none_keep_the_limit_there_is_no_line() -> None:
    grid = [[1.0, 2.0], [3.0, 4.0]]
    assert contour(grid, 4) == contour(grid, 0.5) == ()


_GRIDS = st.integers(2, 6).flatmap(
    lambda columns: st.lists(
        st.lists(st.one_of(st.floats(0.01, 1e6), st.just(math.inf)), min_size=columns, max_size=columns),
        min_size=2,
        max_size=6,
    )
)


@given(_GRIDS, st.floats(0.01, 1e6))
@example([[0.010000000000000002, 0.01], [math.inf, 1.0]], 0.01)
def test_lines_end_at_the_border_only(grid, limit) -> None:
    """And each change between neighbors has exactly one place on them."""
    rows, columns = len(grid), len(grid[0])
    kept = [[value <= limit for value in row] for row in grid]
    changes = sum(kept[r][c] != kept[r][c + 1] for r in range(rows) for c in range(columns - 1))
    changes += sum(kept[r][c] != kept[r + 1][c] for r in range(rows - 1) for c in range(columns))
    lines = contour(grid, limit)
    rings = [line for line in lines if line[0] == line[-1] and len(line) > 3]
    assert changes <= sum(map(len, lines)) <= changes + len(lines)
    for line in lines:
        if line not in rings:
            for column, row in (line[0], line[-1]):
                assert column in {0, columns - 1} or row in {0, rows - 1}
