"""The Vega libraries as one script, kept between reports: to put them together takes longer than a drawing.

They are kept in ``$XDG_CACHE_HOME/openpts`` (``~/.cache/openpts``) under the version of the package that they
come from; ``OPENPTS_CACHE=off`` keeps nothing. A folder that can't be written only costs the time.
"""

import gzip
import os
import tempfile
import zlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

from openpts.report.vega_svg import can_draw_plots, renderer


@cache
def javascript_bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script that sets ``window.vegaEmbed``; empty without Vega."""
    if not can_draw_plots():
        return ""
    kept = _kept()
    return (kept and _read(kept)) or _made(kept)


def libraries_are_kept() -> bool:
    """Whether the script need not be put together; also where that would be in vain."""
    kept = _kept()
    return kept is None or kept.is_file()


def _kept() -> Path | None:
    """Where the script is kept; None where nothing is to be."""
    if os.environ.get("OPENPTS_CACHE") == "off":
        return None
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # nobody's home
        return None
    return folder / "openpts" / f"vega-{version('vl-convert-python')}.js.gz"


def _read(kept: Path) -> str:
    """The script, or nothing if there is none or it is damaged: gzip has a checksum."""
    try:
        return gzip.decompress(kept.read_bytes()).decode()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError):
        return ""


def _made(kept: Path | None) -> str:
    script = str(renderer().javascript_bundle())
    if kept is not None:
        _keep(kept, gzip.compress(script.encode(), mtime=0))
    return script


def _keep(kept: Path, content: bytes) -> None:
    """Whole or not at all, since other reports may be made at the same time."""
    try:
        kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=kept.parent, delete=False) as file:
            file.write(content)
        Path(file.name).replace(kept)
    except OSError:
        return
