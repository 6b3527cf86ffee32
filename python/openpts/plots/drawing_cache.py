"""What is kept between reports, since it takes long to make: drawings, and Vega's libraries as one script.

It is in ``$XDG_CACHE_HOME/openpts`` (``~/.cache/openpts``); ``OPENPTS_CACHE=off`` keeps nothing. A folder
that can't be written only costs the time.

The report on a suite shows what the reports on its tests have shown: a drawing is made once. Its name is the
digest of all that it depends on: the specification, the look, the fonts, Vega, what is done to its drawing.
The libraries are kept under the version of the package that they come from.
"""

import gzip
import hashlib
import os
import zlib
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Final

import msgspec

from openpts.plots.theme import FONT_DIRECTORY, LIGHT, vega_config
from openpts.plots.vega_svg import drawing, renderer
from openpts.run_folder_files import read_file, write_files


def _kept_folder() -> Path | None:
    """Cache folder of drawings; None with OPENPTS_CACHE=off and without a home."""
    if os.environ.get("OPENPTS_CACHE") == "off":
        return None
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # there is no home
        return None
    return folder / "openpts"


def _keep(name: str, content: bytes) -> None:
    """Stores a file atomically, as other processes may make the same report; errors are ignored."""
    if (folder := _kept_folder()) is None:
        return
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_files(folder, {name: content}, lasting=False)


def _kept(name: str) -> bytes:
    """Cached content of a name. Raises OSError where there is none."""
    if (folder := _kept_folder()) is None:
        raise FileNotFoundError(name)
    return read_file(folder, name)


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
    if (folder := _kept_folder()) is None:
        return ""
    name = _name(spec)
    try:
        found = zlib.decompress(_kept(name)).decode()  # checks a sum
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
        _keep(name, zlib.compress(made.encode(), _QUICK))
        if name.startswith(f"{_FOLDER}/{_LOOKED_AFTER}"):
            _remove_oldest(folder)
    return made


def _name(spec: str) -> str:
    digest = _all_else().copy()
    digest.update(spec.encode())
    return f"{_FOLDER}/{digest.hexdigest()}"


def _folder() -> Path | None:
    folder = _kept_folder()
    return None if folder is None else folder / _FOLDER


@cache
def _all_else() -> "hashlib._Hash":
    """Digest of everything a drawing depends on besides its specification."""
    digest = hashlib.sha256(version("vl-convert-python").encode())
    digest.update(msgspec.json.encode(vega_config(LIGHT)))
    digest.update(files("openpts.plots").joinpath("vega_svg.py").read_bytes())
    for font in sorted(FONT_DIRECTORY.iterdir()):
        digest.update(font.read_bytes())
    return digest


def _remove_oldest(folder: Path) -> None:
    """Remove the drawings that were unused for longest, until the cache keeps its size."""
    try:
        found = [(entry.stat(), entry.path) for entry in os.scandir(folder)]
    except OSError:
        return
    left = _MOST_BYTES
    for status, path in sorted(found, key=lambda one: one[0].st_mtime_ns, reverse=True):
        left -= status.st_size
        if left < 0:
            Path(path).unlink(missing_ok=True)


@cache
def javascript_bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script that sets ``window.vegaEmbed``."""
    return _read_bundle() or _made_bundle()


def libraries_are_kept() -> bool:
    """Whether the bundled script is cached, or no cache is in use: either way there is none to make now."""
    folder = _kept_folder()
    return folder is None or (folder / _bundle_name()).is_file()


def _bundle_name() -> str:
    return f"vega-{version('vl-convert-python')}.js.gz"


def _read_bundle() -> str:
    """The script, or nothing if none is kept or it is damaged: gzip has a checksum."""
    try:
        return gzip.decompress(_kept(_bundle_name())).decode()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError):
        return ""


def _made_bundle() -> str:
    script = str(renderer().javascript_bundle())
    _keep(_bundle_name(), gzip.compress(script.encode(), mtime=0))
    return script
