"""A small file system that has no room left."""

import os
from contextlib import suppress
from pathlib import Path

from openpts.units import MIB

_PAGE_BYTES = 4096


def fill(folder: Path, *, but_pages: int = 0) -> Path:
    """Leave no byte, or so many pages, and return the file that takes the rest."""
    path = folder / "fill"
    with path.open("ab", buffering=0) as file:
        for size in (MIB, _PAGE_BYTES, 1):
            with suppress(OSError):
                while True:
                    file.write(bytes(size))
        assert os.statvfs(folder).f_bavail == 0
        file.truncate(path.stat().st_size // _PAGE_BYTES * _PAGE_BYTES - but_pages * _PAGE_BYTES)
    return path
