"""Which run owns a drive, a file or a run folder, by locks that the kernel releases: nothing is cleaned up.

A lock belongs to an open file description (OFD), which programs that do I/O for a run inherit: it is free
when the last of these processes has ended, and not before. The locked file contains the owner. That of a
drive is below /dev, so that all containers with the same /dev see it; where the owner's process is in
sight, /proc has it by its name.
"""

import fcntl
import os
import re
import secrets
import struct
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import IO, Final, Self

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from openpts.errors import RecordError, failing_as
from openpts.run_folder_files import check_files, open_file, synchronize_folder
from openpts.system_files import SystemRoots, boot_id, closed_at_end, printable, read_lines, read_text

HOST_FOLDER: Final = Path("/dev/openpts")
"""Where the host's lock is, and what runs on it leave for one another."""
CLAIM_NAME: Final = "claim.jsonl"
"""The file of a run folder with an owner on each line: of the run's beginning, and of each resumption."""

NO_OWNER: Final = "a run of openpts that left no name"
"""Where a file is locked or claimed, and does not say by whom."""

_HOST_LOCK: Final = "host.lock"
_OWNER_FILE: Final = re.compile(r"openpts/([^/]+)\.owner(?: \(deleted\))?")
_MOST_BYTES: Final = 65_536
_LEGIBLE: Final = 60
_STARTED_AT: Final = 19
"""Where /proc/PID/stat has the start time, counted from behind the command in brackets."""


def new_run_id() -> str:
    """A UUID of version 7 (RFC 9562): no other run has it, and IDs are in the order of their time, in ms."""
    time_ms = time.time_ns() // 10**6 & (1 << 48) - 1
    random = secrets.randbits(12) << 64 | 0b10 << 62 | secrets.randbits(62)
    return str(uuid.UUID(int=time_ms << 80 | 7 << 76 | random))


class RunOwner(Struct, frozen=True):
    """The process that a run belongs to, and what it owns.

    ``pid`` is by its own counting, which in a container is not that outside. ``process_started_ticks`` (of
    USER_HZ since boot) and ``boot_id`` distinguish it from later processes with that number. ``names`` are
    those of the target that stay the same under every node of the kernel. ``since`` is ISO 8601, UTC;
    ``folder`` is None as long as there is no run folder.
    """

    run_id: str
    pid: int
    process_started_ticks: int
    boot_id: str
    host: str
    target: str
    names: tuple[str, ...]
    version: str
    folder: str | None = None
    since: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    @classmethod
    def this_process(cls, run_id: str, target: str, names: Sequence[str], roots: SystemRoots) -> Self:
        """We ourselves."""
        from importlib.metadata import version  # noqa: PLC0415 takes a tenth of the time of a start

        fields = (read_text(roots.proc / "self/stat") or "").rpartition(")")[2].split()
        return cls(
            run_id=run_id,
            pid=os.getpid(),
            process_started_ticks=int(fields[_STARTED_AT]) if len(fields) > _STARTED_AT else 0,
            boot_id=boot_id(roots),
            host=os.uname().nodename,
            target=printable(target),
            names=tuple(names),
            version=version("openpts"),
        )

    def __str__(self) -> str:
        folder = "" if self.folder is None else f", folder {self.folder}"
        return printable(f"run {self.run_id} (process {self.pid} on {self.host}, since {self.since}{folder})")


def read_owner(path: Path) -> RunOwner | None:
    """The latest owner in a regular file; None if there is none, or only the beginning of one."""
    with suppress(OSError), open_file(path.parent, path.name) as file:
        return _owner_in(file)
    return None


def owner_behind(descriptor: Path) -> RunOwner | None:
    """The same of a file that a descriptor in /proc leads to, which may have no name."""
    with suppress(OSError), descriptor.open("rb") as file:
        return _owner_in(file)
    return None


def _owner_in(file: IO[bytes]) -> RunOwner | None:
    file.seek(max(0, os.fstat(file.fileno()).st_size - _MOST_BYTES))
    return _latest(file.read(_MOST_BYTES))


def _latest(content: bytes) -> RunOwner | None:
    for line in reversed(content.split(b"\n")):
        with suppress(ValueError, RecursionError):  # a power cut came in the middle of it; no UTF-8
            return msgspec.json.decode(line, type=RunOwner)
    return None


def owned_name(link: str) -> str | None:
    """What an owner's file is named after, by where a descriptor in /proc leads; None for other files."""
    found = _OWNER_FILE.search(link)
    return None if found is None else found[1]


def file_name(name: str) -> str:
    """A name of a target as that of a file: legible, and unique by a checksum."""
    legible = re.sub(r"[^A-Za-z0-9.]+", "-", name)[:_LEGIBLE].strip("-.")
    return f"{legible}-{sha256(name.encode(errors='surrogateescape')).hexdigest()[:12]}"


# struct flock of 64-bit platforms: type, whence, start, length, and a process, which is 0 for an OFD
_FLOCK: Final = struct.Struct("hhqqi4x")
_WHOLE_FILE: Final = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)


def _locked(fd: int) -> int:
    """The descriptor, or it is closed. Raises BlockingIOError if others have it locked, and OSError."""
    try:
        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, _WHOLE_FILE)
    except OSError:
        os.close(fd)
        raise
    return fd


@contextmanager
def locked_alone(path: Path) -> Iterator[None]:
    """Lock a file, made where missing, as long as the block lasts. Raises BlockingIOError, and OSError."""
    with closed_at_end(_locked(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666))):
        yield


def is_locked(path: Path) -> bool:
    """Whether a process has locked a file, or one that inherited its lock; takes none.

    Raises RecordError for what is no file, or can't be read.
    """
    with (
        failing_as(RecordError, f"can't read {path}"),
        suppress(FileNotFoundError),
        open_file(path.parent, path.name) as file,
    ):
        return not _is_free(file.fileno())
    return False


def _is_free(fd: int) -> bool:
    """Whether nothing but this open file, and what inherited it, has locked it."""
    return bool(_FLOCK.unpack(fcntl.fcntl(fd, fcntl.F_OFD_GETLK, _WHOLE_FILE))[0] == fcntl.F_UNLCK)


def until_unlocked(path: Path) -> None:
    """Return when all processes that have locked a file have ended; the kernel wakes us then.

    Raises RecordError for what is no file, or can't be read.
    """
    with (
        failing_as(RecordError, f"can't read {path}"),
        suppress(FileNotFoundError),
        open_file(path.parent, path.name) as file,
    ):
        fcntl.fcntl(file, fcntl.F_OFD_SETLKW, _FLOCK.pack(fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0))


def lockers(path: Path, roots: SystemRoots) -> tuple[int, ...]:
    """The processes that hold a lock on a file, also one that they inherited, by our own counting of them."""
    found: dict[int, None] = {}
    for fd in roots.proc.glob("[0-9]*/fd/*"):
        with suppress(OSError):
            locks = read_lines(fd.parent.parent / "fdinfo" / fd.name) if fd.readlink() == path else ()
            if any("OFDLCK" in line for line in locks):
                found[int(fd.parts[-3])] = None
    return tuple(found)


def holder_of(name: str, folder: Path) -> str | None:
    """The owner of a target by one of its names, as a text, if that is another process; takes no lock."""
    if name in _HELD:
        return None
    with suppress(OSError), open_file(folder, _path(name, folder).name) as file:
        is_free = _is_free(file.fileno())
        return None if is_free else str(_latest(file.read(_MOST_BYTES)) or NO_OWNER)
    return None


def _path(name: str, folder: Path) -> Path:
    return folder / f"{file_name(name)}.owner"


class _Held(Struct):
    fd: int
    uses: int = 0


_HELD: Final[dict[str, _Held]] = {}
"""What this process owns, by name."""


def owned_descriptors() -> tuple[int, ...]:
    """The locks of this process, for programs that continue with its I/O if it ends before them."""
    return tuple(held.fd for held in _HELD.values())


@contextmanager
def owned(name: str, owner: RunOwner, folder: Path | None) -> Iterator[None]:
    """Own a target by one of its names as long as the block lasts, and say so to others.

    The lock is on a file in ``folder``; with None the target has a lock of its own, and the note is a file in
    memory, which others find in /proc. A name that this process owns already is shared. Raises
    BlockingIOError if other processes own it, and OSError.
    """
    held = _HELD.get(name)
    if held is None:
        if folder is None:
            fd = os.memfd_create(f"openpts/{file_name(name)}.owner", os.MFD_CLOEXEC)
        else:
            folder.mkdir(mode=0o755, exist_ok=True)
            path = _path(name, folder)
            fd = _locked(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644))
        held = _HELD[name] = _Held(fd)
    held.uses += 1
    try:
        if held.uses == 1:
            _say(held.fd, owner)
        yield
    finally:
        held.uses -= 1
        if not held.uses:
            del _HELD[name]
            os.close(held.fd)


def _say(fd: int, owner: RunOwner) -> None:
    """A line before whatever is left of a longer one, so that readers always find one that makes sense."""
    content = msgspec.json.encode(owner) + b"\n"
    os.pwrite(fd, content, 0)
    os.ftruncate(fd, len(content))


@contextmanager
def host_used(folder: Path, owner: RunOwner, *, alone: bool) -> Iterator[None]:
    """Use this host as long as the block lasts, beside others who do so, or ``alone``.

    Programs that continue with the run's I/O keep it in use. Raises BlockingIOError with the owner who has it
    alone, or with none where others use it, and OSError.
    """
    path = folder / _HOST_LOCK
    path.parent.mkdir(mode=0o755, exist_ok=True)
    if alone:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    else:  # who shares it need not be allowed to write
        fd = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        lock = _FLOCK.pack(fcntl.F_WRLCK if alone else fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0)
        try:
            fcntl.fcntl(fd, fcntl.F_OFD_SETLK, lock)
        except BlockingIOError as error:
            raise BlockingIOError(error.errno, str(read_owner(path) or NO_OWNER)) from None
        if alone:
            _say(fd, owner)
        _HELD[str(path)] = _Held(fd)
        yield
        if alone:
            os.ftruncate(fd, 0)
    finally:
        _HELD.pop(str(path), None)
        os.close(fd)


def host_is_used(folder: Path) -> bool:
    """Whether others use this host, or have it alone; takes no lock."""
    path = folder / _HOST_LOCK
    held = _HELD.get(str(path))
    return is_locked(path) if held is None else not _is_free(held.fd)


@contextmanager
def folder_claimed(folder: Path, owner: RunOwner, *, again: bool = False) -> Iterator[None]:
    """Claim a run folder for a run as long as the block lasts: it is on the disk before this yields.

    ``again``: to resume the run whose ID the owner has, once all processes that had claimed it have ended;
    the earlier claims stay in the file, and one of this process is shared. The owner's claims of drives name
    the folder from now on. Raises RecordError if the folder was claimed for another run, or is still in use.
    """
    owner = replace(owner, folder=printable(str(folder.resolve())))
    path = folder / CLAIM_NAME
    if again and str(path) in _HELD:
        yield
        return
    try:
        fd = _claim_of_before(path, owner) if again else _new_claim(path)
    except FileExistsError as error:
        raise RecordError(
            f"{folder} belongs to {read_owner(path) or NO_OWNER}: choose another folder"
        ) from error
    except OSError as error:
        raise RecordError(f"can't claim {folder}: {error.strerror}") from error
    _HELD[str(path)] = _Held(fd)
    try:
        with failing_as(RecordError, f"can't write {path}"):
            _append(fd, folder, owner)
        for name in owner.names:
            if name in _HELD:
                _say(_HELD[name].fd, owner)
        yield
    finally:
        del _HELD[str(path)]
        os.close(fd)


def _new_claim(path: Path) -> int:
    return _locked(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666))


def _claim_of_before(path: Path, owner: RunOwner) -> int:
    check_files(path.parent, [path.name])
    before = read_owner(path)  # none if the run was killed before it had written it
    if before is not None and before.run_id != owner.run_id:
        raise RecordError(f"{path.parent} belongs to {before}, not to run {owner.run_id}")
    try:
        return _locked(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666))
    except BlockingIOError as error:
        raise RecordError(
            f"{path.parent} is in use by {before or NO_OWNER}, or by a program that it has started: wait "
            f"until it ends, or stop it; see fuser -v {path}"
        ) from error


def _append(fd: int, folder: Path, owner: RunOwner) -> None:
    """On a line of its own, also behind one that a power cut has left unfinished; it is on the disk then."""
    end = os.fstat(fd).st_size
    begun = end and os.pread(fd, 1, end - 1) != b"\n"
    os.pwrite(fd, b"\n" * bool(begun) + msgspec.json.encode(owner) + b"\n", end)
    os.fsync(fd)
    for place in (folder, folder.resolve().parent):
        synchronize_folder(place)
