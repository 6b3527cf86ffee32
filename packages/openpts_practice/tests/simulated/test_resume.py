"""A run on a simulated drive that was killed and goes on ends with the figures of one that was left alone."""

import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from openpts.cli.resume import resume
from openpts.errors import InterruptedRunError, RecordError, RunFailedError, TargetError, UsageError
from openpts.fields.conditions import Conditions
from openpts.procedures.kit.procedure import Procedure
from openpts.procedures.kit.standing import state_sentence
from openpts.procedures.registry import PROCEDURES
from openpts.record.batch import read_batch
from openpts.record.health import HealthRecord, ReadingPoint
from openpts.record.manifest import Manifest, RunState
from openpts.record.reader import Run, read_run
from openpts.record.writer import DATABASE_NAME, RunWriter
from openpts.report.run_conditions_page import run_conditions_page
from openpts.report.run_part import summarize
from openpts.runner.event_lines import PurgeStarted, RunEnded
from openpts.runner.events import Event, Listener, PurgeFinished, StepFinished, StepsStarted
from openpts.runner.resumed_run import Resumption
from openpts.runner.run import FinishedRun, run_test
from openpts.runner.settings import RunSettings
from openpts.vocabulary.facts import Fact, Purpose
from openpts.vocabulary.purge import Consent
from openpts.vocabulary.sample import Phase
from openpts_batch import in_turn
from openpts_batch.cli.run_all import run_all
from openpts_drives.health.health_page import health_page
from openpts_practice.rows.benchmarks import BenchmarksConditions
from openpts_practice.rows.profiles import BENCHMARKS
from tests.support.killed_run import SAMPLED, Killed, killed, nth, ordered, small
from tests.support.oracle_presets import write_oracle
from tests.support.page_blocks import rows, tables, texts
from tests.support.transcript import Golden


def resumed(folder: Path, listeners: Any = (), target: str | None = None, **accepted: bool) -> Run:
    run = read_run(folder)
    settings = RunSettings.to_resume(Resumption(run, **accepted), Consent(), target)
    run_test(PROCEDURES[run.manifest.conditions.test], settings, listeners)
    return read_run(folder, interval_histograms=True)


def without_dates(manifest: Manifest) -> Manifest:
    """Without what depends on time that is not the drive's."""
    purges = tuple(replace(purge, started_at="") for purge in manifest.purges)
    capture = manifest.capture
    if capture is not None:
        capture = replace(capture, folder="", bytes_written=0, blocked_times=0, blocked_ns=0)
    changed = replace(manifest, purges=purges, capture=capture, attempts=())
    return replace(changed, test_id="", started_at="", ended_at="")


def readings(run: Run) -> list[HealthRecord]:
    return [replace(one, read_at="") for one in run.health if one.occasion is ReadingPoint.DURING]


def assert_as_undisturbed(found: Run, undisturbed: Run) -> None:
    assert found.steps == undisturbed.steps
    assert found.ledger == undisturbed.ledger
    assert readings(found) == readings(undisturbed)
    assert found.sampled == undisturbed.sampled
    assert without_dates(found.manifest) == without_dates(undisturbed.manifest)
    at_the_end = [replace(run.health[-1], read_at="") for run in (found, undisturbed)]
    assert at_the_end[0] == at_the_end[1]
    assert {**summarize(found), "run": "", "test_id": ""} == {
        **summarize(undisturbed),
        "run": "",
        "test_id": "",
    }


@pytest.mark.parametrize(
    "test",
    [
        pytest.param(name, marks=() if name in SAMPLED else pytest.mark.slow)
        for name in PROCEDURES
        if name not in {"powercut", "app", "ocp"}  # without steps that could be announced, or simulated
    ],
)
def test_any_test_killed_at_any_step_ends_as_if_it_had_not_been(tmp_path: Path, test: str) -> None:
    folder, cut = tmp_path / "whole", tmp_path / "cut"
    settings = ordered(test, folder, "sim:enterprise-tlc?capacity=4GB")
    run_test(PROCEDURES[test], settings, [Killed(folder, cut, seed=test).on_event])
    before = read_run(cut)
    assert before.manifest.state is RunState.RUNNING
    after = resumed(cut)
    assert_as_undisturbed(after, read_run(folder, interval_histograms=True))
    first, second = after.manifest.attempts
    assert (first.end, second.end, second.idle_ns) == (RunState.RUNNING, None, None)
    assert second.steps == len(before.steps)


def stopped(at: Callable[[Event], bool]) -> Callable[[Event], None]:
    """Presses Ctrl-C at an event."""

    def stop(event: Event) -> None:
        if at(event):
            raise KeyboardInterrupt

    return stop


@pytest.mark.parametrize(
    ("at", "goes_on_at"),
    [
        pytest.param(nth(PurgeStarted, 1), "the purge of cycle 1", id="in the first purge"),
        pytest.param(nth(PurgeFinished, 1), "the setting of the write cache in cycle 1", id="purged"),
        pytest.param(nth(PurgeStarted, 2), "the purge of cycle 2", id="between cycles"),
        pytest.param(nth(StepsStarted, 1), "WIPC of cycle 1", id="before the first step"),
        pytest.param(
            nth(RunEnded, 1),
            "the end of cycle 2, with nothing left to measure in it",
            id="complete but not closed",
        ),
    ],
)
def test_it_goes_on_wherever_it_was_killed(
    tmp_path: Path, at: Callable[[Event], bool], goes_on_at: str
) -> None:
    cut, undisturbed = killed(tmp_path, at)
    if cut.manifest.state is RunState.COMPLETE:
        reopened(cut, state=RunState.RUNNING, ended_at=None)
    after = resumed(cut.folder)
    assert_as_undisturbed(after, undisturbed)
    assert after.manifest.attempts[-1].went_on_at == goes_on_at


@pytest.mark.parametrize("number", [3, 6, 8, 13])
def test_passes_that_were_added_stand_and_the_others_follow(tmp_path: Path, number: int) -> None:
    """Killed in the first passes of a row, between those that are added, and among those of the next row."""

    def adjust(conditions: Conditions) -> Conditions:
        assert isinstance(conditions, BenchmarksConditions)
        wanted = (BENCHMARKS["crystaldiskmark-demo"],)
        return replace(conditions, benchmarks=wanted, until_rse_pct=5.0, longest_pass_ns=10**8)

    rates = [5000.0, 9000.0, 500.0, 420.0, 480.0, 470.0, 475.0, 9000.0, 400.0, 300.0, 500.0, 700.0, 300.0]
    folder, cut = tmp_path / "whole", tmp_path / "cut"
    settings = ordered("benchmarks", folder, f"sim:{write_oracle(tmp_path, rates)}?seed=42")
    killed_at = Killed(folder, cut, at=nth(StepFinished, number))
    run_test(PROCEDURES["benchmarks"], replace(settings, adjust=adjust), [killed_at.on_event])
    after = resumed(cut)
    assert_as_undisturbed(after, read_run(folder, interval_histograms=True))
    assert [len(after.phase(Phase.PROFILE, number=row)) for row in (1, 2)] == [6, 9]


def test_it_is_cut_off_twice_by_the_operator_and_goes_on(tmp_path: Path) -> None:
    _, undisturbed = killed(tmp_path, nth(StepFinished, 3))
    settings = replace(small(tmp_path), folder=tmp_path / "stopped")
    for number in (4, 9):
        with pytest.raises(InterruptedRunError):
            run_test(PROCEDURES["tp"], settings, [stopped(nth(StepFinished, number))])
        run = read_run(tmp_path / "stopped")
        assert (run.manifest.state, len(run.manifest.attempts)) == (RunState.INTERRUPTED, 1 + number // 9)
        settings = RunSettings.to_resume(Resumption(run), Consent())
    after = resumed(run.folder)
    assert_as_undisturbed(after, undisturbed)
    assert [attempt.end for attempt in after.manifest.attempts] == [RunState.INTERRUPTED] * 2 + [None]


def test_a_drive_that_failed_fails_again_in_the_same_step(tmp_path: Path) -> None:
    errors = "[oracle.errors]\nread_only_after_bytes = 600000000\n"
    with pytest.raises(RunFailedError) as first:
        run_test(PROCEDURES["tp"], small(tmp_path, errors=errors), [])
    before = read_run(tmp_path / "whole")
    with pytest.raises(RunFailedError) as second:
        resumed(before.folder)
    assert str(second.value) == str(first.value)
    after = read_run(before.folder)
    assert after.steps == before.steps
    assert [attempt.end for attempt in after.manifest.attempts] == [RunState.FAILED, None]


def reopened(run: Run, **sections: object) -> Run:
    """The same run with other sections of the manifest."""
    writer = RunWriter.reopen(run.folder)
    writer.update_manifest(**sections)
    writer.close()
    return read_run(run.folder)


@pytest.fixture(scope="module")
def one_cut(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that was killed."""
    cut, _ = killed(tmp_path_factory.mktemp("refused"), nth(StepFinished, 3))
    return cut.folder


@pytest.fixture
def cut(one_cut: Path, tmp_path: Path) -> Run:
    """A copy of that run, to be changed."""
    return read_run(Path(shutil.copytree(one_cut, tmp_path / "copy")))


@pytest.mark.parametrize("name", ["serial", "model", "firmware"])
def test_another_drive_is_refused_by_what_it_is_known_by(cut: Run, name: str) -> None:
    dut = cut.manifest.dut
    run = reopened(cut, dut=dut | {name: Fact("another", dut[name].source)})
    with pytest.raises(TargetError, match=f"{name} .* instead of another"):
        resumed(run.folder)
    assert read_run(run.folder) == run


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"user_capacity_bytes": 10**9}, "capacity 268 MB .* instead of 1.00 GB"),
        ({"sector_bytes": 4096}, "LBA size"),
    ],
)
def test_another_size_is_refused_by_name(cut: Run, changed: dict[str, Any], named: str) -> None:
    run = reopened(cut, target=replace(cut.manifest.target, **changed))
    with pytest.raises(TargetError, match=named):
        resumed(run.folder)


@pytest.mark.parametrize(
    ("changed", "option", "named"),
    [
        ({"host": "elsewhere"}, "accept_other_host", "it ran on host elsewhere"),
        ({"openpts": "openpts 0.0.1"}, "accept_other_version", "it ran with openpts 0.0.1"),
        ({"kernel": "Linux 2.4"}, "accept_other_version", "it ran with Linux 2.4"),
    ],
)
def test_another_platform_is_refused_unless_it_is_accepted(
    cut: Run, changed: dict[str, str], option: str, named: str
) -> None:
    run = reopened(cut, attempts=(replace(cut.manifest.attempts[0], **changed),))
    with pytest.raises(UsageError, match=named) as refused:
        resumed(run.folder)
    assert f"--{option.replace('_', '-')}" in str(refused.value)
    after = resumed(run.folder, **{option: True})
    assert after.manifest.state is RunState.COMPLETE
    (value,) = changed.values()
    assert value in {
        after.manifest.attempts[0].host,
        after.manifest.attempts[0].openpts,
        after.manifest.attempts[0].kernel,
    }


def test_other_steps_than_the_scripts_are_refused(cut: Run) -> None:
    with closing(sqlite3.connect(cut.folder / DATABASE_NAME)) as connection, connection:
        connection.execute("UPDATE step SET ramp_ns = 7 WHERE step_id = 2")
    with pytest.raises(RecordError, match="resume it with the version that began it"):
        resumed(cut.folder)


def test_a_complete_run_is_refused(one_cut: Path) -> None:
    with pytest.raises(RecordError, match="is complete: nothing is left to resume"):
        resumed(one_cut.parent / "whole")


@pytest.mark.slow
def test_a_suite_goes_on_with_the_test_that_was_cut_off(tmp_path: Path) -> None:
    """Killed in the second of three, just after that has ended, and before its record has begun."""
    target, plan = f"sim:{write_oracle(tmp_path, [20_000.0])}", tmp_path / "plan.toml"
    plan.write_text('tests = ["lat", "hir", "sustained"]\n[common]\nqd = 2\ntime_scale = "1/600"\n')
    with plan.open("a") as file:
        file.write('[purpose]\nuse_case = "gaming"\n')
    folder, in_second, behind_it = tmp_path / "suite", tmp_path / "in-second", tmp_path / "behind-it"
    words = ["--plan", str(plan), "--no-report"]
    with pytest.MonkeyPatch.context() as patch:
        began = folder / "2-hir" / DATABASE_NAME
        in_hir = Killed(
            folder, in_second, at=lambda event: isinstance(event, StepFinished) and began.exists()
        )
        after = Killed(folder, behind_it, at=nth(RunEnded, 2))

        def heard(test: Procedure, settings: RunSettings, listeners: Sequence[Listener]) -> FinishedRun:
            return run_test(test, settings, [*listeners, in_hir.on_event, after.on_event])

        patch.setattr(in_turn, "run_test", heard)
        done = CliRunner().invoke(run_all, [target, *words, "--out", str(folder)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    undisturbed = [read_run(folder / name) for name in ("1-lat", "2-hir", "3-sustained")]
    assert [getattr(run.manifest.conditions, "qd", None) for run in undisturbed] == [2, 2, 2]
    shutil.copytree(in_second, not_begun := tmp_path / "not-begun")
    shutil.rmtree(not_begun / "2-hir")
    (not_begun / "2-hir" / "input").mkdir(parents=True)
    (not_begun / "2-hir" / DATABASE_NAME).touch()
    for cut, attempts in ((in_second, [1, 2, 1]), (behind_it, [1, 1, 1]), (not_begun, [1, 1, 1])):
        states = [entry.state.value for entry in read_batch(cut).entries]
        assert states == ["complete", "running", "waiting"]
        again = CliRunner().invoke(resume, [str(cut), "--no-report"], catch_exceptions=False)
        assert again.exit_code == 0, again.output
        suite = read_batch(cut)
        assert [entry.state.value for entry in suite.entries] == ["complete"] * 3
        assert suite.ended_at is not None
        runs = [read_run(cut / entry.folder) for entry in suite.entries]
        assert [len(run.manifest.attempts) for run in runs] == attempts
        assert [run.manifest.conditions for run in runs] == [run.manifest.conditions for run in undisturbed]
        assert {run.manifest.purpose.sentence for run in runs} == {Purpose(use_case="gaming").sentence}
        assert [run.steps for run in runs] == [run.steps for run in undisturbed]
        assert all((run.folder / "input/plan.toml").read_bytes() == plan.read_bytes() for run in runs)
        with pytest.raises(RecordError, match="has come to its end"):
            CliRunner().invoke(resume, [str(cut)], catch_exceptions=False)


def test_the_report_shows_the_attempts(cut: Run, golden: Golden) -> None:
    assert state_sentence(cut.manifest) == golden
    assert "run-conditions-attempts" not in tables(run_conditions_page(cut))
    after = resumed(cut.folder)
    assert state_sentence(after.manifest) == golden
    shown = rows(tables(run_conditions_page(after))["run-conditions-attempts"])
    assert list(shown) == ["1", "2"]
    assert texts(shown["1"])[2] == "killed, or lost its power"
    assert texts(shown["1"])[4:] == ["0", "the start", "-", "-"]
    assert texts(shown["2"])[2] == "complete"
    assert texts(shown["2"])[4:] == ["3", "round 2 of cycle 1", "-", "not reported"]
    names = list(rows(tables(health_page(after))["device-health-readings"]))
    assert names == ["Before the run", "Before the run was resumed", "After the run", "During the run"]
