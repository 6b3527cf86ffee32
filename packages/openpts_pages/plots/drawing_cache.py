"""What is kept of drawings between reports.

The report on a suite shows what the reports on its tests have shown: a drawing is made once. Its name is the
digest of all that it depends on: the specification, the look, the fonts, Vega, what is done to its drawing.
"""

import hashlib
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import Final

import msgspec

from openpts.kept_files import KeptKind
from openpts_pages.plots.theme import LIGHT, MEASURED_FONT_DIRECTORY, vega_config
from openpts_pages.plots.vega_svg import drawing

DRAWINGS: Final = KeptKind("drawings", most_bytes=200_000_000)


def kept_drawing(spec: str) -> str:
    """The drawing of a specification (JSON), or nothing where none is kept or it is damaged."""
    try:
        return (DRAWINGS.read(_digest(spec)) or b"").decode()
    except UnicodeDecodeError:
        return ""


def made_drawing(spec: str) -> str:
    """A specification drawn now, and kept. Raises ValueError if Vega refuses it."""
    made = drawing(spec)
    DRAWINGS.keep(_digest(spec), made.encode())
    return made


def _digest(spec: str) -> str:
    digest = _all_else().copy()
    digest.update(spec.encode())
    return digest.hexdigest()


@cache
def _all_else() -> "hashlib._Hash":
    """Digest of everything a drawing depends on besides its specification."""
    digest = hashlib.sha256(version("vl-convert-python").encode())
    digest.update(msgspec.json.encode(vega_config(LIGHT)))
    digest.update(files("openpts_pages.plots").joinpath("vega_svg.py").read_bytes())
    for font in sorted(MEASURED_FONT_DIRECTORY.iterdir()):
        digest.update(font.read_bytes())
    return digest
