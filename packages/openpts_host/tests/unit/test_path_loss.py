"""The entry for a lost path: when, how many were left, and the longest wait of an I/O meanwhile."""

import pytest
from msgspec.structs import replace

from openpts.record.health import TelemetryPoint
from openpts.record.reader import Run
from openpts.units import NS_PER_MS, NS_PER_S
from openpts_host.concerns import OPTIMIZED, PATHS, path_loss_deviations
from tests.support.made_up_run import made_up_run, with_intervals


def with_paths(run: Run, *points: tuple[float, int, int] | tuple[float, int]) -> Run:
    """Sampled so many paths, and of them optimized, at these seconds after the run's beginning.

    As in a record, a value that has not changed is not stored.
    """
    begin_ns = run.steps[0].sample.started_ns
    held: dict[str, float] = {}
    sampled = []
    for at_s, *values in points:
        for name, value in zip((PATHS, OPTIMIZED), values, strict=False):
            if held.get(name) != value:
                sampled.append(TelemetryPoint(begin_ns + round(at_s * NS_PER_S), name, float(value)))
            held[name] = value
    return replace(run, sampled=tuple(sampled))


@pytest.fixture(scope="module")
def run() -> Run:
    """Of intervals of a second, in one of which an I/O took 700 ms, and in one long before 900 ms."""
    whole = made_up_run("iops")
    run = with_intervals(replace(whole, steps=whole.steps[:2]), NS_PER_S)
    step = run.steps[0]
    slow = {2: 900 * NS_PER_MS, 40: 700 * NS_PER_MS}
    intervals = tuple(
        replace(one, write=replace(one.write, latency_max_ns=slow.get(one.index, one.write.latency_max_ns)))
        for one in step.sample.intervals
    )
    sample = replace(step.sample, intervals=intervals)
    return replace(run, steps=(replace(step, sample=sample), *run.steps[1:]))


def test_no_entry_where_all_paths_stayed_or_none_were_sampled(run) -> None:
    assert path_loss_deviations(run) == ()
    assert path_loss_deviations(with_paths(run, (0, 2), (10, 2))) == ()


@pytest.mark.parametrize(("back", "until"), [((44, 2), "44.0 s"), (None, "the end")])
def test_the_longest_wait_is_that_of_the_time_with_fewer_paths(run, back, until) -> None:
    points = [(0.0, 2), (40.5, 1), (42.5, 1), *([back] if back else [])]
    (entry,) = path_loss_deviations(with_paths(run, *points))
    place = run.steps[0].place
    assert entry.used == (
        f"1 of 2 from 39.5 s to {until} of the run; the longest wait for an I/O then was 700 ms, in {place}"
    )
    assert entry.rule_id == "PTS-GEN-01"


def test_each_time_is_an_entry_of_its_own(run) -> None:
    found = path_loss_deviations(with_paths(run, (0, 3), (10, 2), (12, 1), (15, 3)))
    assert [entry.used.partition(" from ")[0] for entry in found] == ["2 of 3", "1 of 3"]


def test_a_time_without_an_optimized_path_is_told_though_no_path_is_lost(run) -> None:
    points = [(0.0, 2, 1), (5.0, 2, 0), (7.0, 1, 0), (9.0, 0, 0), (12.0, 2, 2), (15.0, 2, 1)]
    found = path_loss_deviations(with_paths(run, *points))
    assert [(entry.required, entry.used.partition(" from ")[0]) for entry in found] == [
        ("an optimized path to the drive", "2 of 2, none of them optimized,"),
        ("all paths to the drive", "1 of 2, none of them optimized,"),
        ("all paths to the drive", "0 of 2"),
    ]
    (whole,) = path_loss_deviations(with_paths(run, (0, 1, 0), (10, 1, 0)))
    assert whole.used.startswith("1 of 1, none of them optimized, from 0.0 s to the end of the run")
