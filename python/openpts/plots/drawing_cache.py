"""Drawings that are kept between reports, each under its content.

The report on a suite shows what the reports on its tests have shown: a drawing is made once. Its name is the
digest of all that it depends on: the specification, the look, the fonts, Vega, what is done to its drawing.
"""

import hashlib
import os
import zlib
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Final

import msgspec

from openpts.plots.kept_files import keep, kept, kept_folder
from openpts.plots.theme import FONT_DIRECTORY, LIGHT, vega_config
from openpts.plots.vega_svg import drawing

_FOLDER: Final = "drawings"
_MOST_BYTES: Final = 200_000_000
_LOOKED_AFTER: Final = "00"  # a drawing in 256 has the folder's size looked at
_QUICK: Final = 1


def anything_kept() -> bool:
    """Whether drawings are kept."""
    folder = _folder()
    try:
        return folder is not None and any(folder.iterdir())
    except OSError:
        return False


def kept_drawing(spec: str) -> str:
    """The drawing of a specification (JSON), or nothing where none is kept or it is damaged."""
    if (folder := kept_folder()) is None:
        return ""
    name = _name(spec)
    try:
        found = zlib.decompress(kept(name)).decode()  # checks a sum
        os.utime(folder / name, follow_symlinks=False)  # what is in use is removed last
    except (OSError, zlib.error, UnicodeDecodeError):
        return ""
    return found


def made_drawing(spec: str) -> str:
    """A specification drawn now, and kept. Raises ValueError if Vega refuses it."""
    made = drawing(spec)
    folder = _folder()
    if folder is not None:
        name = _name(spec)
        keep(name, zlib.compress(made.encode(), _QUICK))
        if name.startswith(f"{_FOLDER}/{_LOOKED_AFTER}"):
            _remove_oldest(folder)
    return made


def _name(spec: str) -> str:
    digest = _all_else().copy()
    digest.update(spec.encode())
    return f"{_FOLDER}/{digest.hexdigest()}"


def _folder() -> Path | None:
    folder = kept_folder()
    return None if folder is None else folder / _FOLDER


@cache
def _all_else() -> "hashlib._Hash":
    """Digest of what drawings depend on besides their specification."""
    digest = hashlib.sha256(version("vl-convert-python").encode())
    digest.update(msgspec.json.encode(vega_config(LIGHT)))
    digest.update(files("openpts.plots").joinpath("vega_svg.py").read_bytes())
    for font in sorted(FONT_DIRECTORY.iterdir()):
        digest.update(font.read_bytes())
    return digest


def _remove_oldest(folder: Path) -> None:
    """Those that were not used for longest, until the rest is as small as it is to be."""
    try:
        found = [(entry.stat(), entry.path) for entry in os.scandir(folder)]
    except OSError:
        return
    left = _MOST_BYTES
    for status, path in sorted(found, key=lambda one: one[0].st_mtime_ns, reverse=True):
        left -= status.st_size
        if left < 0:
            Path(path).unlink(missing_ok=True)
