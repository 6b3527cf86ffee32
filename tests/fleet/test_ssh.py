"""Runs as units of a real systemd, over a real ssh, with links that are cut and processes that are killed."""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec import json, structs

from openpts.errors import FleetError, UsageError
from openpts.ownership import CLAIM_NAME, new_run_id
from openpts.programs import Reply, run_program
from openpts.record.manifest import RunState
from openpts.record.reader import read_run
from openpts.vocabulary.run_request import RunRequest
from openpts_many.fleet.configuration import Fleet
from openpts_many.fleet.host_journal import HostJournal
from openpts_many.fleet.port import Observation
from openpts_many.fleet.remote import Remote
from openpts_many.fleet.ssh import SshBackend
from tests.support.processes import until
from tests.support.systemd_host import SystemdHost

PATIENCE_S = 180
NO_ANSWER = "-oConnectTimeout=2"  # for a host that has none: one that is busy takes longer
CUT_OFF = "-oServerAliveInterval=1"
# minutes of real time on a file, of which a test takes as many seconds as it needs
LONG = ("tp", "--time-scale", "1/4")


@pytest.fixture
def backend(fleet: Fleet) -> SshBackend:
    return SshBackend(fleet)


def impatient(fleet: Fleet, option: str) -> Fleet:
    """With the first host, of which a test knows that it is away."""
    first = fleet.hosts["h1"]
    changed = structs.replace(first, ssh_options=(option, *first.ssh_options))
    return structs.replace(fleet, hosts={**fleet.hosts, "h1": changed})


@pytest.fixture
def request_(backend: SshBackend, systemd_hosts: list[SystemdHost]) -> Iterator[RunRequest]:
    """A long run on the first host, ended whatever the test did with it."""
    wanted, host = RunRequest(run_id=new_run_id(), test_words=LONG, slot="file", host="h1"), systemd_hosts[0]
    yield wanted
    host.join()
    if unit(wanted) in units(host):
        host.inside("systemctl", "kill", "--signal=KILL", unit(wanted))
    until(lambda: unit(wanted) not in units(host))
    until(lambda: answers(host))


def answers(host: SystemdHost) -> bool:
    try:
        return Remote(host.host).ask(["true"]).returncode == 0
    except FleetError:
        return False


def units(host: SystemdHost) -> str:
    return host.inside("systemctl", "list-units", "--plain", "--all", "openpts-*")


def unit(request: RunRequest) -> str:
    return f"openpts-{request.run_id}.service"


def starts(host: SystemdHost, request: RunRequest) -> tuple[int, int]:
    """How often openpts began it, and how many processes claimed its folder."""
    note = HostJournal("h1", host.host.runs).note_of(request.run_id)
    claims = (host.host.runs / request.run_id / CLAIM_NAME).read_text().splitlines()
    return len(note.starts if note else ()), len(claims)


@pytest.mark.slow
def test_a_run_is_a_unit_until_its_end_and_then_in_the_journal(
    backend: SshBackend, systemd_hosts: list[SystemdHost]
) -> None:
    wanted = RunRequest(run_id=new_run_id(), test_words=("tp", "--quick"), slot="s00", host="h2")
    begun = backend.submit(wanted)
    assert begun.stage in {RunState.RUNNING, RunState.COMPLETE}
    assert (begun.host, begun.job) == ("h2", unit(wanted))
    seen = []
    until(lambda: seen.append(backend.observe(wanted.run_id)) or seen[-1].stage is not RunState.RUNNING)
    ended = seen[-1]
    assert (ended.stage, ended.request) == (RunState.COMPLETE, wanted)
    assert ended in backend.list()
    assert len(read_run(Path(ended.folder or "")).steps) > 0
    assert backend.submit(wanted) == ended
    assert starts(systemd_hosts[1], wanted) == (1, 1)


@pytest.mark.slow
def test_what_is_submitted_many_times_is_begun_once_and_then_left_to_measure(
    backend: SshBackend, request_: RunRequest, systemd_hosts: list[SystemdHost]
) -> None:
    with ThreadPoolExecutor() as threads:
        found = list(threads.map(backend.submit, [request_] * 3))
    assert {one.stage for one in found} == {RunState.RUNNING}
    assert starts(systemd_hosts[0], request_) == (1, 1)
    seen = backend.observe(request_.run_id)
    assert (seen.reason, seen.request) == ("systemd: active", request_)
    assert backend.observe(request_.run_id, ask_host=True).reason.startswith("process ")
    first, second = backend.hosts()
    assert (first.reason, first.slots) == (f"measures {request_.run_id}", {})
    assert (second.reason, second.slots) == ("", {"s00": "", "s01": "", "file": ""})
    unknown = backend.observe(new_run_id())
    assert (unknown.stage, unknown.reason) == (RunState.UNKNOWN, "h1 measures, so its journal is not read")


@pytest.mark.slow
def test_a_cut_link_does_not_touch_the_run(
    backend: SshBackend, request_: RunRequest, systemd_hosts: list[SystemdHost]
) -> None:
    host = systemd_hosts[0]
    backend.submit(request_)
    host.cut()
    away = SshBackend(impatient(backend.fleet, NO_ANSWER))
    lost = away.observe(request_.run_id)
    assert (lost.stage, lost.host) == (RunState.UNKNOWN, None)
    assert "host h1 can't be reached" in lost.reason
    assert [host.is_up for host in away.hosts()] == [False, True]
    with pytest.raises(FleetError, match=r"can't be stopped: host h1 can't be reached"):
        away.cancel(request_.run_id)
    with pytest.raises(FleetError, match=r"host h1 can't be reached.*; try ssh "):
        away.submit(request_)
    assert host.inside("systemctl", "is-active", unit(request_)) == "active\n"
    host.join()
    until(lambda: answers(host))
    assert backend.observe(request_.run_id).stage is RunState.RUNNING


@pytest.mark.slow
def test_a_link_that_is_cut_while_a_run_is_submitted_leaves_it_to_be_found(
    backend: SshBackend, request_: RunRequest, systemd_hosts: list[SystemdHost]
) -> None:
    host = systemd_hosts[0]

    def cutting(command: Sequence[str], timeout_s: float, *, to_the_end: bool = False) -> Reply:
        cutter = threading.Thread(target=until_active)
        cutter.start()
        try:
            return run_program(command, timeout_s)
        finally:
            cutter.join()

    def until_active() -> None:
        until(lambda: unit(request_) in units(host))
        host.cut()

    with pytest.raises(FleetError, match="host h1 can't be reached"):
        SshBackend(impatient(backend.fleet, CUT_OFF), cutting).submit(request_)
    host.join()
    until(lambda: answers(host))
    assert backend.observe(request_.run_id).stage is RunState.RUNNING
    assert backend.submit(request_).stage is RunState.RUNNING
    assert starts(host, request_) == (1, 1)


@pytest.mark.slow
def test_a_killed_run_is_interrupted_and_goes_on_only_when_asked_to(
    backend: SshBackend, request_: RunRequest, systemd_hosts: list[SystemdHost]
) -> None:
    host = systemd_hosts[0]
    backend.submit(request_)
    steps = Path(host.host.runs) / f"{request_.run_id}.events.jsonl"
    until(lambda: steps.exists() and b"step_finished" in steps.read_bytes())
    host.inside("systemctl", "kill", "--signal=KILL", unit(request_))
    until(lambda: unit(request_) not in units(host))
    killed = backend.observe(request_.run_id)
    assert (killed.stage, killed.reason) == (RunState.INTERRUPTED, "its process was killed")
    assert backend.submit(request_).stage is RunState.INTERRUPTED
    assert starts(host, request_) == (1, 1)
    refused = backend.submit(request_, again=True, resume_words=["--no such"])
    assert (refused.stage, refused.reason) == (
        RunState.INTERRUPTED,
        "can't go on: No such option '--no such'.",
    )
    assert starts(host, request_) == (2, 1)
    again = backend.submit(request_, again=True, resume_words=["--accept-interruption"])
    assert again.stage is RunState.RUNNING
    assert starts(host, request_) == (3, 2)


@pytest.mark.slow
def test_a_run_on_a_host_that_is_restarted_goes_on_only_when_asked_to(
    backend: SshBackend, request_: RunRequest, systemd_hosts: list[SystemdHost]
) -> None:
    host = systemd_hosts[0]
    backend.submit(request_)
    host.lose_power()
    lost = SshBackend(impatient(backend.fleet, NO_ANSWER)).observe(request_.run_id)
    assert (lost.stage, lost.is_certain) == (RunState.UNKNOWN, False)
    host.boot()
    found = backend.observe(request_.run_id)
    assert (found.stage, found.is_certain) == (RunState.INTERRUPTED, True)
    assert found.reason == "the host was restarted, or lost its power, while it ran"
    assert backend.submit(request_).stage is RunState.INTERRUPTED
    assert starts(host, request_) == (1, 1)
    assert backend.submit(request_, again=True).stage is RunState.RUNNING
    assert starts(host, request_) == (2, 2)
    claims = (host.host.runs / request_.run_id / CLAIM_NAME).read_text().splitlines()
    assert len({json.decode(claim)["boot_id"] for claim in claims}) == 2


@pytest.mark.slow
def test_a_cancelled_run_leaves_no_process_and_a_record(
    backend: SshBackend, request_: RunRequest, systemd_hosts: list[SystemdHost]
) -> None:
    host = systemd_hosts[0]
    backend.submit(request_)
    cancelled = backend.cancel(request_.run_id)
    assert cancelled.stage is RunState.CANCELLED
    assert unit(request_) not in units(host)
    assert request_.run_id not in host.inside("ps", "-eo", "args")
    read_run(Path(cancelled.folder or ""))
    assert backend.submit(request_).stage is RunState.CANCELLED
    assert starts(host, request_) == (1, 1)


def refused(backend: SshBackend, **changes: object) -> Observation:
    wanted = RunRequest(run_id=new_run_id(), test_words=("tp", "--quick"), slot="s00", host="h1")
    return backend.submit(structs.replace(wanted, **changes))


@pytest.mark.slow
def test_what_the_host_refuses_is_told_at_once(backend: SshBackend) -> None:
    other = refused(backend, serial="S1")
    assert (other.stage, other.folder) == (RunState.FAILED, None)
    assert "is for S1" in other.reason
    words = refused(backend, test_words=("tp", "--no-such-option"))
    assert words.stage is RunState.FAILED
    assert "--no-such-option" in words.reason
    with pytest.raises(UsageError, match="no slot s09 on h1"):
        refused(backend, slot="s09")
    with pytest.raises(UsageError, match="needs a host"):
        refused(backend, host=None)


def test_a_host_without_openpts_or_with_a_broken_one_says_so(backend: SshBackend, tmp_path: Path) -> None:
    broken = tmp_path / "openpts"
    broken.write_text("#!/bin/sh\necho hello\n")
    broken.chmod(0o755)
    for program, complaint in (
        ("/nowhere/openpts", r"host h1 failed: .*/nowhere/openpts"),
        (str(broken), r"host h1 answers what makes no sense: .*; try .* --version there"),
    ):
        hosts = {"h1": structs.replace(backend.fleet.hosts["h1"], program=program)}
        other = SshBackend(Fleet(backend.fleet.backend, hosts))
        with pytest.raises(FleetError, match=complaint):
            refused(other)
