"""What is planted on real hosts is found, and nothing else."""

import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from msgspec import json, structs

from openpts.programs import Answer, run_program
from openpts_many.fleet.check.finding import Finding, Severity
from openpts_many.fleet.check.fleet import check_fleet
from openpts_many.fleet.configuration import Engine, Fleet, Host, Slot
from tests.fleet.cluster import missing, slurm_cluster
from tests.support.systemd_host import SystemdHost


def others(findings: Sequence[Finding]) -> list[tuple[str, str, str]]:
    """Without the settings and processors of the machine that the tests run on."""
    return [
        (one.severity.value, one.where, one.subject)
        for one in findings
        if one.subject not in {"settings", "housekeeping"} or one.severity is Severity.ERROR
    ]


@pytest.fixture
def host(systemd_hosts: list[SystemdHost]) -> SystemdHost:
    return systemd_hosts[0]


def alone(fleet: Fleet, engine: Engine = Engine.SSH, **changes: object) -> Fleet:
    """The first host, changed."""
    return Fleet(engine, {"h1": structs.replace(fleet.hosts["h1"], **changes)})


@pytest.fixture
def hidden(host: SystemdHost, tmp_path: Path) -> Iterator[None]:
    """A host without rsync, whose clock is 90 s behind."""
    date = tmp_path / "date"
    date.write_text(f'#!/bin/sh\nexec {tmp_path}/real -d "90 seconds ago" "$@"\n')
    date.chmod(0o755)
    (tmp_path / "real").write_bytes(Path("/usr/bin/date").read_bytes())
    (tmp_path / "real").chmod(0o755)
    host.inside("mount", "--bind", "/dev/null", "/usr/bin/rsync")
    host.inside("mount", "--bind", str(date), "/usr/bin/date")
    yield
    host.inside("umount", "/usr/bin/date")
    host.inside("umount", "/usr/bin/rsync")


@pytest.fixture
def memory(host: SystemdHost, tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "memory"
    folder.mkdir()
    host.inside("mount", "-t", "tmpfs", "-o", "size=64M", "tmpfs", str(folder))
    yield folder / "runs"
    host.inside("umount", str(folder))


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[str]:
    """A drive without a serial number."""
    (tmp_path / "drive").touch()
    os.truncate(tmp_path / "drive", 2**24)
    command = ["losetup", "--find", "--show", tmp_path / "drive"]
    node = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    yield node
    subprocess.run(["losetup", "--detach", node], check=True)


def test_hosts_that_are_right_have_no_errors(fleet: Fleet) -> None:
    assert others(check_fleet(fleet)) == []


def test_what_is_wrong_with_a_host_is_found(
    fleet: Fleet, hidden: None, memory: Path, tmp_path: Path, loop: str
) -> None:
    old = tmp_path / "openpts"
    old.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && echo openpts 0.0.1 || exec {fleet.hosts["h1"].program} "$@"\n'
    )
    old.chmod(0o755)
    slots = {"a": Slot(loop), "b": Slot(loop, model="PM9A3"), "c": Slot("/dev/disk/by-path/nothing")}
    wrong = alone(fleet, runs=memory, program=str(old), slots=slots, housekeeping=(0, 1))
    began_s = time.monotonic()
    found = check_fleet(wrong)
    took_s = time.monotonic() - began_s
    by_subject = {one.subject: one for one in reversed(found)}
    assert by_subject["clock"].severity is Severity.WARNING
    # what it is off at least is less by what the host took to answer
    assert 90 - took_s < float(by_subject["clock"].found.split()[2]) <= 90
    assert by_subject["version"].found.startswith("openpts 0.0.1 there")
    assert by_subject["slot a"].found == f"{loop} reports no serial number"
    expected = {"rsync", "clock", "runs", "version", "slot a", "slot b"}
    if os.cpu_count() == 2:
        expected |= {"housekeeping"}
    assert expected <= set(by_subject) <= {*expected, "settings"}
    in_memory, small = (one for one in found if one.subject == "runs")
    assert "is in memory" in in_memory.found
    assert small.found.startswith("67 MB free")


def test_processors_that_the_host_has_not_are_found(fleet: Fleet) -> None:
    some, none = ((0, 4095), (4095,))
    assert others(check_fleet(alone(fleet, housekeeping=some))) == [("error", "h1", "housekeeping")]
    (found,) = check_fleet(alone(fleet, housekeeping=none))
    assert (found.subject, "taskset" in found.found) == ("root", True)


def test_a_host_without_openpts_or_with_another_fleet_file_is_found(
    fleet: Fleet, fleet_file: Path, tmp_path: Path, host: SystemdHost
) -> None:
    found = check_fleet(alone(fleet, program="/nowhere/openpts"))
    assert others(found) == [("error", "h1", "program")]
    other = tmp_path / "other.toml"
    other.write_text("")
    host.inside("mount", "--bind", str(other), str(fleet_file))
    try:
        assert others(check_fleet(alone(fleet))) == [("error", "h1", "fleet file")]
    finally:
        host.inside("umount", str(fleet_file))


def test_a_host_that_does_not_answer_or_gives_no_root_is_found(fleet: Fleet, host: SystemdHost) -> None:
    daemon = alone(fleet, user="daemon")
    assert others(check_fleet(daemon)) == [("error", "h1", "root")]
    host.cut()
    try:
        quick = ("-oConnectTimeout=1", *fleet.hosts["h1"].ssh_options)
        assert others(check_fleet(alone(fleet, ssh_options=quick))) == [("error", "h1", "ssh")]
    finally:
        host.join()


def test_a_host_that_measures_is_left_alone(fleet: Fleet, host: SystemdHost) -> None:
    host.inside("systemd-run", "--quiet", "--collect", "--unit=openpts-0199", "sleep", "600")
    asked = []

    def listening(command: Sequence[str], timeout_s: float, *, to_the_end: bool = False) -> Answer:
        asked.append(command)
        return run_program(command, timeout_s)

    try:
        found = check_fleet(alone(fleet), listening)
    finally:
        host.inside("systemctl", "stop", "openpts-0199")
    assert others(found) == [("warning", "h1", "units")]
    assert found[0].found == "measures for 0199"
    assert len(asked) == 1


def test_a_drive_that_two_slots_lead_to_is_found(fleet: Fleet) -> None:
    """Drives as openpts on a host tells of them; everything else is as the host answers."""
    slots = {"a": Slot("/dev/null"), "b": Slot("/dev/zero", model="PM9A3")}
    told = [
        {"path": path, "model": "PM9A3", "serial": "S1", "safety": {"verdict": "free", "reason": None}}
        for path in ("/dev/null", "/dev/zero")
    ]

    def with_drives(command: Sequence[str], timeout_s: float, *, to_the_end: bool = False) -> Answer:
        if "devices --json" in command[-1]:
            return Answer(tuple(command), 0, json.encode({"devices": told}).decode(), "", 0)
        return run_program(command, timeout_s)

    found = check_fleet(alone(fleet, slots=slots), with_drives)
    assert others(found) == [("error", "h1", "slot b")]
    assert found[0].found == "drive S1, which is also in slot a of h1"


def test_the_hosts_of_slurm_may_do_without_ssh(fleet: Fleet) -> None:
    """There is no Slurm here, and an address where nothing answers."""
    nothing: Host = structs.replace(
        fleet.hosts["h1"], address="127.0.0.1", ssh_options=("-F", "none", "-p", "1", "-oConnectTimeout=1")
    )

    def no_slurm(command: Sequence[str], timeout_s: float, *, to_the_end: bool = False) -> Answer:
        if command[0] != "ssh":
            return Answer(tuple(command), 1, "", "Unable to contact slurm controller", 0)
        return run_program(command, timeout_s)

    found = check_fleet(Fleet(Engine.SLURM, {"h1": nothing}), no_slurm)
    assert others(found) == [("error", "cluster", "slurmctld"), ("warning", "h1", "ssh")]


@pytest.mark.slow
def test_a_real_slurm_is_checked_where_its_commands_are() -> None:
    """It tracks no processes by cgroup, which would take those of the machine. h3 has no ssh."""
    if reason := missing():
        pytest.skip(reason)
    with slurm_cluster() as cluster:
        cluster.slurm("scontrol", "update", "nodename=h2", "state=drain", "reason=fan")
        cluster.hosts["h3"].kill("sshd")
        done = cluster.openpts("fleet", "check", "--json")
    assert done.returncode == 15, done.stderr
    found = [(one["severity"], one["where"], one["subject"]) for one in json.decode(done.stdout)["findings"]]
    assert [one for one in found if one[2] not in {"settings", "housekeeping"}] == [
        ("error", "cluster", "ProctrackType"),
        ("error", "h2", "State"),
        ("warning", "cluster", "JobCompType"),
        ("warning", "h3", "ssh"),
    ], done.stdout
