"""Several drives at once: each a process, a record and a state of its own."""

import json
import os
import signal
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from docs.schema_files import BATCH
from openpts.cli.main import cli
from openpts.errors import InterruptedRunError, RecordError
from openpts.ownership import new_run_id
from openpts.record.batch import Batch, read_batch
from openpts.record.manifest import RunState
from openpts.record.reader import read_run
from openpts.units import MIB
from openpts.vocabulary.run_request import RunRequest
from openpts_batch.side_by_side import SideBySide, new_batch
from tests.support.endurance_presets import write_short_lived
from tests.support.openpts_process import openpts, start_openpts
from tests.support.processes import until
from tests.support.transcript import Golden

TEST = (
    *("iops", "--class", "client", "--precondition-passes", "1", "--read-pcts", "0", "--block-sizes", "4KiB"),
    *("--tracking", "RND 4KiB RW0", "--tc", "1", "--qd", "2", "--max-rounds", "5"),
)
QUICK = ("--step-seconds", "0.05")
LONG = ("--step-seconds", "60")
PATIENCE_S = 120.0


def request(target: str, *words: str) -> RunRequest:
    return RunRequest(run_id=new_run_id(), test_words=(*TEST, *words), target=target)


def files(folder: Path, count: int) -> list[str]:
    return [f"file:{folder / f'drive{number}'}?size=8MiB" for number in range(count)]


def seconds(moment: str | None) -> float:
    return datetime.fromisoformat(str(moment)).timestamp()


def states(batch: Batch) -> list[RunState]:
    return [entry.state for entry in batch.entries]


def is_measuring(folder: Path, name: str) -> bool:
    """Whether a step of the run is in its record, so that the next one runs."""
    try:
        with sqlite3.connect(f"file:{folder / name / 'run.db'}?mode=ro", uri=True) as database:
            return bool(database.execute("SELECT count(*) FROM step").fetchone()[0])
    except sqlite3.OperationalError:
        return False


def processes(folder: Path) -> list[int]:
    """Those of a batch's runs, by the folder in their words."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"openpts_batch.drive_process" in words and any(os.fsencode(folder) in word for word in words):
            found.append(int(path.parent.name))
    return found


@contextmanager
def measuring(folder: Path, count: int, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A batch of scratch files of which the first two are in a step of minutes."""
    targets = files(folder, count)
    words = ("run", *TEST, *targets, *LONG, *words, "--no-report", "--out", "batch")
    with start_openpts(*words, cwd=folder) as process:
        try:
            until(
                lambda: all(
                    is_measuring(folder / "batch", f"{number}-drive{number - 1}") for number in (1, 2)
                )
            )
            yield process
        finally:
            process.kill()


@pytest.mark.slow
def test_one_drive_that_fails_stops_only_itself(tmp_path: Path, golden: Golden) -> None:
    """The second wears out in its preconditioning, the third is too small for its own name."""
    worn = write_short_lived(tmp_path, "mlc", 1.0, 1.0)
    first, last = files(tmp_path, 2)
    requests = [
        request(first, *QUICK),
        request(f"sim:{worn}?capacity=1GB", *QUICK, "--precondition-passes", "5"),
        request(str(tmp_path / "gone"), *QUICK),
        request(last, *QUICK),
    ]
    batch = SideBySide(folder=tmp_path / "batch", batch=new_batch(requests)).run()
    complete, failed, refused = RunState.COMPLETE, RunState.FAILED, RunState.REFUSED
    assert states(batch) == [complete, failed, refused, complete]
    assert [entry.exit_code for entry in batch.entries] == [0, 7, 3, 0]
    assert [entry.reason for entry in batch.entries] == golden
    assert read_batch(tmp_path / "batch") == batch
    for entry in (batch.entries[0], batch.entries[3]):
        run = read_run(tmp_path / "batch" / entry.folder)
        assert run.manifest.state is RunState.COMPLETE
        # both are called file, and begin in the same second
        assert run.manifest.test_id.endswith(f"-iops-{entry.request.run_id[-6:]}")
        assert f'"{entry.request.run_id}"' in (tmp_path / "batch" / entry.folder / "claim.jsonl").read_text()
    assert read_run(tmp_path / "batch" / batch.entries[1].folder).manifest.state is RunState.FAILED


@pytest.mark.slow
def test_starts_are_in_order_staggered_and_so_many_at_once(tmp_path: Path) -> None:
    stagger_s, at_most = 0.5, 2
    requests = [request(target, *QUICK) for target in files(tmp_path, 3)]
    batch = SideBySide(
        folder=tmp_path / "batch", batch=new_batch(requests, at_most=at_most, stagger_s=stagger_s)
    ).run()
    assert states(batch) == [RunState.COMPLETE] * 3
    times = [(seconds(entry.started_at), seconds(entry.ended_at)) for entry in batch.entries]
    starts = [start for start, _ in times]
    assert all(later - earlier >= stagger_s - 0.01 for earlier, later in pairwise(starts))
    for moment in starts:
        assert sum(start <= moment < end for start, end in times) <= at_most


@pytest.mark.slow
def test_runs_on_one_drive_follow_one_another(tmp_path: Path) -> None:
    (target,) = files(tmp_path, 1)
    requests = [request(target, *QUICK, "--overwrite-file") for _ in range(2)]
    batch = SideBySide(folder=tmp_path / "batch", batch=new_batch(requests)).run()
    assert states(batch) == [RunState.COMPLETE] * 2
    assert seconds(batch.entries[1].started_at) >= seconds(batch.entries[0].ended_at)


@pytest.mark.slow
def test_a_killed_run_costs_only_itself_and_an_interrupt_stops_all_others(tmp_path: Path) -> None:
    with measuring(tmp_path, 4, "--at-most", "2") as process:
        # the run, and for a moment what it is about to start
        victim = min(processes(tmp_path / "batch/1-drive0") or processes(Path("batch/1-drive0")))
        os.kill(victim, signal.SIGKILL)
        until(lambda: is_measuring(tmp_path / "batch", "3-drive2"))
        interrupted, running, waiting = RunState.INTERRUPTED, RunState.RUNNING, RunState.WAITING
        batch = read_batch(tmp_path / "batch")
        assert states(batch) == [interrupted, running, running, waiting]
        assert batch.entries[0].reason == "its process was ended by SIGKILL"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert "openpts resume batch" in errors
    batch = read_batch(tmp_path / "batch")
    assert states(batch) == [interrupted, interrupted, interrupted, waiting]
    runs = [read_run(tmp_path / "batch" / entry.folder) for entry in batch.entries[:3]]
    assert all(run.steps for run in runs)
    assert [run.manifest.state for run in runs] == [
        RunState.RUNNING,  # nothing was left to say otherwise
        RunState.INTERRUPTED,
        RunState.INTERRUPTED,
    ]


def test_an_interrupt_while_reports_are_made_says_how_to_make_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_run: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("openpts_batch.cli.batch.documents_on", interrupted)
    drives = [f"sim:theory?capacity=1GB&seed={seed}" for seed in (1, 2)]
    with pytest.raises(InterruptedRunError, match="operator: `openpts report batch` makes the reports"):
        cli.main(["run", *TEST, *drives, *QUICK, "--out", "batch"], standalone_mode=False)
    assert states(read_batch(tmp_path / "batch")) == [RunState.COMPLETE] * 2


def test_a_run_that_is_stopped_while_python_starts_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C ends such a process by the signal itself, before openpts can take it in."""
    starting = tmp_path / "python"
    starting.write_text("#!/bin/sh\nkill -INT $$\n")
    starting.chmod(0o755)
    monkeypatch.setattr("openpts_batch.side_by_side.sys.executable", str(starting))
    (entry,) = (
        SideBySide(folder=tmp_path / "batch", batch=new_batch([request(*files(tmp_path, 1))])).run().entries
    )
    assert (entry.state, entry.reason) == (RunState.INTERRUPTED, "stopped by the operator")


@pytest.mark.slow
def test_a_batch_that_is_killed_leaves_no_run_behind_and_goes_on(tmp_path: Path) -> None:
    with measuring(tmp_path, 2) as process:
        assert len(processes(Path("batch"))) >= 2
        busy = openpts("resume", "batch", cwd=tmp_path)
        assert busy.exit_code == 8
        assert "batch is in use by run" in busy.complaint
        process.kill()
        process.wait()
    until(lambda: not processes(Path("batch")))
    assert states(read_batch(tmp_path / "batch")) == [RunState.RUNNING] * 2
    with start_openpts("resume", "batch", "--no-report", cwd=tmp_path) as again:
        assert again.stdout is not None
        waited_for = {"1-drive0:", "2-drive1:"}
        while waited_for:
            line = again.stdout.readline()
            assert line, "the batch ended before both went on"
            if "round 1" in line:
                waited_for.discard(line.split()[1])
        again.send_signal(signal.SIGINT)
        again.communicate(timeout=PATIENCE_S)
    for name in ("1-drive0", "2-drive1"):
        assert len(read_run(tmp_path / "batch" / name).manifest.attempts) == 2


def test_a_batch_that_has_come_to_its_end_is_not_resumed(tmp_path: Path, golden: Golden) -> None:
    SideBySide(folder=tmp_path / "batch", batch=new_batch([])).run()
    ended = openpts("resume", "batch", cwd=tmp_path)
    assert ended.exit_code == 8
    assert ended.complaint == golden


def test_a_folder_has_one_batch(tmp_path: Path) -> None:
    SideBySide(folder=tmp_path / "batch", batch=new_batch([])).run()
    with pytest.raises(RecordError, match="belongs to run"):
        SideBySide(folder=tmp_path / "batch", batch=new_batch([])).run()


def test_nothing_starts_where_one_drive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("data of somebody")
    words = (*TEST, *files(tmp_path, 1), f"file:{tmp_path / 'mine'}?size=8MiB", *QUICK, "--out", "batch")
    ended = openpts("run", *words, cwd=tmp_path)
    assert ended.exit_code == 4
    assert not (tmp_path / "batch").exists()
    assert not (tmp_path / "drive0").exists()


@pytest.mark.slow
def test_loop_devices_are_confirmed_each_and_share_the_processors(
    attach: Callable[..., Path], tmp_path: Path
) -> None:
    devices = [str(attach(size_bytes=8 * MIB)) for _ in range(2)]
    words = ("run", *TEST, *devices, *QUICK, "--no-report", "--json", "--out", "batch")
    confirmed = [word for device in devices for word in ("--confirm-device-path", device)]
    ended = openpts(*words, *confirmed[:2], cwd=tmp_path)
    assert ended.exit_code == 4
    assert f"add --confirm-device-path {devices[1]}" in ended.stderr
    ended = openpts(*words, *confirmed, cwd=tmp_path)
    assert ended.exit_code == 0, ended.stderr
    entries = ended.json["entries"]
    schema = Draft202012Validator(json.loads(BATCH.read_text()))
    schema.validate(ended.json)
    schema.validate(json.loads((tmp_path / "batch/batch.json").read_text()))
    assert [entry["state"] for entry in entries] == ["complete"] * 2
    manifests = [read_run(tmp_path / "batch" / entry["folder"]).manifest for entry in entries]
    # measured once for all of them, or not at all where somebody else's run goes on
    memory = ended.json["memory"]
    assert f"memory: {manifests[0].host['memory_bandwidth'].value}" in ended.stderr or not memory["measured"]
    assert {manifest.host["memory_bandwidth"].source for manifest in manifests} == {memory["source"]}
    if len(os.sched_getaffinity(0)) > 1:
        pinned = [manifest.engine["processors"].value for manifest in manifests]
        assert len(set(pinned)) == len(pinned)
        assert [entry["cpus"] is not None for entry in entries] == [True, True]


@pytest.mark.slow
def test_a_batch_that_is_redacted_has_no_serial_number_in_any_name_or_file(tmp_path: Path) -> None:
    drives = [f"sim:theory?capacity=1GB&seed={seed}" for seed in (1, 2)]
    ended = openpts("run", *TEST, *drives, *QUICK, "--no-report", "--out", "batch", cwd=tmp_path)
    assert ended.exit_code == 0, ended.stderr
    made = openpts("report", "batch", "--redact", "--no-pdf", "--out", "public", cwd=tmp_path)
    assert made.exit_code == 0, made.stderr
    written = [path for path in (tmp_path / "public").rglob("*") if path.is_file()]
    assert len([path for path in written if path.suffix == ".html"]) == len(drives)
    assert not [path for path in written if "SIM000" in str(path) or b"SIM000" in path.read_bytes()]
