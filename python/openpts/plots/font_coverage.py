"""Which characters the shipped font can show: PDF/A allows no glyph that is missing.

What is shown instead is the character's code point, ``[U+6E2C]``.
Reads the font's character map (OpenType ``cmap``, format 12), so that the answer is that of the very
file that typst embeds.
"""

import re
import struct
from functools import cache
from typing import Final

from openpts.plots.theme import FONT_DIRECTORY

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
    return frozenset(code for first, last, _ in glyph_groups(font) for code in range(first, last + 1))


def glyph_groups(font: bytes) -> list[tuple[int, int, int]]:
    """First and last code point of each run, and the glyph of the first. Raises ValueError without a map."""
    cmap = open_type_table(font, b"cmap")
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


def open_type_table(font: bytes, wanted: bytes) -> bytes:
    """A table of a font file. Raises ValueError if it has none of that tag."""
    (count,) = struct.unpack_from(">H", font, 4)
    for n in range(count):
        tag, _, offset, length = _TABLE_RECORD.unpack_from(font, 12 + n * _TABLE_RECORD.size)
        if tag == wanted:
            return font[offset : offset + length]
    raise ValueError(f"the font has no table {wanted.decode()}")
