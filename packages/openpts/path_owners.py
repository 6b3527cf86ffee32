"""Whether another user of this machine could make a path name something else, before it is used or meanwhile.

What is opened by its path, as SQLite opens a database, may then be any file, and who writes is often root.
"""

import os
import pwd
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from openpts.system_files import printable

_MOST_LINKS: Final = 40  # as the kernel's
_OVERFLOW_UID: Final = 65534  # stands for owners that a namespace or a server of files does not map
_CALLERS: Final = ("SUDO_UID", "PKEXEC_UID")


def link_of_another(path: Path) -> tuple[Path, str] | None:
    """The first symbolic link on the way of a path that another user has made, and that user's name."""
    return next(
        (
            (place, user)
            for place, status in _way(path)
            if stat.S_ISLNK(status.st_mode) and (user := _other_user(status.st_uid))
        ),
        None,
    )


def exchangeable(folder: Path) -> str | None:
    """Who else could exchange the folder, as a text; None where only root and this user can.

    A folder's owner can exchange names in it, and so can everybody where all may write and no sticky bit is
    set. What a group may do, its owner gave it.
    """
    for place, status in _way(folder):
        if user := _other_user(status.st_uid):
            kind = "is a symbolic link of" if stat.S_ISLNK(status.st_mode) else "belongs to"
            return f"{printable(str(place))} {kind} user {user}"
        if stat.S_ISDIR(status.st_mode) and status.st_mode & (stat.S_IWOTH | stat.S_ISVTX) == stat.S_IWOTH:
            return f"anyone may rename what is in {printable(str(place))}, which has no sticky bit"
    return None


def _way(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """All folders and links that lead to a path, and what has its name, as far as they are there.

    Raises OSError where one can't be read.
    """
    left, links = [*reversed(path.absolute().parts)], 0
    place = Path(left.pop())
    yield place, place.lstat()
    while left:
        part = left.pop()
        if part == "..":  # of a place without links
            place = place.parent
            continue
        status = None
        with suppress(FileNotFoundError, NotADirectoryError):
            status = (place / part).lstat()
        if status is None:
            return
        yield place / part, status
        if not stat.S_ISLNK(status.st_mode):
            place /= part
            continue
        links += 1
        if links > _MOST_LINKS:
            return  # which the kernel refuses
        further = (place / part).readlink()
        left += reversed(further.parts)
        if further.is_absolute():
            place = Path(left.pop())


def _other_user(uid: int) -> str:
    """The name of a user who is neither root nor who runs this; empty without one, as in most containers."""
    callers = {os.environ.get(name) for name in _CALLERS} if os.geteuid() == 0 else set()
    if uid in {0, os.geteuid(), _OVERFLOW_UID} or str(uid) in callers:
        return ""
    with suppress(KeyError):
        return printable(pwd.getpwuid(uid).pw_name)
    return ""
