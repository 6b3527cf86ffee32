"""What is done with a record costs no more than in proportion to its length, whatever the test.

Of a record in which the same stands twice, four and eight times, the second doubling must add at most 2.3
times the instructions that the first has added: what does not depend on the length is in neither, so that a
short record tells as much as that of a day.
"""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace

from openpts.analysis.response_times import response_times
from openpts.fields.time_scale import at_time_scale
from openpts.procedures.registry import PROCEDURES
from openpts.record.reader import Run, read_run, refuse_other_histograms
from openpts.record.writer import RunWriter
from openpts.report.run_part import part_of
from openpts.runner.driver import driver_of
from openpts.runner.replay import ResumePoint, cut_of
from openpts.units import NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts_line.compare.build import build_comparison
from openpts_line.compare.contenders import Entry, compare_runs
from openpts_many.archive.tables import parquet_tables
from tests.simulated.whole_tests import run_whole
from tests.support.instructions import instructions_of
from tests.support.interval_samples import step_of
from tests.support.made_up_run import made_up_run, restless_rate
from tests.support.subject_files import with_subject

REPORT_DATE = "2026-02-03T04:05:06Z"
MOST_GROWTH = 2.3
FEWEST = 3_000
"""Fewer instructions than these are a matter of how texts are put together."""

MEASURED = {"cbw", "check", "thermal", "trim", "qos"}
"""Tests of which a made-up run has no streams, or no choices: they are measured on a simulated drive."""
LONG = {"cbw", "qos", "rwsdirth", "thermal", "trim"}
UNREPEATABLE = {"powercut", "app", "precon", "rws"}
"""Two without steps, and two whose cycles have names, of which there are no more."""

Work = Callable[[Run], object]


def compared(run: Run) -> None:
    again = replace(run, folder=run.folder / "again")
    build_comparison(compare_runs([Entry(run), Entry(again)]))


WORK: dict[str, Work] = {
    "read": lambda run: read_run(run.folder),
    "report": lambda run: part_of(run, REPORT_DATE),
    "verify": refuse_other_histograms,
    "compare": compared,
    "archive": parquet_tables,
}


def one_run(test: str, folder: Path) -> Run:
    if test in MEASURED:
        run_whole(
            test,
            DriveClass.ENTERPRISE,
            folder,
            lambda conditions: at_time_scale(with_subject(conditions), 0.001),
            "sim:enterprise-tlc?capacity=1GB",
        )
        return read_run(folder, interval_histograms=True)
    scale = 0.02 if test == "hir" else 1.0
    return made_up_run(test, adjust=lambda conditions: at_time_scale(conditions, scale))


def repeated(run: Run, times: int) -> Run:
    """The same cycles so many times, one behind the other."""
    cycles = max(step.place.cycle for step in run.steps)
    last = run.steps[-1].sample
    length_ns = last.started_ns + last.elapsed_ns + NS_PER_S
    steps = tuple(
        replace(
            step,
            place=replace(step.place, cycle=step.place.cycle + time * cycles),
            sample=replace(step.sample, started_ns=step.sample.started_ns + time * length_ns),
        )
        for time in range(times)
        for step in run.steps
    )
    manifest = replace(
        run.manifest,
        purges=run.manifest.purges * times,
        write_caches=run.manifest.write_caches * times,
        cycles=run.manifest.cycles * times,
    )
    return replace(run, steps=steps, manifest=manifest)


def written(run: Run, folder: Path) -> Path:
    writer = RunWriter.create(folder, run.manifest)
    for record in run.health:
        writer.add_health(record)
    for step in run.steps:
        writer.add_step(step.place, step.sample)
    writer.close()
    return folder


def is_in_proportion(instructions: list[int]) -> bool:
    """Of lengths that double."""
    first, second = (after - before for before, after in pairwise(instructions))
    return second <= max(FEWEST, MOST_GROWTH * first)


@pytest.mark.with_plugins
@pytest.mark.parametrize(
    "test",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in LONG else [])
        for name in PROCEDURES
        if name not in UNREPEATABLE
    ],
)
def test_twice_the_steps_are_twice_the_work(test: str, tmp_path: Path) -> None:
    base = one_run(test, tmp_path / "measured")
    runs = [read_run(written(repeated(base, times), tmp_path / str(times))) for times in (2, 4, 8)]
    grown = {}
    for name, work in WORK.items():
        work(runs[0])  # what is loaded once
        # a run keeps what was asked of it once
        counted = [instructions_of(partial(work, replace(run))) for run in runs]
        if not is_in_proportion(counted):
            grown[name] = counted
    assert not grown


@pytest.mark.parametrize("test", ["iops", "tp", "lat"])
def test_a_script_is_followed_in_proportion_to_its_rounds(test: str) -> None:
    """As to resume a run, and to verify one."""
    counted = []
    for rounds in (25, 50, 100):
        run = made_up_run(
            test,
            rate=restless_rate,
            adjust=lambda conditions, rounds=rounds: replace(conditions, max_rounds=rounds),
        )
        script = PROCEDURES[test].script(run.manifest.conditions, run.manifest.target.user_capacity_bytes)
        recorded = driver_of(PROCEDURES[test]).recorded
        counted.append(instructions_of(partial(cut_of, script, run, ResumePoint.PROGRAM, recorded)))
    assert is_in_proportion(counted), counted


def test_response_times_take_as_much_however_many_buckets_they_have() -> None:
    few, many = ([step_of([range(100_000, 1_100_000, apart_ns)])] for apart_ns in (100_000, 1_000))
    response_times(few)
    assert instructions_of(lambda: response_times(many)) < 2 * instructions_of(lambda: response_times(few))
