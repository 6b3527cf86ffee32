"""Files that are kept between commands, since what is in them takes long to make.

They are in ``$XDG_CACHE_HOME/openpts`` (``~/.cache/openpts``); ``OPENPTS_CACHE=off`` keeps nothing. Names are
digests of all that a content depends on. A folder that can't be written only costs the time.
"""

import os
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Final

from openpts.run_folder_files import read_file, write_files

_CHECKED: Final = "00"  # after a file in 256 the size of the folder is checked
_QUICK: Final = 1


def cache_home() -> Path | None:
    """Cache folder; None with OPENPTS_CACHE=off and without a home."""
    if os.environ.get("OPENPTS_CACHE") == "off":
        return None
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # there is no home
        return None
    return folder / "openpts"


class KeptKind:
    """Contents of one kind, compressed, up to ``most_bytes`` in all: what was unused for longest goes."""

    def __init__(self, folder: str, most_bytes: int) -> None:
        self._name = folder
        self.most_bytes = most_bytes

    @property
    def folder(self) -> Path | None:
        """Where they are; None where nothing is kept."""
        home = cache_home()
        return None if home is None else home / self._name

    def any(self) -> bool:
        """Whether there is one."""
        folder = self.folder
        try:
            return folder is not None and any(folder.iterdir())
        except OSError:
            return False

    def read(self, digest: str) -> bytes | None:
        """Content under a digest; None where none is kept, or it is damaged."""
        if (folder := self.folder) is None:
            return None
        with suppress(OSError, zlib.error):
            found = zlib.decompress(read_file(folder.parent, f"{self._name}/{digest}"))  # checks a sum
            os.utime(folder / digest, follow_symlinks=False)  # what is in use is removed last
            return found
        return None

    def keep(self, digest: str, content: bytes) -> None:
        """Keep a content, and some time make room for it; errors are ignored.

        It is stored atomically, as other processes may make the same.
        """
        if (folder := self.folder) is None:
            return
        with suppress(OSError):
            folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            compressed = zlib.compress(content, _QUICK)
            write_files(folder.parent, {f"{self._name}/{digest}": compressed}, lasting=False)
        if digest.startswith(_CHECKED):
            self._remove_oldest(folder)

    def _remove_oldest(self, folder: Path) -> None:
        try:
            found = [(entry.stat(), entry.path) for entry in os.scandir(folder)]
        except OSError:
            return
        left = self.most_bytes
        for status, path in sorted(found, key=lambda one: one[0].st_mtime_ns, reverse=True):
            left -= status.st_size
            if left < 0:
                Path(path).unlink(missing_ok=True)
