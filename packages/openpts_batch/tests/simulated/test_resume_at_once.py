"""Suites and batches that were killed before their first record, and that several resume at once."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from openpts.errors import LimitError, RecordError
from openpts.ownership import CLAIM_NAME
from openpts.record.batch import BATCH_NAME, read_batch
from openpts.record.manifest import RunState
from openpts.record.reader import read_run
from openpts.runner.run import run_test
from openpts_batch import in_turn
from tests.support.limited_runs import ALLOW, FIGURES_ALONE, TARGET, invoke
from tests.support.openpts_process import Ended, start_openpts
from tests.support.processes import until

AT_ONCE = 3
QUICK = ("--time-scale", "0.004", "--no-report")


def killed_before_its_record(place: Path, *more: object) -> Path:
    """What a suite of two tests leaves that is killed when it is about to begin the record of the first."""
    folder, cut = place / "suite", place / "cut"

    def begins(*arguments: Any) -> Any:
        if not cut.exists():
            shutil.copytree(folder, cut)
            (cut / "1-tp").mkdir()
            (cut / "1-tp" / CLAIM_NAME).touch()
        return run_test(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(in_turn, "run_test", begins)
        words = ("--tests", "tp,lat", *QUICK, *more, "--out", folder)
        invoke("run", "all", TARGET, *words)
    assert not list(cut.rglob("run.db"))
    return cut


def resumed_at_once(folder: Path) -> list[Ended]:
    started = [start_openpts("resume", str(folder), "--no-report", cwd=folder.parent) for _ in range(AT_ONCE)]
    return [Ended(process.returncode, *said) for process, said in ended(started)]


def ended(started: Sequence[subprocess.Popen[str]]) -> list[tuple[subprocess.Popen[str], tuple[str, str]]]:
    return [(process, process.communicate(timeout=180)) for process in started]


def test_a_suite_has_the_files_of_its_operator_from_its_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its runs have copies, which are missing as long as none has begun: limits would judge nothing."""
    monkeypatch.setattr("openpts.report.write.write_report", FIGURES_ALONE)
    plan, limits = tmp_path / "plan.toml", tmp_path / "limits.toml"
    plan.write_text('tests = ["tp", "lat"]\n[tp]\nmax_rounds = 2\n')
    limits.write_text(ALLOW + 'limits = ["tp.seq-128k.write >= 1 TB/s"]')
    cut = killed_before_its_record(tmp_path, "--plan", plan, "--limits", limits)
    error, said = invoke("resume", cut, "--no-report")
    assert isinstance(error, LimitError), said
    for name in ("1-tp", "2-lat"):
        assert (cut / name / "input" / "plan.toml").read_bytes() == plan.read_bytes()
        assert (cut / name / "input" / "limits.toml").read_bytes() == limits.read_bytes()
    assert invoke("report", cut, "--no-html", "--no-pdf", "--no-csv")[0] is None
    invoke("resume", cut)  # nothing is left, and the claim has one more line
    assert invoke("verify", cut)[0] is None


@pytest.mark.slow
def test_of_those_that_resume_a_suite_at_once_one_carries_it_out(tmp_path: Path) -> None:
    cut = killed_before_its_record(tmp_path)
    found = resumed_at_once(cut)
    assert sorted(one.exit_code for one in found) == [0, 8, 8], found
    assert all("is in use by" in one.complaint for one in found if one.exit_code)
    suite = read_batch(cut)
    assert [entry.state for entry in suite.entries] == [RunState.COMPLETE] * 2
    assert [len(read_run(cut / entry.folder).manifest.attempts) for entry in suite.entries] == [1, 1]


@pytest.mark.slow
def test_of_those_that_resume_a_batch_at_once_one_carries_it_out(tmp_path: Path) -> None:
    folder = tmp_path / "batch"
    words = ("run", "tp", TARGET, f"{TARGET}&seed=2", "--max-rounds", "2", *QUICK, "--out", str(folder))
    process = start_openpts(*words, cwd=tmp_path)
    until((folder / BATCH_NAME).exists, "the batch begins")
    process.kill()
    process.communicate()
    found = resumed_at_once(folder)
    assert sorted(one.exit_code for one in found) == [0, 8, 8], found
    assert [entry.state for entry in read_batch(folder).entries] == [RunState.COMPLETE] * 2


@pytest.mark.parametrize("left", [(), (CLAIM_NAME,), (".openpts-0123456789abcdef.new",)])
def test_where_nothing_has_begun_the_operator_is_told_to_begin(tmp_path: Path, left: Sequence[str]) -> None:
    folder = tmp_path / "suite"
    folder.mkdir()
    for name in left:
        (folder / name).touch()
    error, _ = invoke("resume", folder)
    assert isinstance(error, RecordError)
    assert str(error) == (
        f"can't resume {folder}: it was cut off before its record began, and nothing was done to a drive. "
        "Remove the folder, and start again with the command that made it"
    )


@pytest.mark.slow
def test_a_suite_that_is_carried_out_is_left_alone_by_who_resumes_it(tmp_path: Path) -> None:
    """Its state, its index and its records are those of the process that carries it out."""
    folder = tmp_path / "suite"
    process = start_openpts(
        "run", "all", TARGET, "--tests", "xsr", *QUICK, "--out", str(folder), cwd=tmp_path
    )
    until((folder / "1-xsr" / "run.db").exists, "the first test begins")
    before = (folder / BATCH_NAME).read_bytes()
    error, _ = invoke("resume", folder)
    assert isinstance(error, RecordError)
    assert (folder / BATCH_NAME).read_bytes() == before
    process.communicate(timeout=180)
    assert process.returncode == 0
