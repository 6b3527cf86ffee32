"""A drive that one openpts works on, and another openpts: on other nodes, in containers, after a kill."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from openpts.device.guard.guard import check, open_target
from openpts.device.targets.target import BlockTarget, FileTarget, parse_target
from openpts.errors import RefusedError
from openpts.record.manifest import RunState
from openpts.runner.settings import RunSettings
from openpts.system_files import SystemRoots
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.facts import People
from openpts.vocabulary.purge import Consent
from openpts_batch import in_turn
from openpts_batch.in_turn import InTurn, SuitePart
from openpts_pts.conformance.catalogue import PTS
from tests import ROOT
from tests.support.batches import suite_of
from tests.support.openpts_command import COMMAND
from tests.support.openpts_process import openpts
from tests.support.processes import until
from tests.support.running import is_named, running

# This checkout, with the interpreter of its virtual environment, may lie below /tmp.
CLONE: Final = shlex.quote(str(ROOT))
VIEWS: Final = {
    "the same machine": "",
    "its own /run and /tmp": f"mount --bind {CLONE} /mnt; mount -t tmpfs none /run; "
    f"mount -t tmpfs none /tmp; mkdir -p {CLONE}; mount --move /mnt {CLONE}; ",
    "a root of its own": "mount --rbind / /mnt; mount -t tmpfs none /mnt/tmp; mount -t tmpfs none /mnt/run; "
    f'mkdir -p /mnt{CLONE}; mount --bind {CLONE} /mnt{CLONE}; set -- chroot /mnt "$@"; ',
    "its own /proc": "",
    "its own nodes": "mount -t tmpfs none /dev; mknod /dev/null c 1 3; mknod /dev/urandom c 1 9; "
    "mknod $NODE b 7 ${NODE#/dev/loop}; ",
}


@pytest.mark.full_matrix(most=2)
@pytest.mark.parametrize("view", VIEWS)
def test_a_second_openpts_is_refused_and_names_the_run(attach, tmp_path: Path, view: str) -> None:
    node = attach()
    namespaces = ["--mount", *(["--pid", "--fork", "--mount-proc"] if view == "its own /proc" else [])]
    prefix = ["env", f"NODE={node}", "unshare", *namespaces, "sh", "-ec", f'{VIEWS[view]}exec "$@"', "sh"]
    with running(node, tmp_path / "run") as run:
        ended = openpts("purge", str(node), "--confirm-device-path", str(node), cwd=Path("/"), prefix=prefix)
    assert ended.exit_code == 4
    assert ended.complaint.startswith(f"openpts: refused [owned]: {node} belongs to run {run.run_id} ")
    assert "; see fuser -v /dev/openpts/*; wait until it ends, or stop it (and further" in ended.complaint
    is_named(run, ended.complaint)


def test_where_neither_nodes_nor_processes_are_shared_it_is_refused_all_the_same(
    attach, tmp_path: Path
) -> None:
    """The kernel's own claim holds, and what can't be seen counts against the drive."""
    node = attach()
    script = f'{VIEWS["its own nodes"]}python=$1; exec "$@"'
    excluded = "import os, sys; os.open(sys.argv[1], os.O_RDONLY | os.O_EXCL)"
    prefix = ["env", f"NODE={node}", "unshare", "--mount", "--pid", "--fork", "--mount-proc"]
    with running(node, tmp_path / "run"):
        refused = openpts(
            "purge",
            str(node),
            "--confirm-device-path",
            str(node),
            cwd=Path("/"),
            prefix=[*prefix, "sh", "-ec", script, "sh"],
        )
        busy = subprocess.run(
            [*prefix, "sh", "-ec", script, "sh", sys.executable, "-c", excluded, str(node)],
            capture_output=True,
            text=True,
            check=False,
        )
    assert refused.complaint.startswith("openpts: refused [hidden-process]: ")
    assert "Device or resource busy" in busy.stderr


def test_a_killed_run_owns_nothing(attach, tmp_path: Path, roots: SystemRoots) -> None:
    node = attach()
    with running(node, tmp_path / "run") as run:
        run.kill()
        assert check(BlockTarget(node), roots) == ()
        with open_target(
            BlockTarget(node), Consent(confirm_device_path=str(node)), roots, run.run_id
        ) as target:
            assert target.owner is not None
            assert target.owner.run_id == run.run_id


def test_a_killed_run_owns_its_drive_as_long_as_its_fio_goes_on(
    attach, tmp_path: Path, roots: SystemRoots
) -> None:
    node = attach()
    with running(node, tmp_path / "run", with_fio=True) as run:
        fio = _child(run.pid, "fio")
        job = _child(fio, "fio")  # in a session of its own
        run.kill()
        owned, *_ = check(BlockTarget(node), roots)
        assert owned.rule_id == "owned"
        is_named(run, owned.evidence)
        assert re.search(r", and is open in process \d+ \(fio\)$", owned.evidence)
        os.kill(fio, signal.SIGKILL)
        assert next(iter(check(BlockTarget(node), roots))).rule_id == "owned"
        os.kill(job, signal.SIGKILL)
        until(lambda: check(BlockTarget(node), roots) == ())


def _child(pid: int, command: str) -> int:
    """The child of a process that runs a program, once there is one."""
    found: list[int] = []

    def look() -> bool:
        children = Path(f"/proc/{pid}/task").glob("*/children")
        pids = [int(child) for one in children for child in one.read_text().split()]
        found[:] = [one for one in pids if Path(f"/proc/{one}/comm").read_text().strip() == command]
        return bool(found)

    until(look)
    return found[0]


@pytest.mark.needs("files")
def test_a_file_in_use_names_the_run(tmp_path: Path, roots: SystemRoots) -> None:
    path = tmp_path / "scratch"
    with (
        running(f"file:{path}?size=1MiB", tmp_path / "run") as run,
        pytest.raises(RefusedError, match=r"refused \[locked\]") as raised,
    ):
        open_target(FileTarget(path, None), Consent(), roots).__enter__()
    assert str(raised.value).startswith(f"refused [locked]: {path} belongs to run {run.run_id} ")
    is_named(run, str(raised.value))


@pytest.mark.needs("files", "root")
def test_a_file_in_use_by_another_name_in_a_mount_namespace(tmp_path: Path) -> None:
    folder, path = tmp_path / "elsewhere", tmp_path / "scratch"
    folder.mkdir()
    bind = shlex.join(["mount", "--bind", str(tmp_path), str(folder)])
    script = f'{bind}; mount -t tmpfs none /run; exec "$@"'
    with running(f"file:{path}?size=1MiB", tmp_path / "run") as run:
        ended = openpts(
            "purge",
            f"file:{folder / 'scratch'}",
            cwd=Path("/"),
            prefix=["unshare", "--mount", "sh", "-ec", script, "sh"],
        )
    assert ended.complaint.startswith(f"openpts: refused [locked]: {folder / 'scratch'} belongs to run ")
    is_named(run, ended.complaint)


def test_reading_a_drive_of_another_run_is_no_crime_but_told(attach, tmp_path: Path) -> None:
    node = attach()
    with running(node, tmp_path / "run") as run:
        read = openpts("io", str(node), "--seconds", "0.1", cwd=tmp_path)
        listed = openpts("devices", str(node), "--json", cwd=tmp_path)
    assert read.exit_code == 0
    assert f"{node} belongs to run {run.run_id} " in read.stdout + read.stderr
    assert f"belongs to run {run.run_id} " in json.dumps(listed.json)


def test_a_suite_keeps_its_drive_between_its_tests(
    attach, tmp_path: Path, roots: SystemRoots, monkeypatch
) -> None:
    node = attach()
    consent = Consent(confirm_device_path=str(node))
    seen = []

    def run_test(_test: object, settings: RunSettings, _listeners: object) -> None:
        with open_target(parse_target(settings.target), settings.consent, roots):
            pass

    class Watched(InTurn):
        def publish(self) -> None:
            states = [entry.state for entry in self.batch.entries]
            if states == [RunState.COMPLETE, RunState.WAITING] or self.batch.ended_at:
                script = "import sys; from pathlib import Path; "
                script += "from openpts.device.guard.guard import check; "
                script += "from openpts.device.targets.target import BlockTarget; "
                script += "from openpts.system_files import SystemRoots; "
                script += "print(*(r.rule_id for r in check(BlockTarget(Path(sys.argv[1])), SystemRoots())))"
                elsewhere = [sys.executable, "-c", script, str(node)]
                said = subprocess.run(elsewhere, capture_output=True, text=True, check=True).stdout
                seen.append(said.split())

    monkeypatch.setattr(in_turn, "run_test", run_test)
    settings = RunSettings(
        target=str(node),
        drive_class=DriveClass.ENTERPRISE,
        adjust=lambda c: c,
        consent=consent,
        people=People(),
        command_line=(),
    )
    parts = [SuitePart(PTS[name], settings) for name in ("iops", "hir")]
    whole = suite_of(*(part.entry(number) for number, part in enumerate(parts)), target=str(node))
    Watched(folder=tmp_path, batch=whole, parts=parts).run()
    assert seen == [["owned"], []]


def test_all_that_a_run_starts_to_write_is_its_own(attach, tmp_path: Path) -> None:
    """From the command line: the record's folder is claimed for the run that owns the drive."""
    node = attach()
    command = ["run", "precon", str(node), "--confirm-device-path", str(node), "--out", str(tmp_path / "out")]
    process = subprocess.Popen([*COMMAND, *command, "--no-report"], stdout=subprocess.DEVNULL)
    claim = tmp_path / "out/claim.jsonl"
    try:
        until(lambda: claim.exists() and claim.read_text().endswith("\n"))
        ended = openpts("purge", str(node), "--confirm-device-path", str(node), cwd=tmp_path)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()
    owner = json.loads(claim.read_text())
    assert owner["pid"] == process.pid
    assert f"belongs to run {owner['run_id']} (process {process.pid} on " in ended.complaint
    assert f", folder {tmp_path / 'out'})" in ended.complaint
