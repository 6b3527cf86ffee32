"""Writes what pages know of the shipped fonts, as fontTools reads it: `python -m docs.font_metrics`."""

from typing import Any, Final

import msgspec
from fontTools.ttLib import TTFont

from openpts.plots.font_metrics import METRICS, FontMetrics
from openpts.plots.theme import FONT_DIRECTORY

_FACES: Final = ("Inter-Regular.otf", "Inter-SemiBold.otf", "Inter-Bold.otf")


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


if __name__ == "__main__":
    METRICS.write_bytes(encoded())
