"""Campaigns over the hosts of real fleets: what submits them is killed, and each run is made once."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from openpts.ownership import CLAIM_NAME
from openpts.record.manifest import RunState
from openpts.record.reader import read_manifest
from openpts_many.campaign.begun import read_begun
from openpts_many.campaign.status import status_of
from openpts_many.fleet.host_journal import HostJournal
from tests.fleet.cluster import Cluster
from tests.support.openpts_command import COMMAND
from tests.support.processes import until
from tests.support.systemd_host import SystemdHost

PLAN = """title = "Lot 7"
order = "blocked"
[[tests]]
test = "{test}"
options = {options}
"""
DRIVE = """[[drives]]
host = "{host}"
{names}
"""


def planned(file: Path, drives: Sequence[tuple[str, str]], test: str, *options: str) -> Path:
    tables = [DRIVE.format(host=host, names=names) for host, names in drives]
    file.write_text(PLAN.format(test=test, options=json.dumps(options)) + "".join(tables))
    return file


def carried_out(
    command: Sequence[str], file: Path, hosts: Sequence[HostJournal], runs: int, *again: object
) -> None:
    """Killed when the first run is under way, and gone on with; then what hosts and results have."""
    before = {one.run_id for host in hosts for one in host.all()}
    with subprocess.Popen([*command, "campaign", "run", str(file)], stdout=subprocess.DEVNULL) as submitter:
        until(lambda: any(set(claims(host)) - before for host in hosts), "a run is under way")
        os.kill(submitter.pid, 9)
    said(command, *again)
    made = status_of(file.with_suffix(""), read_begun(file.with_suffix(""))).runs
    assert [run.state for run in made] == [RunState.COMPLETE] * runs
    by_host = {host.host: {one.run_id for one in host.all()} - before for host in hosts}
    assert by_host == {host: {run.run_id for run in made if run.host == host} for host in by_host}
    for host in hosts:
        for run_id in by_host[host.host]:
            note = host.note_of(run_id)
            assert note is not None
            assert (len(note.starts), claims(host)[run_id]) == (1, 1)


def claims(host: HostJournal) -> dict[str, int]:
    """How many processes have claimed each run."""
    found = host.runs.glob(f"*/{CLAIM_NAME}")
    return {claim.parent.name: len(claim.read_text().splitlines()) for claim in found}


def reported(command: Sequence[str], file: Path, runs: int) -> None:
    folder, archive = file.with_suffix(""), file.with_name("archive")
    told = said(command, "campaign", "report", file, "--archive", archive, "--json")
    fetched = [folder / entry.folder for entry in read_begun(folder).entries]
    assert [read_manifest(path).state for path in fetched] == [RunState.COMPLETE] * runs
    assert len(json.loads(told)["drives"]) == runs
    assert (folder / "population" / "population.html").exists()
    assert f"{runs} runs" in said(command, "archive", "check", archive)


def said(command: Sequence[str], *words: object) -> str:
    ended = subprocess.run([*command, *map(str, words)], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.mark.slow
def test_over_ssh(systemd_hosts: list[SystemdHost], fleet_file: Path, tmp_path: Path) -> None:
    places = (("h1", "s00"), ("h1", "s01"), ("h2", "s00"))
    slots = {one.host.name: one.host.slots for one in systemd_hosts}
    drives = [(host, f'slot = "{slot}"\ntarget = "{slots[host][slot].target}"') for host, slot in places]
    file = planned(tmp_path / "lot-7.toml", drives, "tp", "--quick")
    command = ["env", f"OPENPTS_FLEET={fleet_file}", *COMMAND]
    carried_out(
        command,
        file,
        [HostJournal(one.host.name, one.host.runs) for one in systemd_hosts],
        3,
        "campaign",
        "run",
        file,
    )
    reported(command, file, 3)


@pytest.mark.slow  # campaigns are tried on hosts of ssh, Slurm by runs of its own
def test_on_slurm(cluster: Cluster, tmp_path: Path) -> None:
    """The second drive is named by its serial number, without its slot."""
    serials = (("h1", 'slot = "s00"\nserial = "SN-h1-s00"'), ("h1", 'serial = "SN-h1-s01"'))
    drives = [*serials, ("h2", 'slot = "s00"\nserial = "SN-h2-s00"')]
    short = ("--time-scale", "0.0005", "--tc", "1", "--qd", "1", "--telemetry-period", "off")
    file = planned(tmp_path / "lot-7.toml", drives, "wsat", *short)
    hosts = [HostJournal(name, cluster.hosts[name].folder / "runs") for name in ("h1", "h2")]
    agreed = [f"--confirm-serial=SN-{place}" for place in ("h1-s00", "h1-s01", "h2-s00")]
    carried_out(cluster.command(), file, hosts, 3, "resume", file.with_suffix(""), *agreed)
    reported(cluster.command(), file, 3)
