"""On a machine of the lab: openpts is killed while a drive has its password, and the next one frees it.

``python -m tests.crash.locked_drive SEED KILLS MANNERS RESULT`` purges a drive by ATA Security Erase and
kills that, so many times: before or after a command that reaches the drive, in the middle of an erasure, or
at any other time. hdparm dies with openpts or goes on alone, and the drive keeps its power or not.
"""

import json
import mmap
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

from openpts.errors import RefusedError
from openpts.journal import Journal
from openpts.system_files import SystemRoots
from openpts_drives.purge.ata_commands import hdparm_at_work
from tests.crash.kernel_disk import add_disk
from tests.crash.sata_drive import SECTOR_BYTES, SataDrive
from tests.crash.trial import SIGKILL, new_place
from tests.crash.victim import openpts
from tests.support.ata_security_drive import Manners

_ERASE_S: Final = 0.5
_TIMEOUT_S: Final = 60
_FREE: Final = ("not\tenabled", "not\tlocked")
MIDDLE: Final = "in the middle of an erasure"


@dataclass(frozen=True)
class Blow:
    """The kill: at a moment of the drive, or after a time, and a while later."""

    moment: int | None
    after_s: float
    whole_tree: bool
    cuts_power: bool


@dataclass
class Killer:
    """Counts the moments of a drive, and strikes once."""

    drive: SataDrive
    journal: Journal
    blow: Blow | None = None
    pid: int = 0
    moments: list[tuple[str, bool]] = field(default_factory=list)
    """What the drive did, and whether it had a password then."""
    struck_at: str = ""
    unnoted: list[str] = field(default_factory=list)
    _timers: list[threading.Timer] = field(default_factory=list)
    _striking: threading.Lock = field(default_factory=threading.Lock)

    def aims(self, blow: Blow | None) -> Callable[[int], None]:
        """What to call with the process that is to be killed."""
        self.pid, self.moments, self.struck_at, self.blow = 0, [], "", blow

        def started(pid: int) -> None:
            self.pid = pid
            if blow is not None and blow.moment is None:
                self._after(blow.after_s, self._strike, "at any time", blow)

        return started

    def rests(self) -> None:
        """What was aimed at is no more."""
        with self._striking:
            self.blow = None
        for timer in self._timers:
            timer.join()
        self._timers.clear()

    def passes(self, when: str, what: str) -> None:
        """The drive is at a moment."""
        has_password = self.drive.password is not None
        name = f"{when} {what}".strip()
        if has_password and len(self.journal.entries()) != 1:
            self.unnoted.append(name)
        self.moments.append((name, has_password))
        blow = self.blow
        if blow is not None and blow.moment == len(self.moments):
            if blow.after_s:
                self._after(blow.after_s, self._strike, name, blow)
            else:
                self._strike(name, blow)

    def _strike(self, name: str, blow: Blow) -> None:
        with self._striking:
            if self.blow is not blow:
                return
            for pid in [self.pid, *(_below(self.pid) if blow.whole_tree else ())]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.struck_at = name
            if blow.cuts_power:
                self._after(0, self.drive.lose_power)

    def _after(self, seconds: float, do: Callable[..., None], *arguments: object) -> None:
        timer = threading.Timer(seconds, do, arguments)
        self._timers.append(timer)
        timer.start()


def _below(pid: int) -> Iterator[int]:
    """Its children and theirs."""
    with suppress(OSError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            yield from (int(child), *_below(int(child)))


class Locked:
    """The drive, and what was done to it."""

    def __init__(self, random: Random, manners: Manners) -> None:
        self._random = random
        self._place = new_place()
        self._journal = Journal(self._place / "state" / "journal")
        self._drive = SataDrive(manners, erase_s=_ERASE_S)
        self._killer = Killer(self._drive, self._journal)
        self._drive.before = self._before
        self._drive.after = lambda what: self._killer.passes("after", what)
        self.node = add_disk(self._drive.sectors * SECTOR_BYTES, self._drive.answer)
        serial = self._drive.serial.decode().strip()
        self._purge = ("purge", str(self.node), "--confirm-serial", serial, "--method", "ata-security-erase")
        self._unlock = ("purge", "--unlock", random.choice((serial, str(self.node))))
        self.seen = Counter[str]()

    def purges_undisturbed(self) -> None:
        """What a purge comes past, and how long it takes."""
        ended = openpts(*self._purge, cwd=self._place, started=self._killer.aims(None))
        assert ended.code == 0, ended.output
        self._moments, self._lasts_s = self._killer.moments, ended.lasted_s
        self._is_free()

    def is_killed_and_freed(self) -> None:
        """Once; a kill that comes too late does not count."""
        ended = openpts(*self._purge, cwd=self._place, started=self._killer.aims(blow := self._drawn()))
        self._killer.rests()
        if ended.code != SIGKILL:
            assert ended.code == 0, (blow, ended.output)
            self._is_free()
            return
        self.seen["kills"] += 1
        self.seen[self._killer.struck_at] += 1
        self.seen["kills with a password left"] += self._drive.password is not None
        if self._journal.entries():
            refused = openpts(*self._purge, cwd=self._place)
            assert refused.code == RefusedError.exit_code, refused.output
        self._waits_for_hdparm()
        if not blow.cuts_power and self._random.random() < 0.5:
            self._drive.lose_power()
        self.seen["drives found locked"] += self._drive.locked
        self._is_unlocked()
        self._is_free()

    def _before(self, what: str) -> None:
        self._killer.passes("before" if what != MIDDLE else "", what)
        if what == MIDDLE:
            self._drive.work()

    def _drawn(self) -> Blow:
        random, after_s = self._random, 0.0
        with_password = [at for at, (_, has) in enumerate(self._moments, 1) if has]
        moment: int | None = random.choice(with_password)
        if (kind := random.random()) < 0.15:
            moment, after_s = None, random.uniform(0, self._lasts_s)
        elif kind < 0.3:
            moment = random.randint(1, len(self._moments))
        if random.random() < 0.3:
            after_s += random.uniform(0, _ERASE_S)
        return Blow(moment, after_s, random.random() < 0.5, random.random() < 0.3)

    def _waits_for_hdparm(self) -> None:
        """One that goes on alone must be let end; openpts says so meanwhile."""
        until_s = time.monotonic() + _TIMEOUT_S
        while hdparm_at_work(self.node, SystemRoots()) is not None:
            assert time.monotonic() < until_s, "hdparm does not end"
            self.seen["waits for hdparm"] += 1
            if self._journal.entries():
                told = openpts(*self._unlock, cwd=self._place)
                assert told.code == 0 or "hdparm" in told.output or "[owned]" in told.output, told.output

    def _is_unlocked(self) -> None:
        """By the next openpts, or the one behind it if that is killed too."""
        if self._random.random() < 0.5:
            moment = self._random.choice((None, *range(1, 9)))
            after_s = self._random.uniform(0, self._lasts_s) if moment is None else 0.0
            blow = Blow(moment, after_s, self._random.random() < 0.5, self._random.random() < 0.3)
            ended = openpts(*self._unlock, cwd=self._place, started=self._killer.aims(blow))
            self._killer.rests()
            assert ended.code in {0, SIGKILL}, ended.output
            self.seen["kills of an unlock"] += ended.code == SIGKILL
            self._waits_for_hdparm()
        ended = openpts(*self._unlock, cwd=self._place)
        assert ended.code == 0, ended.output

    def _is_free(self) -> None:
        """By what hdparm says of the drive, what the kernel reads from it, and the journal."""
        told = subprocess.run(["hdparm", "-I", str(self.node)], check=True, capture_output=True, text=True)
        assert all(text in told.stdout for text in _FREE), told.stdout
        assert self._drive.password is None
        fd = os.open(self.node, os.O_RDONLY | os.O_DIRECT)
        with mmap.mmap(-1, mmap.PAGESIZE) as page:
            assert os.readv(fd, [page]) == mmap.PAGESIZE
        os.close(fd)
        assert self._journal.entries() == ()
        assert not self._killer.unnoted, "a password that was not noted"


def main(seed: int, kills: int, manners: Manners, result: Path) -> None:
    """So many rounds, and an undisturbed purge behind them."""
    locked = Locked(Random(seed), manners)
    locked.purges_undisturbed()
    while locked.seen["kills"] < kills:
        locked.is_killed_and_freed()
    locked.purges_undisturbed()
    result.write_text(json.dumps(locked.seen))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Manners(**json.loads(sys.argv[3])), Path(sys.argv[4]))
