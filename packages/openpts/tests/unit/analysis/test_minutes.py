"""Minutes between the tracked ones, on courses of which each minute is known."""

import numpy as np
import pytest
from msgspec.structs import replace as with_changes

from openpts.analysis.minutes import minutes_of, pieces_between, pieces_of, starts_ns, whole_minutes
from openpts.units import NS_PER_S
from openpts.vocabulary.sample import NOTHING
from tests.support.interval_samples import SIZE_BYTES, in_turn, step_of

MINUTE_NS = 60 * NS_PER_S
random = np.random.default_rng(5)


def seconds(count: int) -> list[list[int]]:
    return [random.integers(10_000, 9_000_000, random.integers(0, 9)).tolist() for _ in range(count)]


@pytest.mark.proves("PTS-WSAT-11", "PTS-XSR-14")
def test_sums_over_all_minutes_are_exactly_those_of_the_steps() -> None:
    steps = in_turn(step_of(seconds(60)), step_of(seconds(1740)), step_of(seconds(60), last_ns=NS_PER_S // 2))
    rows = minutes_of(steps, MINUTE_NS)
    assert [row.number for row in rows] == list(range(1, 32))
    for field in ("ios", "bytes", "elapsed_ns"):
        assert sum(getattr(row, field) for row in rows) == sum(getattr(step, field) for step in steps)
    assert sum(row.write.latency_sum_ns for row in rows) == sum(step.write.latency_sum_ns for step in steps)
    assert max(row.max_latency_ns or 0 for row in rows) == max(step.max_latency_ns or 0 for step in steps)
    assert rows[-1].written_bytes == sum(step.write.bytes for step in steps)


def test_a_minute_is_what_its_sixty_intervals_are_together() -> None:
    latencies = seconds(180)
    rows = minutes_of([step_of(latencies)], MINUTE_NS)
    for row in rows:
        of_minute = [ns for second in latencies[60 * (row.number - 1) : 60 * row.number] for ns in second]
        assert row.ios == len(of_minute)
        assert row.iops == pytest.approx(len(of_minute) / 60)
        assert row.bandwidth_bytes_per_s == pytest.approx(len(of_minute) * SIZE_BYTES / 60)
        assert row.mean_latency_ns == pytest.approx(np.mean(of_minute))
        assert (row.write.latency_min_ns, row.max_latency_ns) == (min(of_minute), max(of_minute))


def test_an_interval_counts_where_its_middle_lies() -> None:
    """The second step begins 0.4 s late: its sixtieth interval lies more in minute 2 than in 3."""
    late = step_of([[1]] * 120, gap_ns=4 * NS_PER_S // 10)
    rows = minutes_of(in_turn(step_of([[1]] * 60), late), MINUTE_NS)
    assert starts_ns(in_turn(step_of([[1]] * 60), late)) == (0, 60_400_000_000)
    assert [row.ios for row in rows] == [60, 60, 60]
    later = with_changes(late, gap_ns=6 * NS_PER_S // 10)
    assert [row.ios for row in minutes_of(in_turn(step_of([[1]] * 60), later), MINUTE_NS)] == [60, 59, 60, 1]


def test_answers_after_a_step_move_no_later_minute() -> None:
    """Between two steps without a gap the drive answers what was outstanding, which takes time."""
    first, second = in_turn(step_of([[1]] * 60), step_of([[1]] * 60))
    second = with_changes(second, started_ns=second.started_ns + NS_PER_S // 50)
    rows = minutes_of([first, second], MINUTE_NS)
    assert rows[1].start_ns == second.started_ns - first.started_ns == 60_020_000_000
    assert rows[1].end_ns == 120_020_000_000


def test_the_last_answers_of_a_step_belong_to_its_last_minute() -> None:
    """A tail of 5 ms with the I/Os outstanding at the end would else be a minute with a rate of its own."""
    drained = step_of([*[[1]] * 60, [1] * 32], last_ns=NS_PER_S // 200)
    (row,) = minutes_of([drained], MINUTE_NS)
    assert (row.ios, row.elapsed_ns, row.end_ns) == (92, 60 * NS_PER_S + NS_PER_S // 200, drained.elapsed_ns)
    assert [row.ios for row in minutes_of(in_turn(drained, drained), MINUTE_NS)] == [92, 92]


def test_a_last_row_that_is_no_minute_is_left_out_of_the_whole_ones() -> None:
    rows = minutes_of([step_of([[1]] * 137)], MINUTE_NS)
    assert [row.ios for row in rows] == [60, 60, 17]
    assert whole_minutes(rows, MINUTE_NS) == rows[:2]
    assert whole_minutes(rows[:2], MINUTE_NS) == rows[:2]
    # nothing else was measured: then that is all there is
    assert whole_minutes(rows[2:], MINUTE_NS) == rows[2:]


def test_minutes_without_anything_measured_have_no_row() -> None:
    far = step_of([[1]] * 60, gap_ns=2 * MINUTE_NS)
    assert [row.number for row in minutes_of(in_turn(step_of([[1]] * 60), far), MINUTE_NS)] == [1, 4]


def test_a_step_without_intervals_is_one_row() -> None:
    whole = with_changes(step_of([[7, 9]] * 300), intervals=())
    (row,) = minutes_of([whole], MINUTE_NS)
    assert (row.ios, row.elapsed_ns, row.mean_latency_ns) == (600, 300 * NS_PER_S, 8)
    assert len(pieces_of([whole])) == 1


def test_five_nines_take_a_hundred_thousand_ios() -> None:
    latencies = list(range(1_000_000, 1_000_000 + 2000 * 100_000, 2000))
    enough = step_of([latencies[n::60] for n in range(60)])
    (row,) = minutes_of([enough], MINUTE_NS)
    expected = np.percentile(latencies, 99.999, method="inverted_cdf")
    assert row.tail_ns == pytest.approx(expected, rel=1e-3)
    assert row.tail_ns <= latencies[-1]
    (short,) = minutes_of([step_of([latencies[n::60] if n else [] for n in range(60)])], MINUTE_NS)
    assert short.tail_ns is None
    (without,) = minutes_of([step_of([latencies[n::60] for n in range(60)], histograms=False)], MINUTE_NS)
    assert without.tail_ns is None


def test_processor_use_is_weighed_by_time_and_left_out_unless_all_have_it() -> None:
    half = step_of([[1]] * 30, sys_pct=10)
    (row,) = minutes_of([half, step_of([[1]] * 30, sys_pct=40)], MINUTE_NS)
    assert (row.cpu.sys_pct, row.cpu.process_ns) == (pytest.approx(25), 60_000)
    (bare,) = minutes_of([half, step_of([[1]] * 30)], MINUTE_NS)
    assert bare.cpu is None


def test_nothing_measured_is_nothing() -> None:
    assert minutes_of([], MINUTE_NS) == ()
    idle = with_changes(step_of([[]]), intervals=(), write=NOTHING)
    (row,) = minutes_of([idle], MINUTE_NS)
    assert (row.iops, row.mean_latency_ns, row.tail_ns) == (0, None, None)


def test_pieces_between_two_moments_are_those_whose_middles_lie_there() -> None:
    samples = in_turn(step_of([[1]] * 60), step_of([[1]] * 60))
    pieces = pieces_of(samples)
    first_ns, last_ns = 50 * NS_PER_S, 70 * NS_PER_S
    expected = tuple(piece for piece in pieces if first_ns <= piece.middle_ns <= last_ns)
    assert 0 < len(expected) < len(pieces)
    assert pieces_between(samples, first_ns, last_ns) == expected
    assert pieces_between(samples, first_ns - 10**15, last_ns + 10**15) == pieces
