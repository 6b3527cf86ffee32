"""The door for files of folders that travel: those of runs, suites and reports.

A run folder may come from another lab, and a name in it may be a link to anywhere, a mounted drive included.
The folder itself is what the operator named; below it no link is followed, to read or to write, and nothing
but a regular file is opened. What takes no time to make, a file of holes, is not read for hours. New content
is written in a folder for drafts, synchronized and renamed: a name has its old content or all of the new,
also after a power cut, and other names of the old file (hard links) keep that. Errors are OSError, with a
``strerror`` that is fit for an operator.
"""

import errno
import fcntl
import io
import os
import re
import secrets
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import Final

from openpts.system_files import closed_at_end

_KINDS: Final = {
    stat.S_IFLNK: "a symbolic link, and none is followed in a folder of results",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a block device",
    stat.S_IFCHR: "a character device",
    stat.S_IFREG: "a file",
}
MOST_BYTES: Final = 256 << 20
"""Of a file that is read into memory."""

_MOST_HOLES_BYTES: Final = 1 << 30
_CLOSING: Final = Lock()
_LOCKED: Final = Counter[tuple[int, int]]()
_LEFT_OPEN: Final = dict[tuple[int, int], list[int]]()
_DRAFTS: Final = re.compile(r"\.openpts-[0-9a-f]{16}\.new")


def file_name_word(text: str) -> str:
    """What of a text the name of a file, or of a folder, has."""
    return re.sub(r"[^A-Za-z0-9.+-]+", "-", text).strip("-.")


def write_files(folder: Path, contents: Mapping[str, bytes], *, lasting: bool = True) -> None:
    """Write files by their names relative to an existing folder; those below it are made where missing.

    Nothing is written if one of the names, or a folder on its way, is a link or anything else but what it has
    to be. Files are renamed in the order given, when all of them are written, and with ``lasting`` on the
    disk. Raises OSError.
    """
    if not contents:
        return
    with ExitStack() as stack:
        parents = dict.fromkeys(_within(name).parent for name in contents)
        opened = {parent: stack.enter_context(_opened(folder, parent, make=True)) for parent in parents}
        places = {name: opened[_within(name).parent] for name in contents}
        for name, parent in places.items():
            with suppress(FileNotFoundError):
                _check(name, stat.S_IFREG, parent)
        drafts = stack.enter_context(_drafts(stack.enter_context(_opened(folder, PurePosixPath()))))
        numbered = {name: str(number) for number, name in enumerate(contents)}
        for name, draft in numbered.items():
            with open(_new(draft, drafts), "wb") as file:
                file.write(contents[name])
        if lasting:
            with ThreadPoolExecutor() as threads:  # the disk takes many at once
                list(threads.map(lambda draft: _synchronize(draft, drafts), numbered.values()))
        for name, parent in places.items():
            os.rename(numbered[name], _within(name).name, src_dir_fd=drafts, dst_dir_fd=parent)
        for parent in opened.values() if lasting else ():
            _synchronize(".", parent)


def make_empty_file(folder: Path, name: str) -> None:
    """Make a file in an existing folder, for a library that opens it by its name.

    Raises OSError, FileExistsError if anything has that name.
    """
    with _opened(folder, _within(name).parent) as parent:
        os.close(_new(_within(name).name, parent))


@contextmanager
def new_file(folder: Path, name: str) -> Iterator[int]:
    """The descriptor of a file to write, which has its name once all went well, and is on the disk then.

    Raises OSError, FileExistsError if anything has that name.
    """
    with _opened(folder, _within(name).parent) as parent:
        place = _within(name).name
        _refuse_if_there(place, parent)
        with _drafts(parent) as drafts:
            with closed_at_end(_new("0", drafts)) as descriptor:
                yield descriptor
                os.fsync(descriptor)
            _refuse_if_there(place, parent)
            os.rename("0", place, src_dir_fd=drafts, dst_dir_fd=parent)
        _synchronize(".", parent)


def _refuse_if_there(name: str, parent: int) -> None:
    with suppress(FileNotFoundError):
        os.lstat(name, dir_fd=parent)
        raise FileExistsError(errno.EEXIST, "it is there already: name another one, or remove it", name)


@contextmanager
def open_file(folder: Path, name: str) -> Iterator[io.BufferedReader]:
    """A regular file below the folder, to read; opening it never waits.

    Raises OSError for a link, a device, a link on its way, or a file that is little but holes.
    """
    with _opened(folder, _within(name).parent) as parent:
        _check(name, stat.S_IFREG, parent)
        descriptor = os.open(
            _within(name).name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent
        )
    try:
        with open(descriptor, "rb", closefd=False) as file:
            # it may have been exchanged meanwhile
            _refuse_kind(name, os.fstat(descriptor).st_mode, stat.S_IFREG)
            _refuse_holes(name, descriptor)
            yield file
    finally:
        with _CLOSING:
            left = _LEFT_OPEN.get(_number_of(os.fstat(descriptor)))
            if left is None:
                os.close(descriptor)
            else:
                left.append(descriptor)


@contextmanager
def locked_by_a_library(folder: Path, name: str) -> Iterator[None]:
    """SQLite has the file open: what ``open_file`` has opened of it stays open until all are done with it.

    The kernel drops all locks of a process on a file when it closes any descriptor of it. Raises OSError.
    """
    number = _number_of(os.lstat(folder / name))
    with _CLOSING:
        _LOCKED[number] += 1
        _LEFT_OPEN.setdefault(number, [])
    try:
        yield
    finally:
        with _CLOSING:
            _LOCKED[number] -= 1
            if not _LOCKED[number]:
                del _LOCKED[number]
                for descriptor in _LEFT_OPEN.pop(number):
                    os.close(descriptor)


def _number_of(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _refuse_holes(name: str, descriptor: int) -> None:
    """What openpts writes has no holes; copies may have small ones. The position is the beginning then."""
    place = holes_bytes = 0
    size_bytes = os.fstat(descriptor).st_size
    while place < size_bytes and (begin := os.lseek(descriptor, place, os.SEEK_HOLE)) < size_bytes:
        try:
            place = os.lseek(descriptor, begin, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:  # which says that no data follows
                raise
            place = size_bytes
        holes_bytes += place - begin
        if holes_bytes > _MOST_HOLES_BYTES:
            raise OSError(
                errno.EFBIG, f"{name} has {size_bytes:,} bytes, most of them holes: put the file in its place"
            )
    os.lseek(descriptor, 0, os.SEEK_SET)


def open_to_append(folder: Path, name: str) -> int:
    """The descriptor of a file that grows, such as a log; made if nothing has its name. Raises OSError."""
    with _opened(folder, _within(name).parent) as parent:
        with suppress(FileNotFoundError):
            _check(_within(name).name, stat.S_IFREG, parent)
        return os.open(
            _within(name).name,
            os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC,
            0o666,
            dir_fd=parent,
        )


def read_file(folder: Path, name: str) -> bytes:
    """All that is in such a file. Raises OSError as ``open_file`` does, and for more than ``MOST_BYTES``."""
    with open_file(folder, name) as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise OSError(errno.EFBIG, f"{name} is larger than {MOST_BYTES:,} bytes: put the file in its place")
    return content


def remove_file(folder: Path, name: str) -> None:
    """Remove a regular file below the folder. Raises OSError for a link, a device, or a link on its way."""
    with _opened(folder, _within(name).parent) as parent:
        _check(name, stat.S_IFREG, parent)
        os.unlink(_within(name).name, dir_fd=parent)


def check_files(folder: Path, names: Iterable[str]) -> None:
    """Each of the names is a regular file or missing, before a library opens them. Raises OSError."""
    for name in names:
        with suppress(FileNotFoundError), _opened(folder, _within(name).parent) as parent:
            _check(name, stat.S_IFREG, parent)


def check_folder(folder: Path, name: str) -> None:
    """The name is a folder below this one, and no link leads there. Raises OSError."""
    with _opened(folder, _within(name)):
        pass


def _within(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise OSError(errno.EINVAL, f"{name!r} is no name within the folder")
    return path


def folder_without_links(path: Path) -> int:
    """The descriptor of a folder by its resolved path, to name files in: no link has come into that since.

    Raises OSError.
    """
    with _opened(Path("/"), PurePosixPath(path).relative_to("/")) as descriptor:
        return os.dup(descriptor)


@contextmanager
def _opened(folder: Path, below: PurePosixPath, *, make: bool = False) -> Iterator[int]:
    """The descriptor of a folder below another one; where one on the way is missing, it can be made."""
    with ExitStack() as stack:
        descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        stack.callback(os.close, descriptor)
        for depth, part in enumerate(below.parts, start=1):
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=descriptor)
            _check("/".join(below.parts[:depth]), stat.S_IFDIR, descriptor)
            descriptor = os.open(
                part, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=descriptor
            )
            stack.callback(os.close, descriptor)
        yield descriptor


def _check(name: str, kind: int, parent: int) -> None:
    """What the last part of the name is in its folder. Raises OSError, FileNotFoundError if it is missing."""
    _refuse_kind(name, os.lstat(PurePosixPath(name).name, dir_fd=parent).st_mode, kind)


def _refuse_kind(name: str, mode: int, kind: int) -> None:
    if (found := stat.S_IFMT(mode)) != kind:
        raise OSError(
            errno.EINVAL, f"{name} is {_KINDS[found]}: remove it, or put {_KINDS[kind]} in its place"
        )


@contextmanager
def _drafts(parent: int) -> Iterator[int]:
    """A new folder in another one, empty and gone at the end; those of killed processes are removed first.

    Its lock shows that its process lives. A file system without locks keeps what a killed process has left.
    """
    for name in _listed(parent):
        if _DRAFTS.fullmatch(name):
            _remove_abandoned(name, parent)
    name, descriptor = _made_and_locked(parent)
    try:
        yield descriptor
    finally:
        _remove(name, parent, descriptor)
        os.close(descriptor)


def _made_and_locked(parent: int) -> tuple[str, int]:
    """Once more if another process took it for abandoned before it was locked."""
    while True:
        name = f".openpts-{secrets.token_hex(8)}.new"
        os.mkdir(name, 0o700, dir_fd=parent)
        with suppress(FileNotFoundError):
            descriptor = _readable(name, parent)
            try:
                with suppress(OSError):
                    fcntl.flock(descriptor, fcntl.LOCK_EX)
                _refuse_filled(name, descriptor)
                os.stat(name, dir_fd=parent, follow_symlinks=False)
            except BaseException:
                os.close(descriptor)
                raise
            return name, descriptor


def _refuse_filled(name: str, descriptor: int) -> None:
    """What is in it would be removed with it."""
    if os.listdir(descriptor):
        raise OSError(errno.EEXIST, f"{name} is another folder by now: a process exchanges names there")


def _remove_abandoned(name: str, parent: int) -> None:
    with suppress(OSError), closed_at_end(_readable(name, parent)) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_uid == os.geteuid():  # else a name is no proof
            _remove(name, parent, descriptor)


def _remove(name: str, parent: int, descriptor: int) -> None:
    for draft in os.listdir(descriptor):
        os.unlink(draft, dir_fd=descriptor)
    os.rmdir(name, dir_fd=parent)


def _readable(name: str, parent: int) -> int:
    return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)


def _listed(folder: int) -> list[str]:
    with closed_at_end(_readable(".", folder)) as descriptor:
        return os.listdir(descriptor)  # noqa: PTH208 a descriptor


def synchronize_folder(folder: Path) -> None:
    """Return when the names in a folder are on the disk. Raises OSError."""
    with closed_at_end(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as descriptor:
        os.fsync(descriptor)


def _synchronize(name: str, parent: int) -> None:
    """A file's content, or the names in a folder, are on the disk."""
    with closed_at_end(
        os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    ) as descriptor:
        os.fsync(descriptor)


def _new(name: str, parent: int) -> int:
    """The descriptor of a file that was not there before, whatever had its name."""
    return os.open(
        name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666, dir_fd=parent
    )
