"""What other programs read of a batch: events and OCP output of each run, metrics of all."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from docs.schema_files import EVENTS
from openpts.errors import RecordError, UsageError
from openpts.record.batch import read_batch
from openpts.record.manifest import RunState
from openpts.record.reader import read_run
from openpts.report.sources import run_folders_of
from openpts_batch.side_by_side import SideBySide, new_batch
from openpts_batch.tests.device.test_batch import PATIENCE_S, QUICK, TEST
from tests.support.free_ports import free_ports
from tests.support.openpts_process import openpts, start_openpts

DRIVES = ("sim:theory?capacity=1GB&seed=1", "sim:mlc?capacity=1GB&seed=2")
FOLDERS = ("1-SIM0001", "2-SIM0002")


@pytest.fixture(scope="module")
def folder(disk_path_factory: pytest.TempPathFactory) -> Path:
    """Of a batch with all outputs, that has come to its end."""
    folder = disk_path_factory.mktemp("outputs")
    outputs = ("--events", "out/ev.jsonl", "--ocp-diag", "out/ocp.jsonl", "--metrics", "out/batch.prom")
    (folder / "out").mkdir()
    (folder / "drives.toml").write_text(
        "".join(
            f'[[drives]]\ntarget = "{drive}"\nslot = "{slot}"\n'
            for slot, drive in zip(("3", "5"), DRIVES, strict=True)
        )
    )
    words = (*TEST, "--drives", "drives.toml", *QUICK, "--no-report", "--out", "batch", *outputs)
    ended = openpts("run", *words, cwd=folder)
    assert ended.exit_code == 0, ended.stderr
    return folder


def samples(text: str, name: str) -> list[Sample]:
    return [
        sample
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name
    ]


def test_each_run_has_a_file_of_its_events(folder: Path) -> None:
    schema = Draft202012Validator(json.loads(EVENTS.read_text()))
    for name in FOLDERS:
        lines: list[dict[str, Any]] = [
            json.loads(line) for line in (folder / f"out/ev-{name}.jsonl").read_text().splitlines()
        ]
        for line in lines:
            schema.validate(line)
        assert lines[0]["kind"] == "stream_started"
        assert lines[-1]["kind"] == "stream_finished"
        run = read_run(folder / "batch" / name)
        assert [line["run"] for line in lines if "run" in line] == [run.manifest.test_id]
        assert sum(line["kind"] == "step_finished" for line in lines) == len(run.steps)


def test_each_run_has_a_file_of_ocp_output(folder: Path) -> None:
    for name in FOLDERS:
        artifacts = [json.loads(line) for line in (folder / f"out/ocp-{name}.jsonl").read_text().splitlines()]
        assert sum("testRunStart" in one.get("testRunArtifact", ()) for one in artifacts) == 1
        assert f'"{name[2:]}"' in json.dumps(artifacts)
        assert [one["sequenceNumber"] for one in artifacts] == list(range(len(artifacts)))


def test_one_file_has_the_metrics_of_all_runs_by_serial_and_slot(folder: Path) -> None:
    text = (folder / "out/batch.prom").read_text()
    found = {sample.labels["serial"]: sample for sample in samples(text, "openpts_steps_total")}
    for slot, name, drive in zip(("3", "5"), FOLDERS, DRIVES, strict=True):
        steps = found.pop(name[2:])
        run = read_run(folder / "batch" / name)
        assert steps.value == len(run.steps)
        assert steps.labels["slot"] == slot
        assert steps.labels["target"] == run.manifest.target.path
        assert drive.partition("?")[0] in steps.labels["target"]
    assert not found
    drives = {sample.labels["state"]: sample.value for sample in samples(text, "openpts_batch_drives")}
    assert {state: count for state, count in drives.items() if count} == {"complete": 2}


def scrapes(port: int) -> Iterator[str]:
    """From when the address answers."""
    deadline_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline_s:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
                yield answer.read().decode()
        except urllib.error.URLError:
            time.sleep(0.2)


@pytest.mark.slow
def test_one_address_serves_all_runs_while_they_measure(tmp_path: Path) -> None:
    [port] = free_ports(1)
    drives = [f"file:{tmp_path / name}?size=8MiB" for name in ("a", "b")]
    words = (*TEST, *drives, "--step-seconds", "60", "--no-report", "--metrics", f"127.0.0.1:{port}")
    with start_openpts("run", *words, cwd=tmp_path) as process:
        try:
            seen: set[str] = set()
            for text in scrapes(port):
                moved = samples(text, "openpts_bytes_total")
                seen |= {sample.labels["target"] for sample in moved if sample.value > 0}
                if len(seen) == len(drives):
                    break
                time.sleep(0.5)
        finally:
            process.terminate()
            process.communicate(timeout=PATIENCE_S)
    assert {Path(target).name for target in seen} == {"a", "b"}


def test_what_several_runs_cannot_share_is_refused_before_any_starts(tmp_path: Path) -> None:
    (tmp_path / f"ocp-{FOLDERS[1]}.jsonl").write_text("")
    for outputs, complaint in (
        (("--events", "-"), "name a file, and each run has one of its own"),
        (("--ocp-diag", "ocp.jsonl"), f"can't write --ocp-diag ocp-{FOLDERS[1]}.jsonl: it exists already"),
        (("--events", "gone/ev.jsonl"), f"can't write --events gone/ev-{FOLDERS[0]}.jsonl"),
        (("--metrics", "nowhere"), "invalid --metrics 'nowhere'"),
        (("--run-id", "0b9e8a1e-5d0a-4d47-9b19-0d6c8c3a2f11"), "--run-id is for a single drive"),
    ):
        ended = openpts("run", *TEST, *DRIVES, *QUICK, "--out", "batch", *outputs, cwd=tmp_path)
        assert ended.exit_code == 2
        assert complaint in ended.stderr
        assert not (tmp_path / "batch").exists()


def test_a_batch_stands_for_its_runs_where_runs_are_named(folder: Path, tmp_path: Path) -> None:
    batch = folder / "batch"
    assert run_folders_of([batch]) == tuple(batch / name for name in FOLDERS)
    written = openpts("export", str(batch), "--csv-row", "-", cwd=tmp_path)
    assert (written.exit_code, len(written.stdout.splitlines())) == (0, 3), written.stderr
    with pytest.raises(UsageError, match="a run is named twice"):
        run_folders_of([batch, batch / FOLDERS[0]])


def test_a_batch_in_which_no_run_began_is_refused(tmp_path: Path) -> None:
    SideBySide(folder=tmp_path / "batch", batch=new_batch([])).run()
    with pytest.raises(RecordError, match="none of its runs has a record"):
        run_folders_of([tmp_path / "batch"])


@pytest.mark.slow
def test_each_run_is_held_against_limits_and_baseline(folder: Path, tmp_path: Path) -> None:
    """The second drive is too slow; of neither one run is enough to be held against a baseline."""
    of_figures = '["iops.rnd-4k-rw0 >= 100 k", "iops.rnd-4k-rw0 >= 0.001 x"]'
    (tmp_path / "limits.toml").write_text(f'allow = ["deviations", "not steady"]\nlimits = {of_figures}\n')
    gate = ["--limits", "limits.toml"]
    for name in FOLDERS:
        gate += ["--baseline", str(folder / "batch" / name)]
    words = (*TEST, *DRIVES, *QUICK, "--no-report", "--out", "batch", *gate)
    ended = openpts("run", *words, cwd=tmp_path)
    entries = read_batch(tmp_path / "batch").entries
    assert [entry.exit_code for entry in entries] == [13, 10], ended.stderr
    assert [entry.state for entry in entries] == [RunState.COMPLETE] * 2


def test_commands_at_moments_know_drive_slot_and_batch_and_a_failure_ends_its_run_alone(
    folder: Path, tmp_path: Path
) -> None:
    """The command of each run's start succeeds in slot 3 alone."""
    told = "echo $OPENPTS_SERIAL $OPENPTS_SLOT $OPENPTS_BATCH $OPENPTS_FOLDER"
    hook = f"run-start=sh -c '{told} >> told; test $OPENPTS_SLOT = 3'"
    words = (*TEST, "--drives", str(folder / "drives.toml"), *QUICK, "--no-report", "--out", "batch")
    ended = openpts("run", *words, "--hook", hook, cwd=tmp_path)
    assert ended.exit_code == 7
    entries = read_batch(tmp_path / "batch").entries
    assert [entry.state for entry in entries] == [RunState.COMPLETE, RunState.FAILED], ended.stderr
    assert "exit code 1" in str(entries[1].reason)
    batch = tmp_path / "batch"
    assert sorted((tmp_path / "told").read_text().splitlines()) == sorted(
        f"{name[2:]} {slot} {batch} {batch / name}" for name, slot in zip(FOLDERS, ("3", "5"), strict=True)
    )
