"""How wide a text is in the plots' font: labels are kept apart before anything is drawn.

Reads the advance widths of the shipped font (OpenType ``hmtx``); kerning, which only narrows, is left out.
"""

import struct
from functools import cache
from typing import Final

from openpts.plots.font_coverage import glyph_groups, open_type_table
from openpts.plots.theme import FONT_DIRECTORY, PLOT_TEXT_PX

_FACES: Final = {False: "Inter-Regular.otf", True: "Inter-Bold.otf"}
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
    font = (FONT_DIRECTORY / _FACES[bold]).read_bytes()
    (units_per_em,) = struct.unpack_from(">H", open_type_table(font, b"head"), _UNITS_PER_EM_AT)
    (count,) = struct.unpack_from(">H", open_type_table(font, b"hhea"), _METRICS_COUNT_AT)
    metrics = open_type_table(font, b"hmtx")

    def advance(glyph: int) -> float:
        (width,) = struct.unpack_from(">H", metrics, min(glyph, count - 1) * _LONG_METRIC_BYTES)
        return float(width / units_per_em)

    return {
        code: advance(glyph + code - first)
        for first, last, glyph in glyph_groups(font)
        for code in range(first, last + 1)
    }
