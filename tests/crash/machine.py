"""A machine of the lab whose runs are on a disk that loses what was not synced when the power is cut.

The disk keeps a log of its writes, in which openpts' announcements are marked: one boot gives as many cuts of
the power as the log has places, each with what the operator had read of openpts by then.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

from tests import ROOT
from tests.crash.victim import Reported, read_told
from tests.crash.write_log import WriteLog
from tests.lab.machine import in_lab

RECORD: Final = "/tmp/record"
"""Where the machine has the disk."""

_DISK_BYTES: Final = 768 * 2**20
_CUT: Final = 99
_ALL: Final = 10**6
_LOGGED: Final = f"""
modprobe dm-log-writes && mkdir -p {RECORD} || exit 10
dmsetup create record --table "0 $(blockdev --getsz /dev/nvme1n1) log-writes /dev/nvme1n1 /dev/nvme2n1" \
    || exit 10
dmsetup mknodes; mount /dev/mapper/record {RECORD} || exit 10
"""


@dataclass(frozen=True)
class Cut:
    """A place in the log of a boot: behind so many writes, when each of its commands had told of these steps.

    The last of ``told`` is of the command line that was carried out, ``announced`` what it announced last.
    """

    writes: int
    announced: str
    told: tuple[tuple[Reported, ...], ...]


@dataclass(frozen=True)
class Boot:
    """What a machine left when its power was cut."""

    base: Path
    log: WriteLog
    told: tuple[Reported, ...]
    output: str

    def cuts(self, random: Random, count: int) -> list[Cut]:
        """Places that were drawn, the first first: behind each announcement as often, or each write."""
        marks = [at for at, write in enumerate(self.log.writes) if write.mark is not None]
        ends = [*marks[1:], len(self.log.writes)]
        drawn = []
        for _ in range(count):
            after = random.randrange(len(marks))
            near = random.randint(marks[after] + 1, max(ends[after], marks[after] + 1))
            drawn.append(near if random.random() < 0.5 else random.randint(1, len(self.log.writes)))
        return [self._cut(writes) for writes in sorted(drawn)]

    @property
    def last_cut(self) -> Cut:
        """The one that ended it."""
        return self._cut(len(self.log.writes))

    def _cut(self, writes: int) -> Cut:
        announced, until = "", dict[int, int]()
        for mark in (write.mark for write in self.log.writes[:writes]):
            if mark is not None:
                command, announced, steps = mark.split("/")
                until[int(command)] = int(steps)
        since = (0, *until.values())
        told = tuple(self.told[begin:end] for begin, end in zip(since, until.values(), strict=False))
        return Cut(writes, announced, told)

    def disk_after(self, cut: Cut, image: Path, random: Random) -> None:
        """The disk as the next boot finds it, after the file system's own recovery."""
        _copied(self.base, image)
        self.log.cut_at(cut.writes, image, random)
        checked = subprocess.run(["e2fsck", "-fp", str(image)], check=False, capture_output=True, text=True)
        assert checked.returncode <= 1, checked.stdout + checked.stderr

    def content_after(self, cut: Cut, folder: Path, random: Random) -> None:
        """All files of that disk, in a new folder."""
        image = folder.with_suffix(".img")
        self.disk_after(cut, image, random)
        folder.mkdir()
        subprocess.run(["debugfs", "-R", f"rdump / {folder}", str(image)], check=True, capture_output=True)
        image.unlink()


class Machine:
    """It has a drive to be measured, and the disk for the record, which begins empty."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._boots = folder, 0
        self.base = folder / "base.img"
        self.base.touch()
        os.truncate(self.base, _DISK_BYTES)
        eager = ["-E", "lazy_itable_init=0,lazy_journal_init=0,discard"]
        subprocess.run(["mkfs.ext4", "-q", *eager, str(self.base)], check=True)

    def boots(
        self,
        commands: Sequence[Sequence[str]],
        *,
        before: str = ":",
        after: str = ":",
        steps: int | None = None,
    ) -> Boot:
        """Switch it on, carry out ``before``, the commands of openpts and ``after``, and cut its power.

        That is when all commands have ended, or so many steps were told, and a moment later.
        """
        self._boots += 1
        share = self._folder / f"boot-{self._boots}"
        share.mkdir()
        disk, log = self._folder / "disk.img", share / "log.img"
        _copied(self.base, disk)
        log.touch()
        os.truncate(log, 4 * _DISK_BYTES)
        (share / "told").touch()
        (share / "commands").write_text(json.dumps(commands))
        marked = f"{sys.executable} -m tests.crash.marked record {share}/told {share}/commands"
        script = f"""
        cd {ROOT}
        export OPENPTS_STATE={RECORD}/state PYTHONPATH={os.environ.get("PYTHONPATH", "")}
        {_LOGGED}
        {before}
        {marked} > {share}/output 2>&1 &
        while [ -d /proc/$! ] && [ $(wc -l < {share}/told) -lt {steps or _ALL} ]; do sleep 0.2; done
        {after}
        lab-ctl power-cut {_CUT}
        """
        disks = [f"{_DISK_BYTES},image={disk}", f"{4 * _DISK_BYTES},image={log}"]
        drives = [word for each in ("128M", *disks) for word in ("--nvme", each)]
        ended = in_lab(share, *drives, script=script, timeout_s=900)
        output = (share / "output").read_text()
        assert ended.returncode == _CUT, ended.stdout + ended.stderr + output
        base = share / "base.img"
        _copied(self.base, base)
        return Boot(base, WriteLog.of(log), read_told(share / "told"), output)


def _copied(image: Path, to: Path) -> None:
    """Without its holes."""
    subprocess.run(["cp", "--sparse=always", str(image), str(to)], check=True)


def place_of(folder: Path, part: int) -> Path:
    """A part of a disk's files as the place of a trial, with the folders that one has."""
    place = folder / str(part)
    (place / "tmp").mkdir(parents=True)
    (place / "state").mkdir()
    return place
