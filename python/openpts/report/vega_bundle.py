"""The Vega libraries as one script, kept between reports: to put them together takes longer than a drawing.

They are kept under the version of the package that they come from (``kept_files``).
"""

import gzip
import zlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

from openpts.report.kept_files import keep, kept_folder
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
    folder = kept_folder()
    return None if folder is None else folder / f"vega-{version('vl-convert-python')}.js.gz"


def _read(kept: Path) -> str:
    """The script, or nothing if there is none or it is damaged: gzip has a checksum."""
    try:
        return gzip.decompress(kept.read_bytes()).decode()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError):
        return ""


def _made(kept: Path | None) -> str:
    script = str(renderer().javascript_bundle())
    if kept is not None:
        keep(kept, gzip.compress(script.encode(), mtime=0))
    return script
