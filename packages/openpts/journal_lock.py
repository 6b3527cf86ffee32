"""Turns: one process at a time changes, or puts back, what others may rely on as well.

A turn lasts seconds. What takes longer, such as an erasure, claims the one entry that it is about instead.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.errors import failing_as
from openpts.journal import Entry, Journal, JournalError
from openpts.system_files import SystemRoots, read_lines

_TURN_S: Final = 60.0
"""How long to wait for a turn: longer than systemd takes to stop a timer."""
_CLAIM_S: Final = 1.0
"""How long to wait for an entry: another process may look at this moment whether its process lives."""
_POLL_S: Final = 0.02
_LOCK_WORDS: Final = 6


class JournalSnapshot(Struct, frozen=True):
    """All entries while the lock is held, the oldest first; ``ended``: IDs of those whose process is gone.

    ``trouble`` says why nothing is known of others; empty where it is.
    """

    entries: tuple[Entry, ...] = ()
    ended: frozenset[str] = frozenset()
    trouble: str = ""

    def lives(self, entry: Entry) -> bool:
        """Whether the process of an entry still runs."""
        return entry.entry_id not in self.ended

    def without(self, entry: Entry) -> "JournalSnapshot":
        """All entries but this one."""
        left = tuple(other for other in self.entries if other.entry_id != entry.entry_id)
        return replace(self, entries=left)


@contextmanager
def journal_lock(journal: Journal, wait_s: float = _TURN_S) -> Iterator[JournalSnapshot]:
    """What is noted, while no other process that takes turns can change any of it.

    Raises JournalError if another process has not ended its turn in time; the text says which.
    """
    with failing_as(JournalError, f"{journal.folder} can't be written"):
        journal.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _locked(journal.folder, wait_s, journal.roots):
        ended = frozenset(entry.entry_id for entry in journal.left_behind())
        yield JournalSnapshot(journal.entries(), ended)


@contextmanager
def turn_if_possible(journal: Journal) -> Iterator[JournalSnapshot]:
    """As ``turn``, but what is ours is put back in any case, even if others can't be asked."""
    with ExitStack() as held:
        try:
            noted = held.enter_context(journal_lock(journal))
        except JournalError as error:
            noted = JournalSnapshot(trouble=str(error))
        yield noted


@contextmanager
def claimed(journal: Journal, entry: Entry) -> Iterator[bool]:
    """An entry that was left behind as ours, that no other process puts back; False if it is gone by now.

    Others see it as one whose process lives. Raises JournalError if another process has claimed it before.
    """
    path = journal.path_of(entry)
    with ExitStack() as held:
        try:
            held.enter_context(_locked(path, _CLAIM_S, journal.roots))
        except FileNotFoundError:
            yield False
            return
        yield path.exists()


@contextmanager
def _locked(path: Path, wait_s: float, roots: SystemRoots) -> Iterator[None]:
    """Raises FileNotFoundError and JournalError."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise JournalError(f"{path} can't be read: {error.strerror}") from error
    try:
        until_s = time.monotonic() + wait_s
        while not _is_locked_now(fd):
            if time.monotonic() >= until_s:
                raise JournalError(f"{_holder(fd, roots)} is putting back or changing what {path} tells of")
            time.sleep(_POLL_S)
        yield
    finally:
        os.close(fd)


def _is_locked_now(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(fd: int, roots: SystemRoots) -> str:
    """By the kernel's list, whose lines read ``1: FLOCK ADVISORY WRITE 1234 08:02:131 0 EOF``."""
    status = os.fstat(fd)
    place = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    for line in read_lines(roots.proc / "locks"):
        words = line.split()
        if len(words) >= _LOCK_WORDS and words[1] == "FLOCK" and words[5] == place and words[4].isdecimal():
            return f"another openpts (process {words[4]})"
    return "another openpts"
