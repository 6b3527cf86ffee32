"""Power cuts in the middle of a run, whose folder is on a disk that loses what was not synced."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from openpts.errors import RecordError
from openpts.journal import Journal
from openpts.record.manifest import RunState
from openpts.record.reader import read_run
from tests.crash.trial import stored_steps
from tests.crash.victim import Told, read_told
from tests.crash.write_log import replay
from tests.lab.machine import OPENPTS, in_lab, needs_lab

pytestmark = needs_lab

_CUTS = int(os.environ.get("OPENPTS_POWER_CUTS", "20"))
_SEED = int(os.environ.get("OPENPTS_CRASH_SEED", "17"))
_CUT = 99
_DISK_BYTES = 192 * 2**20
_WATCHED = "; ".join(
    (
        "import sys, pathlib",
        "from tests.crash.victim import Blow, watched",
        "sys.exit(watched(sys.argv[2:], pathlib.Path(sys.argv[1]), Blow()))",
    )
)
_OPENPTS = f"{sys.executable} -c '{_WATCHED}' \"$LAB_SHARE/told\""
_RUN = (
    f"{_OPENPTS} run lat /dev/nvme0n1 --confirm-serial LABNVME0000 --step-seconds 0.3 --max-rounds 4"
    " --precondition-passes 0.1 --no-report --out /tmp/record/run"
)
_RESUME = f"{_OPENPTS} resume /tmp/record/run --confirm-serial LABNVME0000 --accept-interruption --no-report"
# A moment between stop and cut, as the log of writes is asynchronous: what was told must be in it.
_CUT_AFTER = """
    n=0; while [ -d /proc/$! ] && [ $n -lt 600 ] && [ "$(wc -l < {told})" -lt {lines} ]; do
        n=$((n + 1)); sleep 0.1; done
    sleep {s:.2f}; kill -STOP $!; sleep 0.5; lab-ctl power-cut 99
"""
_ENDS = f"""
    cd /tmp/record && {OPENPTS} report run --no-html --no-pdf && {OPENPTS} verify run || exit 11
    sync; umount /tmp/record
"""


class Machine:
    """Drive, disk and what is seen of them from outside."""

    def __init__(self, folder: Path) -> None:
        self.share = folder / "share"
        self.base, self.disk, self.log = (folder / f"{name}.img" for name in ("base", "disk", "log"))
        self.share.mkdir()
        self.base.write_bytes(b"")
        os.truncate(self.base, _DISK_BYTES)
        subprocess.run(["mkfs.ext4", "-q", str(self.base)], check=True)

    def boots(self, command: str, then: str) -> subprocess.CompletedProcess[str]:
        """Switch it on, start openpts beside the shell that goes on with ``then``."""
        shutil.copyfile(self.base, self.disk)
        self.log.unlink(missing_ok=True)
        self.log.touch()
        os.truncate(self.log, 4 * _DISK_BYTES)
        script = f"""
        export OPENPTS_STATE=/tmp/record/state PYTHONPATH={os.environ.get("PYTHONPATH", "")}
        modprobe dm-log-writes && mkdir -p /tmp/record || exit 10
        dmsetup create record --table \
            "0 $(blockdev --getsz /dev/nvme1n1) log-writes /dev/nvme1n1 /dev/nvme2n1" || exit 10
        dmsetup mknodes; mount /dev/mapper/record /tmp/record || exit 10
        {"rm -rf /tmp/record/run" if command == _RUN else ":"}
        {command} > {self.share}/output 2>&1 &
        {then}
        """
        (self.share / "told").write_bytes(b"")
        disks = [f"{_DISK_BYTES},image={self.disk}", f"{4 * _DISK_BYTES},image={self.log}"]
        drives = [word for each in ("128M", *disks) for word in ("--nvme", each)]
        ended = in_lab(self.share, *drives, script=script)
        assert replay(self.log, self.base)
        return ended

    @property
    def told(self) -> tuple[Told, ...]:
        return read_told(self.share / "told")

    def content(self, folder: Path) -> Path:
        """The run's folder and the journal as the file system has them after the cut."""
        shutil.copyfile(self.base, self.disk)
        subprocess.run(["e2fsck", "-fp", str(self.disk)], check=False, capture_output=True)
        folder.mkdir()
        for name in ("run", "state"):
            order = ["debugfs", "-R", f"rdump /{name} {folder}", str(self.disk)]
            subprocess.run(order, check=True, capture_output=True)
        return folder


@pytest.mark.slow
def test_a_machine_that_loses_its_power_again_and_again_loses_no_step(tmp_path: Path) -> None:
    random, machine = Random(_SEED), Machine(tmp_path)
    command, told = _RUN, list[Told]()
    for cut in range(_CUTS):
        lines, wait_s = random.choice((0, 1, 2, 3, 8)), random.random() * 2
        then = _CUT_AFTER.format(told=machine.share / "told", lines=lines, s=wait_s)
        ended = machine.boots(command, then)
        assert ended.returncode == _CUT, ended.stderr
        told += machine.told
        folder = machine.content(tmp_path / f"after-{cut}")
        if not _has_begun(folder / "run"):
            assert not told
            command = _RUN
            continue
        stored = set(stored_steps(folder / "run"))
        assert [one for one in told if (one.cycle, one.phase, one.started_ns) not in stored] == []
        command = _RESUME
        if read_run(folder / "run").manifest.state is RunState.COMPLETE:
            break
    ended = machine.boots(command, "wait $!" + _ENDS)
    output = (machine.share / "output").read_text()
    assert ended.returncode == 0, ended.stdout + ended.stderr + output
    folder = machine.content(tmp_path / "end")
    run = read_run(folder / "run")
    assert run.manifest.state is RunState.COMPLETE
    assert len(run.manifest.attempts) > 1 or command == _RUN
    assert Journal(folder / "state" / "journal").entries() == ()
    assert not list(folder.rglob(".openpts-*"))


def _has_begun(folder: Path) -> bool:
    """A cut before there was a manifest leaves nothing to resume, and nothing was done to the drive."""
    try:
        return bool(read_run(folder).manifest.attempts)
    except RecordError as error:
        if "just begun" not in str(error) and "has no run.db" not in str(error):
            raise
        return False
