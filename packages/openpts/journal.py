"""What openpts has changed on this machine and must put back, kept on disk until it is put back.

An entry is written and synchronized before a change is made: a password on a drive, a write cache, a
setting of the host, a mounted file system. A run that ends takes its own entries out. Those of a run that
was killed, or of a machine that lost power, stay and are found by the next one, by ``openpts purge --unlock``
and by ``openpts doctor --restore``.

One process at a time changes, or restores, what others may rely on as well: it holds the journal's lock, for
seconds. What takes longer, such as an erasure, claims the one entry that it is about instead.
"""

import fcntl
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from openpts.errors import OpenptsError, failing_as
from openpts.run_folder_files import synchronize_folder
from openpts.schema_words import in_words
from openpts.system_files import SystemRoots, boot_id, closed_at_end, read_lines

_SUFFIX: Final = ".json"
_UNFINISHED: Final = ".part"
_ABANDONED_S: Final = 10.0

_LOCKS: Final[dict[str, int]] = {}
"""Descriptors that hold the locks of this process's own entries, by their numbers."""


class JournalError(OpenptsError):
    """The journal can't be written or read: nothing that must be put back may be changed then."""


class Owner(Struct, frozen=True):
    """The process that made a change, by its own numbers: in a container they are others than outside.

    Whether it still lives, its lock on the entry tells.
    """

    pid: int
    boot_id: str

    @classmethod
    def this_process(cls, roots: SystemRoots) -> "Owner":
        """We ourselves."""
        return cls(os.getpid(), boot_id(roots))


class Entry(Struct, frozen=True):
    """One change. ``kind`` is a word of the room that makes it. ``subject`` names what was changed so that it
    is found again under another name: serial number, model, node, or the path of a setting. ``found`` is what
    to put back, as text.

    ``made_at`` is ISO 8601, UTC. ``entry_id`` begins with the time, finely enough to tell what came first.
    """

    kind: str
    subject: Mapping[str, str]
    found: Mapping[str, str]
    owner: Owner
    made_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    entry_id: str = field(default_factory=lambda: f"{time.time_ns():016x}{secrets.token_hex(4)}")


def state_folder() -> Path:
    """What must outlive a restart: OPENPTS_STATE if set, /var/lib/openpts for root, else the user's own."""
    if named := os.environ.get("OPENPTS_STATE"):
        return Path(named)
    if os.geteuid() == 0:
        return Path("/var/lib/openpts")
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "openpts"


class Journal(Struct, frozen=True):
    """The entries of this machine, a file each in ``folder``; only the user who made one may read it."""

    folder: Path
    roots: SystemRoots = field(default_factory=SystemRoots)

    @classmethod
    def of_machine(cls) -> "Journal":
        """In the state folder."""
        return cls(state_folder() / "journal")

    def add(self, kind: str, subject: Mapping[str, str], found: Mapping[str, str]) -> Entry:
        """Write an entry of this process; it is on the disk when this returns. Raises JournalError."""
        entry = Entry(kind, dict(subject), dict(found), Owner.this_process(self.roots))
        with failing_as(JournalError, f"{self.folder} can't be written"):
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            content = msgspec.json.format(msgspec.json.encode(entry))
            _LOCKS[entry.entry_id] = _write_locked(self.path_of(entry), content)
        return entry

    def remove(self, entry: Entry) -> None:
        """Take an entry out, because what it tells of is put back. Raises JournalError."""
        with failing_as(JournalError, f"{self.path_of(entry)} can't be removed"):
            self.path_of(entry).unlink(missing_ok=True)
            synchronize_folder(self.folder)
        if (lock := _LOCKS.pop(entry.entry_id, None)) is not None:
            os.close(lock)

    def entries(self) -> tuple[Entry, ...]:
        """All of them, the oldest first. Raises JournalError if one can't be read: it may hold a password."""
        found = []
        try:
            for path in self.folder.glob(f"*{_SUFFIX}"):
                with suppress(FileNotFoundError):  # taken out since its name was read
                    found.append(msgspec.json.decode(path.read_bytes(), type=Entry))
        except OSError as error:
            raise JournalError(f"{self.folder} can't be read: {error.strerror}") from error
        except msgspec.DecodeError as error:
            raise JournalError(
                f"{self.folder} holds an entry that makes no sense: {in_words(error)}"
            ) from error
        return tuple(sorted(found, key=lambda entry: (entry.made_at, entry.entry_id)))

    def left_behind(self) -> tuple[Entry, ...]:
        """Entries whose process is gone: what they tell of was not put back. Raises JournalError."""
        self._sweep()
        return tuple(entry for entry in self.entries() if not self._is_held(entry))

    def _sweep(self) -> None:
        """Take out beginnings of entries: a process that was killed over one had not changed anything yet."""
        for path in self.folder.glob(f"*{_UNFINISHED}"):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > _ABANDONED_S:
                    path.unlink()

    def _is_held(self, entry: Entry) -> bool:
        """Whether its process still lives, in whatever container: the lock ends with it."""
        try:
            fd = os.open(self.path_of(entry), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return True  # taken out just now, by its own process or by the one that put it back
        except OSError as error:
            raise JournalError(f"{self.path_of(entry)} can't be read: {error.strerror}") from error
        with closed_at_end(fd):
            try:
                fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    def path_of(self, entry: Entry) -> Path:
        """The entry's file, whose lock tells whether the entry's process lives."""
        return self.folder / f"{entry.entry_id}{_SUFFIX}"


def _write_locked(path: Path, content: bytes) -> int:
    """Whole or not at all, also after a power cut; the descriptor holds the lock as long as we live."""
    partial = path.with_suffix(_UNFINISHED)
    fd = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with os.fdopen(fd, "wb", closefd=False) as file:
            file.write(content)
        os.fsync(fd)
        partial.replace(path)
        synchronize_folder(path.parent)
    except BaseException:
        os.close(fd)
        for unfinished in (partial, path):
            with suppress(OSError):
                unfinished.unlink()
        raise
    return fd


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
    """As ``journal_lock``, but what is ours is restored in any case, even if others can't be asked."""
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
    with closed_at_end(fd):
        until_s = time.monotonic() + wait_s
        while not _is_locked_now(fd):
            if time.monotonic() >= until_s:
                raise JournalError(f"{_holder(fd, roots)} is putting back or changing what {path} restores")
            time.sleep(_POLL_S)
        yield


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
