"""What is shown of a cell of a matrix, from made-up samples of its rounds."""

import pytest
from msgspec.structs import replace as with_changes

from openpts.analysis.latency import ios_needed
from openpts_pts.shared.rounds.results import MatrixCell
from tests.support.synthetic_run import step_sample


def test_a_cell_is_the_mean_of_its_rounds() -> None:
    cell = MatrixCell(tuple(step_sample(4096, 0, iops, 60) for iops in (1000, 1100, 900, 1050, 950)))
    assert cell.iops == pytest.approx(1000)
    assert cell.deviations_pct == pytest.approx((0, 10, -10, 5, -5))
    assert cell.range_pct == pytest.approx(20)


def test_maximum_response_time_is_the_largest_of_all_rounds_and_directions() -> None:
    samples = [step_sample(4096, 65, 5000, 60) for _ in range(5)]
    read = with_changes(samples[2].read, latency_max_ns=987_654_321)
    samples[2] = with_changes(samples[2], read=read)
    assert MatrixCell(tuple(samples)).max_latency_ns == 987_654_321


def test_average_response_time_is_the_mean_of_the_rounds() -> None:
    samples = [step_sample(4096, 0, iops, 60) for iops in (1000, 2000)]
    means = [sample.mean_latency_ns or 0 for sample in samples]
    assert MatrixCell(tuple(samples)).mean_latency_ns == pytest.approx(sum(means) / 2)


def test_tail_needs_a_hundred_thousand_ios_in_each_round() -> None:
    enough = ios_needed(99.999) / 60 + 10
    full = MatrixCell(tuple(step_sample(4096, 0, enough, 60) for _ in range(5))).tail
    assert full.mean_of_rounds_ns is not None
    assert full.merged_ns is not None
    short = MatrixCell(
        tuple(step_sample(4096, 0, iops, 60) for iops in (enough, enough, enough, enough, 700))
    ).tail
    assert short.mean_of_rounds_ns is None
    assert short.merged_ns is not None
    assert short.fewest_ios == 42_000
    few = MatrixCell(tuple(step_sample(4096, 0, 100, 60) for _ in range(5))).tail
    assert (few.mean_of_rounds_ns, few.merged_ns, few.merged.recorded_ios) == (None, None, 30_000)


def test_average_tail_and_maximum_are_in_order() -> None:
    cell = MatrixCell(tuple(step_sample(4096, 35, 40_000, 60) for _ in range(5)))
    assert cell.mean_latency_ns <= cell.tail.mean_of_rounds_ns <= cell.max_latency_ns


def test_processor_use_is_left_out_unless_every_round_has_it() -> None:
    samples = [step_sample(4096, 0, 1000, 60) for _ in range(5)]
    cpu = MatrixCell(tuple(samples)).cpu
    assert cpu.iowait_pct == pytest.approx(7.4)
    samples[1] = with_changes(samples[1], cpu=None)
    assert MatrixCell(tuple(samples)).cpu is None
