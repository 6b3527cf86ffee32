"""Runs on three hosts by Slurm of the distribution, whose daemons, links, drives and power fail."""

import json
import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from docs.schema_files import OUTPUTS
from openpts.errors import OpenptsError
from openpts.ownership import new_run_id
from openpts.record.manifest import RunState
from openpts.record.reader import read_manifest
from openpts_batch.fleet.configuration import parse_fleet
from openpts_batch.fleet.slurm import job_on, slurm_answer
from openpts_batch.tests.fleet.cluster import Cluster, Machine
from tests.support.processes import until

SHORT = ("wsat", "--time-scale", "0.0005", "--tc", "1", "--qd", "1", "--telemetry-period", "off")
LONG = ("wsat", "--time-scale", "0.1", *SHORT[3:])
OF_OUTPUTS = Draft202012Validator(json.loads(OUTPUTS.read_text()))


def fleet(cluster: Cluster, *words: object) -> list[dict[str, Any]]:
    ended = cluster.openpts("fleet", *words[:1], "--json", *words[1:])
    assert ended.returncode == 0, ended.stdout + ended.stderr
    printed = json.loads(ended.stdout)
    OF_OUTPUTS.validate(printed)
    found: list[dict[str, Any]] = printed["runs"]
    return found


def submit(
    cluster: Cluster, host: Machine, slot: str, *test: str, serial: str = "", run_id: str = ""
) -> dict[str, Any]:
    drive = host.in_slot(slot)
    which = ["--host", host.name, "--slot", slot, "--serial", serial or (drive.serial if drive else "")]
    [run] = fleet(cluster, "submit", "--run-id", run_id or new_run_id(), *which, *test)
    return run


def observed(cluster: Cluster, run_id: str, *stages: str) -> dict[str, Any]:
    """The run, once it is in one of these stages."""
    found: list[dict[str, Any]] = []

    def look() -> bool:
        found[:] = fleet(cluster, "observe", run_id)
        return found[0]["stage"] in stages

    until(look, f"{run_id} is {' or '.join(stages)}")
    return found[0]


def run_of(host: Machine) -> int:
    """The process of the run that a host carries out, once it has claimed its folder."""
    until(lambda: any(lock_is_held(path) for path in host.folder.glob("runs/*/claim.jsonl")), "a claim")
    [pid] = [pid for pid in host.pids("python") if b"start" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    return pid


def is_over(run: Path) -> bool:
    """By its record."""
    with suppress(OpenptsError):
        return read_manifest(run).state is not RunState.RUNNING
    return False


def lock_is_held(path: Path) -> bool:
    place = path.stat()
    return f":{place.st_ino} " in Path("/proc/locks").read_text()


@pytest.mark.slow
def test_a_run_goes_to_its_slot_and_is_complete(cluster: Cluster) -> None:
    host = cluster.hosts["h1"]
    run = submit(cluster, host, "s00", *SHORT)
    ended = observed(cluster, run["run_id"], "complete", "failed")
    assert (ended["stage"], ended["host"]) == ("complete", "h1")
    assert ended["folder"] == str(host.folder / "runs" / run["run_id"])
    assert (Path(ended["folder"]) / "run.db").exists()
    again = submit(cluster, host, "s00", *SHORT, run_id=run["run_id"])
    assert observed(cluster, again["run_id"], "complete", "failed")["stage"] == "complete"
    note = json.loads((host.folder / f"runs/journal/{run['run_id']}.json").read_text())
    assert len(note["starts"]) == 1


@pytest.mark.slow
def test_a_drive_in_another_slot_and_an_empty_slot_are_refused(cluster: Cluster) -> None:
    host = cluster.hosts["h2"]
    drive = host.in_slot("s01")
    before = Path(f"/sys/block/{drive.node.name}/stat").read_text()
    wrong = submit(cluster, host, "s01", *SHORT, serial="SN-h2-s00")
    ended = observed(cluster, wrong["run_id"], "failed")
    assert ended["reason"].startswith("refused [slot]: slot s01 of h2 has drive SN-h2-s01, and run"), ended
    host.put("s01", None)
    empty = submit(cluster, host, "s01", *SHORT, serial="SN-h2-s01")
    ended = observed(cluster, empty["run_id"], "failed", "complete")
    host.put("s01", drive)
    assert "slot s01 of h2 is empty" in ended["reason"]
    written = [
        int(text.split()[6]) for text in (before, Path(f"/sys/block/{drive.node.name}/stat").read_text())
    ]
    assert written[0] == written[1]


@pytest.mark.slow
def test_daemons_and_links_may_die_while_a_run_goes_on(cluster: Cluster) -> None:
    """As the design has it: no effect. Then the run's process is killed, and nothing starts it again."""
    host = cluster.hosts["h3"]
    run = submit(cluster, host, "s00", *LONG)
    pid = run_of(host)
    for machine, daemon in ((cluster.head, "slurmctld"), (host, "slurmd"), (host, "munged")):
        assert machine.kill(daemon)
    cluster.cut(host)
    time.sleep(3)
    cluster.cut(host, up=True)
    for machine, daemon in ((host, "munged"), (host, "slurmd"), (cluster.head, "slurmctld")):
        cluster.ensure(machine, daemon)
    assert host.pids("python") == [pid]
    seen = observed(cluster, run["run_id"], "running")
    assert (seen["host"], seen["reason"]) == ("h3", "Slurm: RUNNING")
    assert (seen["request"]["slot"], seen["request"]["serial"]) == ("s00", "SN-h3-s00")
    os.kill(pid, signal.SIGKILL)
    ended = observed(cluster, run["run_id"], "interrupted", "failed", "complete")
    assert (ended["stage"], ended["reason"]) == ("interrupted", "its process was killed")
    [resumed] = fleet(cluster, "resume", run["run_id"], "--accept-interruption")
    assert resumed["stage"] in {"queued", "running"}
    assert len({run_of(host), pid}) == 2
    [cancelled] = fleet(cluster, "cancel", run["run_id"])
    assert cancelled["stage"] == "cancelled"
    assert host.pids("python") == []


@pytest.mark.slow
def test_a_run_without_its_supervisor_keeps_its_drive_until_it_is_cancelled(cluster: Cluster) -> None:
    host = cluster.hosts["h1"]
    run = submit(cluster, host, "s01", *LONG)
    pid = run_of(host)
    assert host.kill("slurmstepd")
    assert observed(cluster, run["run_id"], "running")
    assert host.pids("python") == [pid]
    [cancelled] = fleet(cluster, "cancel", run["run_id"])
    assert (cancelled["stage"], host.pids("python")) == ("cancelled", [])


@pytest.mark.slow
def test_a_host_that_lost_its_power_says_so_when_it_is_back(cluster: Cluster) -> None:
    host = cluster.hosts["h2"]
    run = submit(cluster, host, "s00", *LONG)
    run_of(host)
    host.power_off()
    cluster.boot(host)
    until(cluster.is_ready, "the host is back")
    [ended] = fleet(cluster, "observe", "--ask-host", run["run_id"])
    assert ended["stage"] == "interrupted"
    assert ended["reason"] == "the host was restarted, or lost its power, while it ran"
    assert cluster.slurm("squeue", "-h", "-n", run["run_id"]) == "", "its slot is free"


def test_the_end_of_a_job_that_was_still_queued_is_certain_by_the_word_of_its_own_host(
    cluster: Cluster,
) -> None:
    run_id, silent = new_run_id(), cluster.hosts["h1"]
    cluster.slurm("sbatch", "--hold", f"--job-name={run_id}", "--nodelist=h3", "--wrap=true")
    cluster.cut(silent)
    try:
        [cancelled] = fleet(cluster, "cancel", run_id)
    finally:
        cluster.cut(silent, up=True)
    assert (cancelled["stage"], cancelled["is_certain"]) == ("cancelled", True), cancelled
    assert "no openpts has begun it" in cancelled["reason"]


def test_hosts_shows_slots_and_what_is_not_up(cluster: Cluster) -> None:
    host = cluster.hosts["h3"]
    drive = host.in_slot("s01")
    host.put("s01", None)
    printed: dict[str, Any] = {}

    def look() -> bool:
        printed.update(json.loads(cluster.openpts("fleet", "hosts", "--json").stdout))
        return bool(printed["hosts"][0]["slots"])

    until(look, "h1 answers again, whose cable the test before has cut")
    host.put("s01", drive)
    OF_OUTPUTS.validate(printed)
    hosts = printed["hosts"]
    assert hosts[0]["slots"] == {"s00": "SN-h1-s00", "s01": "SN-h1-s01"}
    assert hosts[2]["slots"] == {"s00": "SN-h3-s00", "s01": None}


@pytest.mark.slow
def test_without_an_answer_of_slurm_nothing_is_claimed_to_be_known(cluster: Cluster) -> None:
    cluster.head.kill("slurmctld")
    ended = cluster.openpts("fleet", "observe", new_run_id())
    cluster.ensure(cluster.head, "slurmctld")
    until(cluster.is_ready, "a controller that knows its hosts again: it refuses jobs before")
    assert ended.returncode == 15
    assert "squeue failed: " in ended.stderr


@pytest.mark.long("Slurm looks for jobs every few seconds")
def test_a_run_from_submission_to_its_folder_here(cluster: Cluster, tmp_path: Path) -> None:
    """What is here needs no host any more."""
    host, out = cluster.hosts["h1"], tmp_path / "results"
    run = submit(cluster, host, "s00", *SHORT)
    # each look of openpts is a start of Python
    until(lambda: is_over(host.folder / "runs" / run["run_id"]), "its record is complete")
    observed(cluster, run["run_id"], "complete")
    [fetched] = fleet(cluster, "fetch", run["run_id"], "--out", out)
    assert (fetched["run_id"], fetched["is_new"]) == (run["run_id"], True)
    there = host.folder / "runs" / run["run_id"]
    for path in there.rglob("*"):
        if path.is_file() and path.name != "run.db-shm":
            assert (out / run["run_id"] / path.relative_to(there)).read_bytes() == path.read_bytes()
    sums = ["sha256sum", "--check", "--strict", "--quiet", f"{run['run_id']}.SHA256SUMS"]
    assert subprocess.run(sums, cwd=out, check=False).returncode == 0
    assert read_manifest(out / run["run_id"]).state is RunState.COMPLETE
    [again] = fleet(cluster, "fetch", run["run_id"], "--out", out)
    assert again == fetched | {"is_new": False}


@pytest.mark.slow
@pytest.mark.long("Slurm looks for jobs every few seconds")
def test_nothing_is_taken_from_a_host_that_measures(cluster: Cluster, tmp_path: Path) -> None:
    host = cluster.hosts["h1"]
    run = submit(cluster, host, "s00", *SHORT)
    until(lambda: is_over(host.folder / "runs" / run["run_id"]), "its record is complete")
    observed(cluster, run["run_id"], "complete")
    other = submit(cluster, host, "s01", *LONG)
    run_of(host)
    refused = cluster.openpts("fleet", "fetch", run["run_id"], "--out", tmp_path / "results")
    assert (refused.returncode, refused.stdout) == (15, "")
    assert "host h1, with run" in refused.stderr
    fleet(cluster, "cancel", other["run_id"])


@pytest.mark.slow
def test_a_long_answer_of_a_busy_host_arrives_to_its_end(cluster: Cluster) -> None:
    """With an end of file on srun's input, one in five was cut off, each with exit status 0."""
    host = parse_fleet(cluster.fleet_file.read_bytes(), str(cluster.fleet_file)).host("h1")
    within = [*cluster.head.enter, "env", f"SLURM_CONF={cluster.folder}/slurm.conf"]
    busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(8)]
    try:
        for _ in range(25):
            answer = slurm_answer([*within, *job_on(host, 60), "/usr/bin/seq", "100000"])
            assert answer.endswith("\n100000\n"), f"{len(answer)} bytes arrived"
    finally:
        for loop in busy:
            loop.kill()
            loop.wait()
