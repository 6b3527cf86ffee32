"""The Vega libraries as one script, kept between reports: to put them together takes longer than a drawing.

They are kept under the version of the package that they come from (``kept_files``).
"""

import gzip
import zlib
from functools import cache
from importlib.metadata import version

from openpts.plots.kept_files import keep, kept, kept_folder
from openpts.plots.vega_svg import renderer


@cache
def javascript_bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script that sets ``window.vegaEmbed``."""
    return _read() or _made()


def libraries_are_kept() -> bool:
    """Whether the script need not be put together: it is kept, or can't be kept."""
    folder = kept_folder()
    return folder is None or (folder / _name()).is_file()


def _name() -> str:
    return f"vega-{version('vl-convert-python')}.js.gz"


def _read() -> str:
    """The script, or nothing if none is kept or it is damaged: gzip has a checksum."""
    try:
        return gzip.decompress(kept(_name())).decode()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError):
        return ""


def _made() -> str:
    script = str(renderer().javascript_bundle())
    keep(_name(), gzip.compress(script.encode(), mtime=0))
    return script
