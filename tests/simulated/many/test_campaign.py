"""A campaign on this host that is killed, run again, changed and reported on."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from openpts.errors import RecordError
from openpts.record.batch import INDEX_NAME, read_batch
from openpts.record.manifest import RunState
from openpts.record.reader import has_begun, read_manifest
from openpts.record.writer import DATABASE_NAME
from tests.device.openpts_process import openpts
from tests.support.openpts_command import COMMAND

PLAN = """\
title = "Lot 7"
repetitions = 2
order = "randomised"
at_most = 2
interrupted = "{interrupted}"
[[drives]]
target = "sim:theory?capacity=1GB&seed=1"
slot = "bay1"
[[drives]]
target = "sim:theory?capacity=1GB&seed=2"
slot = "bay2"
[[tests]]
test = "iops"
options = ["--precondition-passes=1", "--read-pcts=0", "--block-sizes=4KiB", "--tracking=RND 4KiB RW0",
  "--max-rounds=5", "--step-seconds=0.5"]
"""
RUNS = 4


def status(file: Path) -> dict[str, object]:
    found: dict[str, object] = openpts("campaign", "status", str(file), "--json", cwd=file.parent).json
    return found


def _has_begun(folder: Path) -> bool:
    """Not while its tables are made."""
    try:
        return has_begun(folder)
    except RecordError:
        return False


def killed_in_the_first_run(file: Path) -> None:
    """When a record has begun, SIGKILL; the kernel ends the runs."""
    command = (*COMMAND, "campaign", "run", str(file), "--no-report")
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, process_group=0) as process:
        folder = file.with_suffix("")
        deadline_s = time.monotonic() + 120
        while not any(_has_begun(path.parent) for path in folder.glob(f"*/{DATABASE_NAME}")):
            assert process.poll() is None
            assert time.monotonic() < deadline_s
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)


@pytest.mark.parametrize(
    ("interrupted", "goes_on"),
    [
        ("resume", ("campaign", "resume", "lot-7.toml")),
        pytest.param("repeat", ("campaign", "resume", "lot-7.toml"), marks=pytest.mark.slow),
        ("repeat", ("resume", "lot-7")),
    ],
)
def test_a_campaign_that_is_killed_goes_on_and_makes_each_run_once(
    tmp_path: Path, interrupted: str, goes_on: tuple[str, ...]
) -> None:
    file, folder = tmp_path / "lot-7.toml", tmp_path / "lot-7"
    file.write_text(PLAN.format(interrupted=interrupted))
    killed_in_the_first_run(file)
    planned = read_batch(folder).entries
    changed = file.read_text()
    file.write_text(changed.replace("repetitions = 2", "repetitions = 3"))
    refused = openpts("campaign", "run", str(file), cwd=tmp_path)
    assert refused.exit_code == 2
    file.write_text(changed)

    ended = openpts(*goes_on, "--no-report", cwd=tmp_path, timeout_s=300)
    assert ended.exit_code == 0, ended.stderr
    requests = [entry.request for entry in read_batch(folder).entries]
    replaced = {entry.request.run_id for entry in planned} - {request.run_id for request in requests}
    # both drives may have had a run; one that ends while its campaign is killed needs no other
    assert len(replaced) <= (2 if interrupted == "repeat" else 0)
    if interrupted == "resume":
        assert requests == [entry.request for entry in planned]
    manifests = [read_manifest(path.parent) for path in folder.glob(f"*/{DATABASE_NAME}")]
    complete = [one for one in manifests if one.state is RunState.COMPLETE]
    wanted = [(request.labels["slot"], request.labels["repetition"]) for request in requests]
    made = [(one.people.labels["slot"], one.people.labels["repetition"]) for one in complete]
    assert sorted(made) == sorted(wanted)
    assert len(set(made)) == RUNS
    assert len(manifests) == RUNS + len(replaced)
    assert (folder / INDEX_NAME).read_text().count("repetition 2") == 2
    before = {path: path.stat().st_mtime_ns for path in folder.glob(f"*/{DATABASE_NAME}")}
    assert openpts("campaign", "run", str(file), "--no-report", cwd=tmp_path).exit_code == 0
    assert {path: path.stat().st_mtime_ns for path in folder.glob(f"*/{DATABASE_NAME}")} == before

    found = status(file)
    assert found["is_running"] is False
    reported = openpts("campaign", "report", str(file), "--json", cwd=tmp_path)
    assert reported.exit_code == 0, reported.stderr
    (population,) = reported.json["populations"]
    assert {one["runs"] for value in population["values"] for one in value["drives"]} == {2}
    assert (folder / "population" / "population.html").exists()
