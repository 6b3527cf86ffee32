"""The report of the preconditioning comparison of a drive whose every figure in every state is known."""

import pytest
from msgspec.structs import replace as with_changes

from openpts.fields.conditions import Conditions
from openpts.record.reader import Run
from openpts_practice.rows.precon import DriveState
from openpts_practice.rows.precon.report import PreconReport
from openpts_practice.rows.precon.report import report as content_of
from openpts_practice.tests.unit.report.known_drives import ByState, several_benchmarks
from tests.support.made_up_run import made_up_run

FRESH, SEQUENTIAL, RANDOM = DriveState


def run() -> Run:
    def sooner(conditions: Conditions) -> Conditions:
        return with_changes(conditions, steady_after_drive_fills=1)

    return made_up_run("precon", rate=ByState(), adjust=sooner)


def test_what_was_written_before_a_row_is_told() -> None:
    (comparison,) = PreconReport.of(run()).comparisons
    fresh = comparison.rows[FRESH]
    assert [one.written_before_bytes for one in fresh[:1]] == [0]
    assert [one.conditioned for one in fresh] == [True, *[False] * 6]
    # three passes of 10 s: 300,000 x 128 KiB a second; 30 % of 100,000 x 4 KiB
    sequential, mixed = 30 * 300_000 * 131_072, 30 * 30_000 * 4096
    assert fresh[4].written_before_bytes == sequential
    assert fresh[5].written_before_bytes == sequential + mixed
    after = comparison.rows[SEQUENTIAL]
    # the mix and each of the random writes disturb what was written in order: the next row has it anew
    assert [after[place].conditioned for place in (4, 5, 6)] == [False, True, True]
    assert [after[place].written_before_bytes for place in (5, 6)] == [0, 0]
    # random rows keep the random state, so the sequential row comes last
    random = comparison.rows[RANDOM]
    assert random[1].written_before_bytes == mixed + 2 * 30 * 50_000 * 4096


def test_figures_for_machines() -> None:
    figures = content_of(run()).figures()
    assert figures["courses"]["fresh"]["factor"] == pytest.approx(3)
    assert figures["courses"]["random"]["steady_after_s"] == pytest.approx(2 * 3600 + 60, rel=1e-5)
    write = figures["rows"][-1]
    assert (write["row"], write["counts"]) == ("RND 4 KiB QD32 Write", "random")
    assert (write["fresh"], write["sequential"], write["random"]) == (230e3, 200e3, 50e3)
    assert write["loss_random_pct"] == pytest.approx(78.2609, abs=5e-5)


@pytest.mark.proves("SOL-GEN-07", "LSI-PROC-05")
def test_times_that_grow_are_factors_and_each_benchmark_has_its_times() -> None:
    """Times on a fresh drive are 1 / 40,000 s at a queue depth of 1, after random writes 1 / 8,000 s."""
    levels = content_of(several_benchmarks()).figures()["levels"]
    assert [level["entropy_pct"] for level in levels] == [50, 100]
    whole = levels[1]
    write = whole["rows"][-1]
    assert (write["benchmark"], write["unit"], write["counts"]) == ("mine", "ms", "random")
    assert (write["fresh"], write["random"]) == (pytest.approx(1 / 40), pytest.approx(1 / 8))
    assert (write["factor_sequential"], write["factor_random"]) == (pytest.approx(2), pytest.approx(5))
    assert "loss_random_pct" not in write
    half = levels[0]["rows"][-1]
    assert half["random"] == pytest.approx(1 / 16)
    times = [one["times"] for one in whole["benchmarks"]]
    starts = [of[state]["started_at"] for state in ("fresh", "sequential", "random") for of in times]
    ends = [of[state]["ended_at"] for state in ("fresh", "sequential", "random") for of in times]
    assert starts == sorted(starts)
    assert all(start < end for start, end in zip(starts, ends, strict=True))
    assert all(end <= start for end, start in zip(ends, starts[1:], strict=False))
