"""The shipped font: which characters it has, and how wide a text is in it.

PDF/A allows no glyph that is missing: what is shown instead is the character's code point, ``[U+6E2C]``.
Labels of plots are kept apart before anything is drawn, by the advance widths; kerning, which only narrows,
is left out. ``python -m docs.font_metrics`` has fontTools read the very files that typst embeds.
"""

import re
from functools import cache
from math import fsum
from typing import Final

import msgspec

from openpts_pages.plots.theme import FONT_DIRECTORY, PLOT_TEXT_PX

METRICS: Final = FONT_DIRECTORY / "metrics.json"
_ESCAPE: Final = re.compile(r"\\(?:u(?P<digits>[0-9a-fA-F]{4})|(?P<sign>.))")
_CONTROLS: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class FontMetrics(msgspec.Struct, frozen=True):
    """First and last code point of each run that all faces have; advance widths in em by code point."""

    characters: tuple[tuple[int, int], ...]
    regular: dict[int, float]
    bold: dict[int, float]


def showable_json(encoded: bytes) -> bytes:
    """A JSON text with all characters in its strings that the font lacks written as their code points."""
    text = encoded.decode()
    if "\\" in text:
        text = _ESCAPE.sub(_shown_escape, text)
    missing = {ord(character) for character in set(text)} - _covered()
    return text.translate({code: _code_point(code) for code in missing}).encode()


def _shown_escape(escape: re.Match[str]) -> str:
    """Control characters have an escape each, like quotes, which the font has."""
    sign, digits = escape["sign"], escape["digits"]
    code = ord(_CONTROLS.get(sign, sign)) if digits is None else int(digits, 16)
    return escape[0] if code in _covered() else _code_point(code)


def _code_point(code: int) -> str:
    return f"[U+{code:04X}]"


def text_width_px(text: str, *, bold: bool = False) -> float:
    """The width of a text of plot size; a character that the font lacks counts as a whole em."""
    widths = _metrics().bold if bold else _metrics().regular
    return PLOT_TEXT_PX * fsum(widths.get(ord(character), 1.0) for character in text)


@cache
def _covered() -> frozenset[int]:
    """Code points that all faces have."""
    return frozenset(code for first, last in _metrics().characters for code in range(first, last + 1))


@cache
def _metrics() -> FontMetrics:
    return msgspec.json.decode(METRICS.read_bytes(), type=FontMetrics)
