"""What is done with a record costs no more than in proportion to its length, whatever the test.

Of a record in which the same stands twice, four and eight times, the second doubling must add at most 2.3
times the lines of Python that the first has added: what does not depend on the length is in neither, so that
a short record tells as much as that of a day.
"""

import shutil
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby, pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace

from openpts.analysis.latency import response_times
from openpts.fields.conditions import at_time_scale
from openpts.procedures.registry import PROCEDURES
from openpts.record.manifest import RunState
from openpts.record.reader import Run, StepRecord, read_run, refuse_other_histograms
from openpts.record.writer import RunWriter
from openpts.report.run_part import part_of
from openpts.report.sources import read_for_report
from openpts.runner.driver import driver_of
from openpts.runner.replay import ResumePoint, cut_of
from openpts.units import NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.run_request import RunRequest
from openpts_batch.batch_index import write_batch_index
from openpts_batch.side_by_side import new_batch
from openpts_compare.compare.build import build_comparison
from openpts_compare.compare.contenders import NamedRun, compare_runs
from openpts_compare.limits.judge import judge
from openpts_compare.limits.limits_file import gated_runs, parse_limits
from openpts_export.export import tables_of
from tests.support.interval_samples import step_of
from tests.support.made_up_run import made_up_run, restless_rate
from tests.support.subject_files import with_subject
from tests.support.whole_tests import run_whole
from tests.support.work_in_lines import lines_of

REPORT_DATE = "2026-02-03T04:05:06Z"
MOST_GROWTH = 2.3
FEWEST = 500
"""Fewer lines than these are a matter of how texts are put together."""

MEASURED = {"cbw", "check", "thermal", "trim", "qos", "precon"}
"""Tests of which a made-up run has no streams, or no choices: they are measured on a simulated drive."""
LONG = {"cbw", "hir", "iops", "precon", "qos", "thermal", "trim"}
WITHOUT_STEPS = {"powercut", "app", "ocp"}
OF_ONE_LENGTH = {"pstates"}
"""Loads, and a grid of idle times, one after the other: there are no longer ones."""
SHORTEST = {"precon": 4, "iops": 1, "dirth": 1, "fill": 1, "cbw": 1}
"""How often the same stands at least: sets of few passes have figures of other kinds; some tests are long."""
WITH_NAMED_CYCLES = {"precon"}
"""There are no more of them: their parts become longer."""

Work = Callable[[Run], object]


def compared(run: Run) -> None:
    again = replace(run, folder=run.folder / "again")
    build_comparison(compare_runs([NamedRun(run), NamedRun(again)]))


WORK: dict[str, Work] = {
    "read": lambda run: read_run(run.folder),
    "report": lambda run: part_of(run, REPORT_DATE),
    "verify": refuse_other_histograms,
    "compare": compared,
    "tables": lambda run: [list(rows) for _, rows in tables_of(run)],
}


def simulated_run(test: str, folder: Path) -> Run:
    run_whole(
        test,
        DriveClass.ENTERPRISE,
        folder,
        lambda conditions: at_time_scale(with_subject(conditions), 0.001),
        "sim:enterprise-tlc?capacity=1GB",
    )
    return read_run(folder, interval_histograms=True)


def one_run(test: str, folder: Path) -> Run:
    if test in MEASURED:
        return simulated_run(test, folder)
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


def with_longer_parts(run: Run, times: int) -> Run:
    """Each part's steps so many times, before the next part."""
    steps: list[StepRecord] = []
    later_ns = 0
    for _, same in groupby(run.steps, lambda step: replace(step.place, position=0)):
        part = tuple(same)
        last = part[-1].sample
        for time in range(times):
            later_ns += (last.started_ns + last.elapsed_ns - part[0].sample.started_ns) * (time > 0)
            steps += (
                replace(
                    step,
                    place=replace(step.place, position=step.place.position + time * len(run.steps)),
                    sample=replace(step.sample, started_ns=step.sample.started_ns + later_ns),
                )
                for step in part
            )
    return replace(run, steps=tuple(steps))


def written(run: Run, folder: Path) -> Path:
    writer = RunWriter.create(folder, run.manifest)
    for record in run.health:
        writer.add_health(record)
    for step in run.steps:
        writer.add_step(step.place, step.sample)
    writer.close()
    return folder


def is_in_proportion(lines: list[int]) -> bool:
    """Of lengths that double."""
    first, second = (after - before for before, after in pairwise(lines))
    return second <= max(FEWEST, MOST_GROWTH * first)


@pytest.mark.full_matrix(most=1)
@pytest.mark.parametrize(
    "test",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in LONG else [])
        for name in PROCEDURES
        if name not in WITHOUT_STEPS | OF_ONE_LENGTH
    ],
)
def test_twice_the_steps_are_twice_the_work(test: str, tmp_path: Path) -> None:
    base = one_run(test, tmp_path / "measured")
    longer = with_longer_parts if test in WITH_NAMED_CYCLES else repeated
    shortest = SHORTEST.get(test, 2)
    lengths = (shortest, 2 * shortest, 4 * shortest)
    runs = [read_run(written(longer(base, times), tmp_path / str(times))) for times in lengths]
    grown = {}
    for name, work in WORK.items():
        work(runs[0])  # what is loaded once
        # a run keeps what was asked of it once
        counted = [lines_of(partial(work, replace(run))) for run in runs]
        if not is_in_proportion(counted):
            grown[name] = counted
    assert not grown


def gated(folders: Sequence[Path]) -> None:
    limits = parse_limits(b"", "--limit", ["tp.seq-128k.write >= -3 %"], ())
    half = len(folders) // 2
    judge(limits, gated_runs(folders[:half]), gated_runs(folders[half:]))


def indexed(folders: Sequence[Path]) -> None:
    requests = [RunRequest(run_id=one.name, test_words=("tp",), target=one.name) for one in folders]
    batch = new_batch(requests)
    ended = [
        replace(entry, folder=one.name, state=RunState.COMPLETE)
        for entry, one in zip(batch.entries, folders, strict=True)
    ]
    write_batch_index(folders[0].parent, replace(batch, entries=tuple(ended)))


@pytest.mark.full_matrix(most=1)
@pytest.mark.parametrize("work", [gated, indexed])
def test_twice_the_runs_are_twice_the_work(work: Callable[[Sequence[Path]], None], tmp_path: Path) -> None:
    run = simulated_run("tp", tmp_path / "measured")
    read_for_report(run.folder)  # the index leaves out what can't be read
    folders = [shutil.copytree(run.folder, tmp_path / f"run-{number}") for number in range(16)]
    work(folders[:2])  # what is loaded once
    counted = [lines_of(partial(work, folders[n : 2 * n])) for n in (2, 4, 8)]
    assert is_in_proportion(counted), counted


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
        counted.append(lines_of(partial(cut_of, script, run, ResumePoint.PROGRAM, recorded)))
    assert is_in_proportion(counted), counted


def test_response_times_take_as_much_however_many_buckets_they_have() -> None:
    few, many = ([step_of([range(100_000, 1_100_000, apart_ns)])] for apart_ns in (100_000, 1_000))
    response_times(few)
    assert lines_of(lambda: response_times(many)) < 2 * lines_of(lambda: response_times(few))
