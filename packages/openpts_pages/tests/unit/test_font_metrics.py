"""What is known of the fonts is what fontTools reads in them."""

import pytest
from fontTools.ttLib import TTFont

from docs.font_metrics import encoded
from openpts_pages.plots.theme import FONT_DIRECTORY, MEASURED_FONT_DIRECTORY, METRICS


def test_the_metrics_are_those_of_the_fonts() -> None:
    assert METRICS.read_bytes() == encoded()


@pytest.mark.parametrize("face", ["Regular", "Bold"])
def test_the_fonts_that_vega_measures_with_are_as_wide_as_those_shown(face) -> None:
    shown = TTFont(FONT_DIRECTORY / f"Inter-{face}.otf")
    measured = TTFont(MEASURED_FONT_DIRECTORY / f"{face}.ttf")
    assert measured["OS/2"].usWeightClass == shown["OS/2"].usWeightClass
    assert measured["name"].getBestFamilyName() == shown["name"].getBestFamilyName()
    widths, known = _widths_em(shown), _widths_em(measured)
    assert known.keys() == widths.keys()
    assert max(abs(known[code] - width) for code, width in widths.items()) <= 1 / 64


def _widths_em(font: TTFont) -> dict[int, float]:
    return {
        code: font["hmtx"][glyph][0] / font["head"].unitsPerEm for code, glyph in font.getBestCmap().items()
    }
