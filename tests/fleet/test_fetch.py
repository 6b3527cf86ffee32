"""Run folders from hosts with real ssh, rsync and links that are cut."""

import multiprocessing
import random
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from msgspec import structs
from msgspec.structs import replace

from openpts.cli.main import cli
from openpts.errors import FleetError, RecordError
from openpts.programs import Reply, run_program
from openpts.record.manifest import RunState
from openpts.report.sources import ReportSource
from openpts.report.write import ReportOptions, write_report
from openpts_many.fleet.configuration import Fleet
from openpts_many.fleet.fetch import MARK, fetch
from openpts_many.fleet.port import Observation
from openpts_many.fleet.remote import Remote
from tests.support.shortened_runs import shortened_run
from tests.support.systemd_host import SystemdHost

MIB = 2**20
pytestmark = pytest.mark.skipif(shutil.which("rsync") is None, reason="no rsync here")


def ended(host: SystemdHost, run_id: str) -> Observation:
    return Observation(run_id, RunState.COMPLETE, host.host.name, folder=str(host.host.runs / run_id))


@pytest.fixture(scope="module")
def a_run(systemd_hosts: list[SystemdHost]) -> Observation:
    """A run with a report, on the first host."""
    seen = ended(systemd_hosts[0], "0199aaaa-0000-7000-8000-000000000001")
    shortened_run("tp", Path(seen.folder or ""), target="sim:enterprise-tlc?capacity=4GB", scale=0.05)
    write_report(ReportSource.of([Path(seen.folder or "")]), options=ReportOptions(html=False, pdf=False))
    return seen


@pytest.fixture
def large(systemd_hosts: list[SystemdHost]) -> Observation:
    """A folder that takes its time."""
    seen = ended(systemd_hosts[0], "0199aaaa-0000-7000-8000-000000000002")
    folder = Path(seen.folder or "")
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "capture").mkdir(parents=True)
    source = random.Random(1)
    for name in ("run.db", "capture/a b.parquet", "capture/c\\'\n.parquet"):
        (folder / name).write_bytes(source.randbytes(4 * MIB))
    return seen


def sums_hold(out: Path, run_id: str) -> bool:
    """By the program that everybody has."""
    command = ["sha256sum", "--check", "--strict", "--quiet", f"{run_id}{MARK}"]
    return subprocess.run(command, cwd=out, check=False).returncode == 0


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def slowly(command: Sequence[str], timeout_s: float, *, to_the_end: bool = False) -> Reply:
    """rsync at 4 MiB/s, anything else as it is."""
    slow = ["rsync", "--bwlimit=4m", *command[1:]] if command[0] == "rsync" else command
    return run_program(slow, timeout_s, to_the_end=to_the_end)


def test_a_fetched_run_is_the_one_on_the_host(
    fleet: Fleet, a_run: Observation, tmp_path: Path, systemd_hosts: list[SystemdHost]
) -> None:
    fetched = fetch(fleet, a_run, tmp_path / "results")
    assert fetched.is_new
    assert content(Path(fetched.folder)) == content(Path(a_run.folder or ""))
    assert sums_hold(tmp_path / "results", a_run.run_id)
    cli.main(["verify", fetched.folder], standalone_mode=False)
    systemd_hosts[0].cut()
    try:
        again = fetch(fleet, a_run, tmp_path / "results")
    finally:
        systemd_hosts[0].join()
    assert again == replace(fetched, is_new=False)


@pytest.mark.slow
def test_a_cut_link_leaves_no_folder_and_the_next_fetch_goes_on(
    fleet: Fleet, large: Observation, tmp_path: Path, systemd_hosts: list[SystemdHost]
) -> None:
    host = systemd_hosts[0]
    partial = tmp_path / f".{large.run_id}.partial"

    def cut_in_the_middle() -> None:
        while fetching.is_set() and sum(map(len, content(partial).values()), 0) < 6 * MIB:
            time.sleep(0.05)
        host.cut()

    fetching = threading.Event()
    fetching.set()
    cutter = threading.Thread(target=cut_in_the_middle)
    cutter.start()
    try:
        with pytest.raises(FleetError, match=r"broke off.*goes on from what has arrived"):
            fetch(replace_options(fleet, "-oServerAliveInterval=1"), large, tmp_path, slowly)
        with pytest.raises(FleetError, match="host h1 can't be reached"):
            fetch(replace_options(fleet, "-oConnectTimeout=1"), large, tmp_path)
    finally:
        fetching.clear()
        cutter.join()
        host.join()
    assert [path.name for path in tmp_path.iterdir()] == [partial.name]
    received = Path(f"/sys/class/net/{host.link}/statistics/rx_bytes")
    before = int(received.read_text())
    fetched = fetch(fleet, large, tmp_path)
    assert int(received.read_text()) - before < 8 * MIB, "6 of 12 MiB were there"
    assert content(Path(fetched.folder)) == content(Path(large.folder or ""))
    assert sums_hold(tmp_path, large.run_id)


def replace_options(fleet: Fleet, *options: str) -> Fleet:
    hosts = fleet.hosts.items()
    changed = {name: structs.replace(host, ssh_options=(*options, *host.ssh_options)) for name, host in hosts}
    return Fleet(fleet.backend, changed)


def test_what_changes_on_the_host_meanwhile_is_not_taken_for_whole(
    fleet: Fleet, large: Observation, tmp_path: Path
) -> None:
    changed = Path(large.folder or "") / "run.db"

    def changing(command: Sequence[str], timeout_s: float, *, to_the_end: bool = False) -> Reply:
        if command[0] == "rsync":
            changed.write_bytes(b"x" + changed.read_bytes()[1:])
        return run_program(command, timeout_s)

    with pytest.raises(FleetError, match=r"1 of 3 files .* run\.db among them: fetch again"):
        fetch(fleet, large, tmp_path, changing)
    assert not (tmp_path / large.run_id).exists()
    fetched = fetch(fleet, large, tmp_path)
    assert content(Path(fetched.folder)) == content(Path(large.folder or ""))


@pytest.mark.slow
def test_a_fetch_killed_at_any_moment_leaves_the_whole_or_none(
    fleet: Fleet, large: Observation, tmp_path: Path
) -> None:
    whole, source = content(Path(large.folder or "")), random.Random(7)
    context = multiprocessing.get_context("fork")
    states = set()
    for number in range(6):
        out = tmp_path / str(number // 3)
        process = context.Process(target=fetch, args=(fleet, large, out))
        process.start()
        time.sleep(source.uniform(0.2, 2.0))
        process.kill()
        process.join()
        folder, mark = out / large.run_id, out / f"{large.run_id}{MARK}"
        assert not folder.exists() or content(folder) == whole
        assert not mark.exists() or folder.exists()
        states.add((folder.exists(), mark.exists()))
    assert (False, False) in states
    for number in range(2):
        assert content(Path(fetch(fleet, large, tmp_path / str(number)).folder)) == whole


def test_a_folder_of_that_name_with_other_files_is_left_alone(
    fleet: Fleet, large: Observation, tmp_path: Path
) -> None:
    other = tmp_path / large.run_id
    other.mkdir()
    (other / "notes").write_text("mine")
    with pytest.raises(RecordError, match="is no copy of run"):
        fetch(fleet, large, tmp_path)
    assert content(other) == {"notes": b"mine"}


def test_a_run_that_has_no_folder_on_its_host_is_refused(fleet: Fleet, tmp_path: Path) -> None:
    gone = Observation("0199", RunState.COMPLETE, "h1", folder="/nowhere/0199")
    with pytest.raises(FleetError, match=r"host h1 can't read /nowhere/0199: .*can't cd"):
        fetch(fleet, gone, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def sudoer(systemd_hosts: list[SystemdHost], tmp_path: Path) -> Iterator[str]:
    """A user of the first host who may sudo without a password."""
    if shutil.which("sudo") is None:
        pytest.skip("no sudo here")
    changed = {
        Path("/etc/passwd"): re.sub(
            r"(?m)^(daemon:.*):[^:]*$", r"\1:/bin/sh", Path("/etc/passwd").read_text()
        ),
        Path("/etc/sudoers"): "root ALL=(ALL) ALL\ndaemon ALL=(root) NOPASSWD: ALL\n",
    }
    for at, text in changed.items():
        (tmp_path / at.name).write_text(text)
        (tmp_path / at.name).chmod(at.stat().st_mode & 0o777)
        systemd_hosts[0].inside("mount", "--bind", str(tmp_path / at.name), str(at))
    yield "daemon"
    for at in changed:
        systemd_hosts[0].inside("umount", str(at))


def test_another_user_fetches_by_sudo(fleet: Fleet, large: Observation, tmp_path: Path, sudoer: str) -> None:
    Path(large.folder or "").chmod(0o700)
    hosts = {"h1": structs.replace(fleet.hosts["h1"], user=sudoer, housekeeping=(0,))}
    assert Remote(hosts["h1"]).ask(["id", "-u"]).stdout == "0\n"
    fetched = fetch(Fleet(fleet.backend, hosts), large, tmp_path / "results")
    assert content(Path(fetched.folder)) == content(Path(large.folder or ""))
