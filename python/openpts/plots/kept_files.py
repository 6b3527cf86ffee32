"""What is kept between reports, since it takes long to make and is the same each time.

It lies in ``$XDG_CACHE_HOME/openpts`` (``~/.cache/openpts``); ``OPENPTS_CACHE=off`` keeps nothing. A folder
that can't be written only costs the time.
"""

import os
from contextlib import suppress
from pathlib import Path

from openpts.folder_files import read_file, write_files


def kept_folder() -> Path | None:
    """Where things are kept; None where nothing is to be."""
    if os.environ.get("OPENPTS_CACHE") == "off":
        return None
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # nobody's home
        return None
    return folder / "openpts"


def keep(name: str, content: bytes) -> None:
    """Whole or not at all, since other reports may be made at the same time."""
    if (folder := kept_folder()) is None:
        return
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_files(folder, {name: content})


def kept(name: str) -> bytes:
    """What was kept under a name. Raises OSError where nothing was."""
    if (folder := kept_folder()) is None:
        raise FileNotFoundError(name)
    return read_file(folder, name)
