"""Writes what pages know of the shipped fonts, as fontTools reads it: `python -m docs.font_metrics`."""

from typing import Any, Final

import msgspec
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTFont

from openpts_pages.plots.theme import FONT, FONT_DIRECTORY, MEASURED_FONT_DIRECTORY, METRICS, FontMetrics

_FACES: Final = ("Inter-Regular.otf", "Inter-SemiBold.otf", "Inter-Bold.otf")
_MEASURED: Final = ("Regular", "Bold")  # the faces of plots
_OF_LICENSE: Final = ((0, "copyright"), (13, "licenseDescription"), (14, "licenseInfoURL"))
_UNITS_PER_EM: Final = 32  # a third of a pixel at the plots' size


def metrics() -> FontMetrics:
    """Characters that all faces have, and the advance widths of those of plots."""
    fonts = [TTFont(FONT_DIRECTORY / name) for name in _FACES]
    covered = set.intersection(*(set(font.getBestCmap()) for font in fonts))
    ends = (sorted(code for code in covered if code + step not in covered) for step in (-1, 1))
    regular, _, bold = fonts
    return FontMetrics(
        characters=tuple(zip(*ends, strict=True)), regular=_advances(regular), bold=_advances(bold)
    )


def _advances(font: Any) -> dict[int, float]:
    units_per_em, widths = font["head"].unitsPerEm, font["hmtx"]
    return {code: widths[glyph][0] / units_per_em for code, glyph in sorted(font.getBestCmap().items())}


def encoded() -> bytes:
    """The file's content."""
    return msgspec.json.encode(metrics()) + b"\n"


def measured_font(face: str) -> Any:
    """A font that only says how wide the characters of a face are: those of a width share a glyph.

    Vega's measuring maps the font's file into memory four times for each glyph of a text, and runs its
    tables of substitutions and kerning. Each glyph has an outline, without which no text counts.
    """
    source = TTFont(FONT_DIRECTORY / f"Inter-{face}.otf")
    widths = {code: round(width * _UNITS_PER_EM) for code, width in _advances(source).items()}
    glyphs = {f"width-{width}": width for width in sorted(set(widths.values()))}
    pen = TTGlyphPen(None)
    pen.moveTo((0, 0))
    pen.lineTo((0, 1))
    pen.lineTo((1, 0))
    pen.closePath()
    outline = pen.glyph()
    builder = FontBuilder(_UNITS_PER_EM, isTTF=True)
    builder.setupGlyphOrder([".notdef", *glyphs])
    builder.setupCharacterMap({code: f"width-{width}" for code, width in widths.items()})
    builder.setupGlyf(dict.fromkeys((".notdef", *glyphs), outline))
    builder.setupHorizontalMetrics(
        {name: (width, 0) for name, width in {".notdef": _UNITS_PER_EM, **glyphs}.items()}
    )
    scale = _UNITS_PER_EM / source["head"].unitsPerEm
    ascent, descent = (round(scale * getattr(source["hhea"], end)) for end in ("ascent", "descent"))
    builder.setupHorizontalHeader(ascent=ascent, descent=descent)
    names = {name: source["name"].getDebugName(number) for number, name in _OF_LICENSE}
    builder.setupNameTable({"familyName": FONT, "styleName": face, "psName": f"{FONT}-{face}", **names})
    builder.setupOS2(usWeightClass=source["OS/2"].usWeightClass)
    builder.setupPost(keepGlyphNames=False)
    builder.updateHead(created=0, modified=0)
    return builder.font


if __name__ == "__main__":
    METRICS.write_bytes(encoded())
    MEASURED_FONT_DIRECTORY.mkdir(exist_ok=True)
    for face in _MEASURED:
        measured_font(face).save(MEASURED_FONT_DIRECTORY / f"{face}.ttf")
