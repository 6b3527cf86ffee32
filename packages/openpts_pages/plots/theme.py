"""Colors, fonts and sizes of a report: the only place that names a color.

The series and mix colors were searched for: the closest pair is at least 15 dE2000 apart for normal,
protan, deutan and tritan sight, and each has a contrast of at least 3:1 on its background. A test
keeps that so.
"""

import re
from functools import cache
from math import fsum
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import fields

FONT_DIRECTORY: Final = Path(__file__).parent / "fonts"
MEASURED_FONT_DIRECTORY: Final = Path(__file__).parent / "measured_fonts"
FONT: Final = "Inter"
WEB_FONTS: Final = 'Inter, "Noto Sans", "Segoe UI", Helvetica, Arial, sans-serif'
PLOT_WIDTH_PX: Final = 720
PLOT_TEXT_PX: Final = 11

# Own paths stand where Vega has no shape of that kind; all fit the box -1 to 1 that Vega asks for.
_DIAGONAL_CROSS: Final = "M-.8,-.8L.8,.8M-.8,.8L.8,-.8"
_STAR: Final = "M0,-1L.24,-.32L.95,-.31L.38,.12L.59,.81L0,.4L-.59,.81L-.38,.12L-.95,-.31L-.24,-.32Z"
MARKERS: Final = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "triangle-down",
    "cross",
    _STAR,
    _DIAGONAL_CROSS,
)


class ColorScheme(Struct, frozen=True):
    """One color scheme. ``series`` runs from small to large, ``mix`` from all writes to all reads."""

    surface: str
    panel: str
    ink: str
    muted: str
    line: str
    grid: str
    window: str
    allowed: str
    limit: str
    fit: str
    alert: str
    passed: str
    title_bar: str
    title_ink: str
    test_bar: str
    centre: str
    centre_ink: str
    platform: str
    dut: str
    setup: str
    test: str
    heat_low: str
    heat_high: str
    face_light: str
    face_dark: str
    series: tuple[str, ...]
    mix: tuple[str, ...]

    def tokens(self) -> dict[str, str]:
        """Name of each color, as in CSS custom properties, and its value."""
        named: dict[str, str] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, str):
                named[field.name.replace("_", "-")] = value
            else:
                named.update({f"{field.name}-{n}": color for n, color in enumerate(value, start=1)})
        return named


_COLORS: Final[dict[str, tuple[Any, Any]]] = {  # light and dark
    "surface": ("#ffffff", "#14181d"),
    "panel": ("#eef1f4", "#1e242b"),
    "ink": ("#1c2127", "#e8ebee"),
    "muted": ("#56606b", "#a3adb8"),
    "line": ("#8a939d", "#5c6672"),
    "grid": ("#dde1e5", "#2c333b"),
    "window": ("#a9b1ba", "#6b7785"),
    "allowed": ("#8e95ee", "#5a66d8"),
    "limit": ("#3b424a", "#c3cad2"),
    "fit": ("#c8102e", "#ff8a94"),
    "alert": ("#b3001b", "#ff6b7d"),
    "passed": ("#0b6b4f", "#5fd3a8"),
    "title_bar": ("#ffe600", "#ffe600"),
    "title_ink": ("#141414", "#141414"),
    "test_bar": ("#d9e6bd", "#3d4a26"),
    "centre": ("#4d5661", "#39424d"),
    "centre_ink": ("#fefefe", "#fefefe"),
    "platform": ("#fbe9dc", "#3a2a1e"),
    "dut": ("#dff0f6", "#1b3038"),
    "setup": ("#eaf1dc", "#29331c"),
    "test": ("#e8e4f1", "#2c2740"),
    "heat_low": ("#f3f7fc", "#1b2530"),
    "heat_high": ("#6ea3d8", "#2f6299"),
    "face_light": ("#fffffe", "#fffffe"),
    "face_dark": ("#000001", "#000001"),
    "series": (
        ("#2d292d", "#510666", "#2539e9", "#ba0602", "#007a58", "#f34688", "#4a8cff", "#ad9315"),
        ("#fffedd", "#b79dff", "#755ed4", "#df070a", "#2c8563", "#ff7199", "#bde4ec", "#dfc224"),
    ),
    "mix": (
        ("#561520", "#b21e00", "#dd7b04", "#695968", "#969293", "#6077e0", "#3d0e84"),
        ("#906549", "#e98f00", "#fff1b4", "#a1a79c", "#54c1f5", "#2370d5", "#e8fdff"),
    ),
}
LIGHT: Final = ColorScheme(**{name: light for name, (light, _) in _COLORS.items()})
DARK: Final = ColorScheme(**{name: dark for name, (_, dark) in _COLORS.items()})


def vega_config(scheme: ColorScheme) -> dict[str, Any]:
    """Vega-Lite configuration of a scheme: figure specs name styles and ranges, never colors."""
    return {
        "font": FONT,
        "aria": False,  # a plot has one name, its alternative text; thousands of points would drown it
        "background": scheme.surface,
        "view": {"stroke": None},
        "range": {
            "category": list(scheme.series),
            "ordinal": list(scheme.mix),
            "heatmap": [scheme.heat_low, scheme.heat_high],
            "symbol": list(MARKERS),
        },
        "axis": {
            "labelFontSize": PLOT_TEXT_PX,
            "titleFontSize": PLOT_TEXT_PX,
            "titleFontWeight": "normal",
            "titlePadding": 10,
            "labelPadding": 5,
            "labelColor": scheme.ink,
            "titleColor": scheme.ink,
            "gridColor": scheme.grid,
            "domainColor": scheme.line,
            "tickColor": scheme.line,
            "labelFlush": False,
            # Labels stand where they fit: to hold each against a limit takes a tenth of a drawing's time.
            "labelLimit": 0,
            "titleLimit": 0,
        },
        "axisX": {"grid": False},
        "axisY": {"grid": True},
        "point": {"opacity": 1},
        "legend": {
            "labelFontSize": PLOT_TEXT_PX,
            "labelColor": scheme.ink,
            "orient": "top",
            "title": None,
            "symbolSize": 60,
            "columnPadding": 14,
            "labelLimit": 0,
        },
        "text": {"fontSize": PLOT_TEXT_PX, "color": scheme.ink},
        "style": {
            "envelope": {"fillOpacity": 0.32, "strokeOpacity": 0.32, "strokeWidth": 0.6},
            "bar-alone": {"strokeWidth": 0.6},  # no seam of the ground's color between neighbors
            "bar-shared": {"fillOpacity": 0.5, "strokeOpacity": 0},
            "whisker": {"color": scheme.ink, "strokeWidth": 1.6},
            "ring": {"color": scheme.ink, "filled": False, "strokeWidth": 1.6},
            "ring-label": {"color": scheme.ink, "fontWeight": "bold"},
            "window": {"color": scheme.window, "opacity": 0.24},
            "allowed": {"color": scheme.allowed, "opacity": 0.2},
            "average": {"color": scheme.ink, "strokeWidth": 1.2},
            "limit": {"color": scheme.limit, "strokeWidth": 1.2, "strokeDash": [5, 4]},
            "fit": {"color": scheme.fit, "strokeWidth": 1.4, "strokeDash": [8, 3, 2, 3]},
            "annotation": {"color": scheme.muted},
            "cursor": {"color": scheme.muted, "strokeWidth": 1},
            "heat-cell": {"stroke": scheme.surface, "strokeWidth": 2},
        },
    }


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
