"""Runs that are ordered with limits, on simulated drives: exit codes, the record, the page, an early end."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema_rs import Draft202012Validator
from syrupy.assertion import SnapshotAssertion

from docs.schema_files import RUN
from openpts.cli.main import cli
from openpts.errors import LimitError, OpenptsError, RecordError, UsageError
from openpts.record.manifest import RunState
from openpts.record.reader import read_manifest, read_run
from openpts.report.run_part import summarize
from openpts.vocabulary.drive_class import DriveClass
from tests import ROOT
from tests.support.limited_runs import ALLOW, TARGET, invoke
from tests.support.oracle_presets import write_oracle
from tests.support.shortened_runs import run_whole
from tests.support.transcript import Golden

PRESET = ROOT / "packages/openpts_sim/presets/enterprise-tlc.toml"
QUICK = ("--quick", "--no-report", "--seed", "1")


def run_tp(place: Path, limits: str, *more: object) -> tuple[OpenptsError | None, str]:
    file = place / "limits.toml"
    file.write_text(limits)
    return invoke("run", "tp", TARGET, *QUICK, "--out", place / "run", "--limits", file, *more)


def test_a_run_that_keeps_its_limits_ends_well(tmp_path: Path) -> None:
    limits = ALLOW + 'limits = ["tp.seq-128k.write >= 1 GB/s", "lat.rnd-4k-rw0 <= 1 ms"]'
    error, _ = run_tp(tmp_path, limits)
    assert error is None
    assert (tmp_path / "run" / "input" / "limits.toml").read_text() == limits
    answer = summarize(read_run(tmp_path / "run"))
    assert answer["verdict"] == "pass"
    assert [one["name"] for one in answer["limits"]] == ["tp.seq_128_kib.write"]


def answer_of(*words: object) -> tuple[int, dict[str, Any]]:
    """Exit code and the one JSON object of a command."""
    done = CliRunner().invoke(cli, [*map(str, words), "--json"])
    assert isinstance(done.exception, OpenptsError), done.output
    answer: dict[str, Any] = json.loads(done.stdout)
    return done.exception.exit_code, answer


@pytest.mark.full_matrix(most=2)
@pytest.mark.parametrize(
    ("limits", "more", "code", "verdict"),
    [
        (ALLOW + 'limits = ["tp.seq-1024k.write >= 1 TB/s"]', (), 10, "fail"),
        ('limits = ["tp.seq-1024k.write >= 1 MB/s"]', (), 13, "no verdict"),
        (ALLOW + 'limits = ["tp.seq-1024k.write >= 1 ms"]', (), 13, "no verdict"),
        (ALLOW + 'limits = ["tp.seq-1024k.writes >= 1 MB/s"]', (), 13, "no verdict"),
        (ALLOW + 'limits = ["tp.seq-1024k.write >= 1 MB/s"]', ("--max-rounds", 3), 14, "pass"),
    ],
)
def test_a_failed_run_is_one_object(
    tmp_path: Path, limits: str, more: tuple[object, ...], code: int, verdict: str
) -> None:
    file = tmp_path / "limits.toml"
    file.write_text(limits)
    words = ("--out", tmp_path / "run", "--limits", file, "--require-steady", *more)
    exit_code, answer = answer_of("run", "tp", TARGET, *QUICK, *words)
    assert (exit_code, answer["exit_code"], answer["verdict"]) == (code, code, verdict)
    assert read_manifest(tmp_path / "run").state is RunState.COMPLETE
    assert str(tmp_path / "run") in answer["error"]
    Draft202012Validator(json.loads(RUN.read_text())).validate(answer)


def test_a_failed_suite_is_one_object(tmp_path: Path, golden: Golden) -> None:
    file = tmp_path / "limits.toml"
    file.write_text(ALLOW + 'limits = ["tp.seq-128k.write >= 1 TB/s"]')
    words = ("--quick", "--no-report", "--limits", file, "--out", tmp_path / "suite")
    exit_code, answer = answer_of("run", "all", TARGET, "--tests", "tp", *words)
    assert exit_code == answer["exit_code"] != 0
    assert answer["error"] == golden
    assert answer["entries"][0]["state"] == "failed"


def test_a_run_goes_on_after_a_failure_unless_it_is_to_stop(tmp_path: Path, golden: Golden) -> None:
    limits = ALLOW + 'limits = ["tp.seq-128k.write >= 1 TB/s"]'
    (tmp_path / "on").mkdir()
    found, _ = run_tp(tmp_path / "on", limits)
    assert type(found) is LimitError
    assert len(read_manifest(tmp_path / "on" / "run").cycles) == 2
    (tmp_path / "off").mkdir()
    found, _ = run_tp(tmp_path / "off", limits, "--stop-on-fail")
    assert type(found) is LimitError
    assert str(found) == golden
    manifest = read_manifest(tmp_path / "off" / "run")
    assert (manifest.state, len(manifest.cycles)) == (RunState.FAILED, 1)


def test_a_limit_of_the_last_cycle_leaves_the_run_complete(tmp_path: Path) -> None:
    run_tp(tmp_path, ALLOW + 'limits = ["tp.seq-1024k.write >= 1 TB/s"]', "--stop-on-fail")
    assert read_manifest(tmp_path / "run").state is RunState.COMPLETE


@pytest.mark.slow
def test_a_throttled_step_ends_the_run_where_that_is_to_stop_it(tmp_path: Path, golden: Golden) -> None:
    hot = tmp_path / "hot.toml"
    text = PRESET.read_text().partition("# Published figures")[0]
    hot.write_text(text.replace("from_c = 75.0", "from_c = 32.0"))
    limits = tmp_path / "limits.toml"
    limits.write_text('require = ["no throttling"]')
    words = ("run", "tp", f"sim:{hot}?capacity=4GB", *QUICK, "--step-seconds", 20, "--limits", limits)
    found, _ = invoke(*words, "--stop-on-fail", "--out", tmp_path / "stopped")
    assert type(found) is LimitError
    assert str(found) == golden
    stopped = read_run(tmp_path / "stopped")
    assert stopped.manifest.state is RunState.FAILED
    assert stopped.manifest.cycles == ()
    found, output = invoke(*words, "--out", tmp_path / "whole")
    assert type(found) is LimitError
    assert "fail: no throttling: throttled in " in output
    assert len(read_run(tmp_path / "whole").steps) > len(stopped.steps)


def test_a_wrong_file_is_refused_before_the_run(tmp_path: Path) -> None:
    found, _ = run_tp(tmp_path, 'limits = ["m > 5"]')
    assert isinstance(found, UsageError)
    assert not (tmp_path / "run").exists()
    found, _ = invoke("run", "tp", TARGET, *QUICK, "--out", tmp_path / "run", "--stop-on-fail")
    assert isinstance(found, UsageError)


def test_limits_that_were_damaged_in_the_record_are_named(tmp_path: Path) -> None:
    run_tp(tmp_path, ALLOW + 'limits = ["tp.seq-128k.write >= 1 GB/s"]')
    (tmp_path / "run" / "input" / "limits.toml").write_text("limits = 5")
    found, _ = invoke("report", tmp_path / "run", "--no-pdf", "--no-html", "--no-csv")
    assert isinstance(found, RecordError)


def test_a_suite_holds_each_test_against_its_own_limits(tmp_path: Path, golden: Golden) -> None:
    file, target = tmp_path / "limits.toml", f"sim:{write_oracle(tmp_path, [20_000.0])}"
    file.write_text(ALLOW + 'limits = ["tp.seq-128k.write >= 1 TB/s", "iops.rnd-4k-rw0 >= 1"]')
    words = ("run", "all", target, "--tests", "tp,iops", "--time-scale", "1/600", "--no-report")
    found, _ = invoke(*words, "--limits", file, "--out", tmp_path / "on")
    assert found is not None
    assert str(found) == golden
    found, _ = invoke(*words, "--limits", file, "--out", tmp_path / "off", "--stop-on-fail")
    assert type(found) is LimitError
    entries: list[dict[str, Any]] = json.loads((tmp_path / "off" / "batch.json").read_text())["entries"]
    assert entries[1]["state"] != "complete"
    assert [len(read_manifest(tmp_path / name / "1-tp").cycles) for name in ("on", "off")] == [2, 1]


def test_a_newcomer_is_shown_the_way(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    run_whole("tp", DriveClass.ENTERPRISE, tmp_path / "run")
    run, said = tmp_path / "run", []
    for words in (
        (),
        ("--limit", "tp.seq-128k.write >= 1 GB/s"),
        ("--limit", "tp.seq-128k.wrte >= 1 GB/s"),
        ("--limit", "tp.seq-128k.write >= 1 k"),
        ("--limit", "tp.seq-128k.write >= 5 %"),
        ("--limit", "tp.seq-128k.write >= -5 %"),
        ("--limit", "iops.rnd-4k-rw0 >= 180 k"),
        ("--limit", "ios.rnd-4k-rw0 >= 180 k"),
        ("--power-analysis",),
    ):
        error, output = invoke("gate", run, *words)
        lines = output.splitlines()
        shown = "\n".join(line for line in lines if " = " not in line or "tp.seq" in line)
        said.append(f"$ openpts gate RUN {' '.join(words)}\n{shown}\n{error or ''}".replace(str(run), "RUN"))
    assert "\n\n".join(said) == snapshot
