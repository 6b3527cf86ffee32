"""What a batch that is resumed takes up again, and folders of earlier versions."""

import dataclasses
from pathlib import Path

import pytest
from msgspec.structs import replace

from openpts.errors import RecordError
from openpts.record.batch import Batch, BatchEntry, Suite, read_batch, write_batch
from openpts.record.manifest import RunState
from openpts.record.writer import DATABASE_NAME
from openpts.runner.driver import what_is_kept
from openpts.vocabulary.facts import TargetKind
from openpts.vocabulary.run_request import RunRequest
from openpts_batch.cli.batch import resume_batch
from openpts_batch.executor import what_is_left
from openpts_batch.side_by_side import new_batch
from tests.support.batches import ORDERED, suite_entry, suite_of
from tests.support.report_cases import SIMULATION
from tests.support.synthetic_run import Synthetic, write_synthetic_run

NOTHING_AGREED = {
    "confirm_serials": (),
    "confirm_device_paths": (),
    "confirm_namespaces": (),
    "erase_signatures": False,
    "overwrite_file": False,
}
REQUEST = RunRequest(run_id="ID", test_words=("iops",), target="sim:mlc?capacity=4GB")


def batch_with(folder: Path, noted: RunState, recorded: RunState | None) -> Batch:
    """A batch of one run, as it was noted last, whose record may say otherwise."""
    batch = new_batch([REQUEST])
    (entry,) = batch.entries
    batch = replace(batch, entries=(replace(entry, state=noted, exit_code=7 if noted == "failed" else None),))
    if recorded is not None:
        reason = "an I/O failed" if recorded is RunState.FAILED else None
        write_synthetic_run(folder / entry.folder, Synthetic(state=recorded, state_reason=reason))
    folder.mkdir(exist_ok=True)
    write_batch(folder, batch)
    return batch


def of_batch(folder: Path, monkeypatch) -> BatchEntry:
    """As the batch is when it goes on, or has nothing left."""
    taken: list[Batch] = []
    monkeypatch.setattr(
        "openpts_batch.cli.batch._carry_out", lambda runner, *_, **__: taken.append(runner.batch)
    )
    try:
        with (folder / "log").open("w") as log:
            resume_batch(folder, dict(NOTHING_AGREED), {}, log, no_report=True, as_json=False)
    except RecordError:
        taken.append(read_batch(folder))
    (entry,) = taken[0].entries
    return entry


@pytest.mark.parametrize(
    ("noted", "recorded", "left"),
    [
        (RunState.RUNNING, RunState.RUNNING, RunState.WAITING),
        (RunState.INTERRUPTED, RunState.INTERRUPTED, RunState.WAITING),
        (RunState.REFUSED, None, RunState.WAITING),
        (RunState.RUNNING, RunState.COMPLETE, RunState.COMPLETE),
        (RunState.RUNNING, RunState.FAILED, RunState.FAILED),  # the batch took this one up again
        (RunState.FAILED, RunState.FAILED, RunState.FAILED),
        (RunState.FAILED, RunState.INTERRUPTED, RunState.FAILED),
        (RunState.FAILED, RunState.COMPLETE, RunState.COMPLETE),  # it was resumed alone
        (RunState.COMPLETE, RunState.COMPLETE, RunState.COMPLETE),
    ],
)
def test_what_is_done_and_what_is_left(tmp_path, monkeypatch, noted, recorded, left) -> None:
    batch_with(tmp_path / "batch", noted, recorded)
    assert of_batch(tmp_path / "batch", monkeypatch).state is left


@pytest.mark.parametrize(
    ("noted", "recorded", "left"),
    [
        (RunState.RUNNING, RunState.RUNNING, RunState.WAITING),
        (RunState.RUNNING, RunState.COMPLETE, RunState.WAITING),  # its verdict is left
        (RunState.RUNNING, RunState.FAILED, RunState.FAILED),
        (RunState.FAILED, RunState.COMPLETE, RunState.FAILED),  # by its verdict
    ],
)
def test_a_suite_judges_its_complete_tests(tmp_path, noted, recorded, left) -> None:
    batch = replace(
        batch_with(tmp_path, noted, recorded), suite=Suite(target="x", revision="x", ordered=ORDERED)
    )
    (entry,) = what_is_left(tmp_path, batch).entries
    assert entry.state is left


def test_what_was_cut_off_by_power_cuts_of_its_own_is_not_tried_again(tmp_path) -> None:
    batch = batch_with(tmp_path, RunState.RUNNING, RunState.RUNNING)
    (entry,) = batch.entries
    cutting = replace(entry, request=replace(entry.request, test_words=("powercut",)))
    (left,) = what_is_left(tmp_path, replace(batch, entries=(cutting,))).entries
    assert left.state is RunState.FAILED


def test_what_is_agreed_to_now_is_handed_to_the_runs(tmp_path, monkeypatch) -> None:
    """The batch took it for granted, and each run refused."""
    batch_with(tmp_path / "batch", RunState.INTERRUPTED, RunState.INTERRUPTED)
    words: list[str] = []
    monkeypatch.setattr(
        "openpts_batch.cli.batch._carry_out", lambda runner, *_, **__: words.extend(runner.resume_words)
    )
    agreed = {**NOTHING_AGREED, "overwrite_file": True}
    with (tmp_path / "log").open("w") as log:
        resume_batch(
            tmp_path / "batch", agreed, {"accept_interruption": True}, log, no_report=True, as_json=False
        )
    assert words == ["--accept-interruption", "--overwrite-file"]


def test_a_damaged_record_of_a_run_that_has_failed_holds_up_no_other(tmp_path, monkeypatch) -> None:
    batch = batch_with(tmp_path / "batch", RunState.FAILED, RunState.FAILED)
    (tmp_path / "batch" / batch.entries[0].folder / DATABASE_NAME).write_bytes(b"x" * 4096)
    assert of_batch(tmp_path / "batch", monkeypatch).state is RunState.FAILED


def test_a_batch_whose_run_had_failed_when_it_was_killed_says_how_that_goes_on(tmp_path) -> None:
    batch_with(tmp_path / "batch", RunState.RUNNING, RunState.FAILED)
    with (tmp_path / "log").open("w") as log, pytest.raises(RecordError) as found:
        resume_batch(tmp_path / "batch", dict(NOTHING_AGREED), {}, log, no_report=True, as_json=False)
    alone = f"a run that failed is resumed alone: `openpts resume {tmp_path / 'batch'}/1-mlc`"
    assert str(found.value).endswith(alone)
    (entry,) = read_batch(tmp_path / "batch").entries
    assert (entry.state, entry.reason) == (RunState.FAILED, "an I/O failed")


CUT = Synthetic(rounds=2, steady_round=None, extra_steps=3, state=RunState.INTERRUPTED)
THE_RULE = (
    "`openpts resume {} --accept-interruption` continues it, which is a deviation. Without that option "
    "the cycle begins again with the purge: the specification allows no interruption after it."
)


def test_what_is_kept_of_a_run_says_the_rule_of_the_specification(tmp_path) -> None:
    assert what_is_kept(tmp_path / "run") == "nothing was written yet"
    run = write_synthetic_run(tmp_path / "run", CUT)
    kept = f"{1 + 2 * 56 + 3} steps are kept in {run}: `openpts report {run}` reports on what was measured. "
    assert what_is_kept(run) == kept + THE_RULE.format(run)


@pytest.mark.parametrize(
    "cut",
    [
        dataclasses.replace(CUT, purge=False),
        dataclasses.replace(CUT, kind=TargetKind.SIMULATED, simulation=SIMULATION),
    ],
)
def test_what_no_purge_begins_and_a_simulated_drive_continue_where_they_stopped(tmp_path, cut) -> None:
    run = write_synthetic_run(tmp_path / "run", cut)
    assert what_is_kept(run).endswith(f". `openpts resume {run}` continues it")


def test_what_is_kept_of_a_suite_is_that_of_its_tests(tmp_path) -> None:
    entries = (
        suite_entry("iops", "1-iops", state=RunState.COMPLETE),
        suite_entry("iops", "2-iops", state=RunState.INTERRUPTED),
        suite_entry("lat", "3-lat", state=RunState.WAITING),
    )
    write_synthetic_run(tmp_path / "1-iops", Synthetic())
    cut = write_synthetic_run(tmp_path / "2-iops", CUT)
    write_batch(tmp_path, suite_of(*entries))
    kept = f"1 of 3 runs complete; {1 + 2 * 56 + 3} steps are kept in {cut}. "
    assert what_is_kept(tmp_path) == kept + THE_RULE.format(tmp_path)
