"""Folders that a process needs as long as it lives: one that a killed process has left goes with the next.

Each has a lock, which the kernel releases, and a file that says whose it is. A name is no proof: folders that
operators named alike stay.
"""

import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from openpts.system_files import closed_at_end

_MARK: Final = ".openpts-temporary"
_PREFIX: Final = "openpts-temporary-"
_IN_MEMORY: Final = Path("/dev/shm")  # noqa: S108 a new folder of our own below it


def in_memory() -> Path | None:
    """A place for what is small, synced often, and need not last; None where the system has none."""
    return _IN_MEMORY if os.access(_IN_MEMORY, os.W_OK) else None


@contextmanager
def temporary_folder(purpose: str, place: Path | None = None) -> Iterator[Path]:
    """A new folder, gone at the end, with ``purpose`` in its name; those left for any are removed first.

    It is in ``place``, by default where the system has temporary files. Raises OSError.
    """
    place = place or Path(tempfile.gettempdir())
    for left in place.glob(f"{_PREFIX}*"):
        with suppress(OSError), _locked(left):
            _remove(left)
    with ExitStack() as held:
        while True:
            made = tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{purpose}-", dir=place)
            folder = Path(held.enter_context(made))
            with suppress(BlockingIOError, FileNotFoundError):  # others took it for left before it was locked
                held.enter_context(_locked(folder))
                (folder / _MARK).touch()
                break
        yield folder


def remove_temporary(folder: Path) -> None:
    """Remove one that another process of this user has made and needs no more, if it is still there."""
    with suppress(OSError):
        _remove(folder)


def _remove(left: Path) -> None:
    """A folder with our mark, or an empty one: killed before it had a mark, or anything to lose."""
    if (left / _MARK).is_file():
        shutil.rmtree(left)
    else:
        left.rmdir()


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock a folder of this user. Raises BlockingIOError if others have it locked, and OSError."""
    with closed_at_end(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)) as fd:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        status = os.fstat(fd)
        if not status.st_nlink or status.st_uid != os.geteuid():
            raise FileNotFoundError(errno.ENOENT, "gone meanwhile, or another user's", str(folder))
        yield
