"""The shipped font, from its own OpenType tables: which characters it has, and how wide a text is in it.

PDF/A allows no glyph that is missing: what is shown instead is the character's code point, ``[U+6E2C]``. The
character map (``cmap``, format 12) is that of the very file that typst embeds. Labels of plots are kept apart
before anything is drawn, by the advance widths (``hmtx``); kerning, which only narrows, is left out.
"""

import re
import struct
from functools import cache
from typing import Final

from openpts.plots.theme import FONT_DIRECTORY, PLOT_TEXT_PX

_FACES: Final = ("Inter-Regular.otf", "Inter-SemiBold.otf", "Inter-Bold.otf")
_TABLE_RECORD: Final = struct.Struct(">4sIII")
_ENCODING_RECORD: Final = struct.Struct(">HHI")
_GROUP: Final = struct.Struct(">III")
_FORMAT_12: Final = 12
_ESCAPE: Final = re.compile(r"\\(?:u(?P<digits>[0-9a-fA-F]{4})|(?P<sign>.))")
_CONTROLS: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


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


@cache
def _covered() -> frozenset[int]:
    """Code points that all faces have."""
    faces = [_code_points((FONT_DIRECTORY / name).read_bytes()) for name in _FACES]
    return frozenset.intersection(*faces)


def _code_points(font: bytes) -> frozenset[int]:
    return frozenset(code for first, last, _ in _glyph_groups(font) for code in range(first, last + 1))


def _glyph_groups(font: bytes) -> list[tuple[int, int, int]]:
    """First and last code point of each run, and the glyph of the first. Raises ValueError without a map."""
    cmap = _open_type_table(font, b"cmap")
    (count,) = struct.unpack_from(">H", cmap, 2)
    for n in range(count):
        _, _, offset = _ENCODING_RECORD.unpack_from(cmap, 4 + n * _ENCODING_RECORD.size)
        (form,) = struct.unpack_from(">H", cmap, offset)
        if form == _FORMAT_12:
            return _groups(cmap, offset)
    raise ValueError("the font has no character map of format 12")


def _groups(cmap: bytes, offset: int) -> list[tuple[int, int, int]]:
    (count,) = struct.unpack_from(">I", cmap, offset + 12)
    return [_GROUP.unpack_from(cmap, offset + 16 + n * _GROUP.size) for n in range(count)]


def _open_type_table(font: bytes, wanted: bytes) -> bytes:
    """A table of a font file. Raises ValueError if it has none of that tag."""
    (count,) = struct.unpack_from(">H", font, 4)
    for n in range(count):
        tag, _, offset, length = _TABLE_RECORD.unpack_from(font, 12 + n * _TABLE_RECORD.size)
        if tag == wanted:
            return font[offset : offset + length]
    raise ValueError(f"the font has no table {wanted.decode()}")


_FACE_BY_WEIGHT: Final = {False: "Inter-Regular.otf", True: "Inter-Bold.otf"}
_UNITS_PER_EM_AT: Final = 18
_METRICS_COUNT_AT: Final = 34
_LONG_METRIC_BYTES: Final = 4


def text_width_px(text: str, *, bold: bool = False) -> float:
    """The width of a text of plot size; a character that the font lacks counts as a whole em."""
    widths = _advances(bold)
    return PLOT_TEXT_PX * sum(widths.get(ord(character), 1.0) for character in text)


@cache
def _advances(bold: bool) -> dict[int, float]:
    """Advance width of each character, in em."""
    font = (FONT_DIRECTORY / _FACE_BY_WEIGHT[bold]).read_bytes()
    (units_per_em,) = struct.unpack_from(">H", _open_type_table(font, b"head"), _UNITS_PER_EM_AT)
    (count,) = struct.unpack_from(">H", _open_type_table(font, b"hhea"), _METRICS_COUNT_AT)
    metrics = _open_type_table(font, b"hmtx")

    def advance(glyph: int) -> float:
        (width,) = struct.unpack_from(">H", metrics, min(glyph, count - 1) * _LONG_METRIC_BYTES)
        return float(width / units_per_em)

    return {
        code: advance(glyph + code - first)
        for first, last, glyph in _glyph_groups(font)
        for code in range(first, last + 1)
    }
