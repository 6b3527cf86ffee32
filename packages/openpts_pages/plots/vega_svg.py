"""One plot from its Vega-Lite specification: SVG with short numbers and identifiers of its own.

A change of this file makes all kept drawings stale (``drawing_cache``).
"""

import re
from functools import cache
from typing import Any

import msgspec
import vl_convert

from openpts_pages.plots.theme import LIGHT, MEASURED_FONT_DIRECTORY, vega_config

_ANY_PLOT = '{"mark":"point","data":{"values":[]},"encoding":{"x":{"field":"x"}}}'
_COORDINATES = re.compile(r' (?:d|transform|[xy][12]?|width|height)="[^"]*"')
_LONG_FRACTION = re.compile(r"(\.\d\d)\d+")
_DOT = re.compile(
    r'<path transform="translate\(([-\d.]+),([-\d.]+)\)" d="M([-\d.]+),([-\d.]+)(h[^"M]*Z)" '
    r'(fill="[^"]*" stroke="[^"]*" stroke-width="0"[^>/]*)/>'
)
_DOTS = re.compile(rf"(?:{_DOT.pattern}){{20,}}")
_DEFINED = re.compile(r'<\w+ id="([^"]+)"')
_IDENTIFIED = re.compile(r'(<\w+ id="|="url\(#)([^")]+)')


def drawing(spec: str) -> str:
    """The SVG of a specification (JSON), in light colors; the same in every process, for any figure.

    Raises ValueError for a specification that Vega refuses.
    """
    svg: str = renderer().vegalite_to_svg(spec, config=_config())
    return _with_counted_identifiers(_with_dots_in_one(_with_short_numbers(svg)))


def of_figure(drawing: str, figure_id: str) -> str:
    """The drawing with identifiers of one figure, so that a page can have several."""
    return _IDENTIFIED.sub(rf"\g<1>{figure_id}-\g<2>", drawing)


@cache
def renderer() -> Any:
    """The Vega module, knowing how wide texts are in our font."""
    vl_convert.register_font_directory(str(MEASURED_FONT_DIRECTORY))
    return vl_convert


def start_renderer() -> None:
    """Have Vega loaded before the first drawing is asked for."""
    drawing(_ANY_PLOT)


@cache
def _config() -> dict[str, Any]:
    return vega_config(LIGHT)


def spec_json(spec: dict[str, Any]) -> str:
    """A specification as it goes to Vega: one line."""
    return msgspec.json.encode(spec).decode()


def _with_short_numbers(svg: str) -> str:
    """Places to a hundredth of a pixel: a third of the size, and nothing that an eye or a printer sees."""
    return _COORDINATES.sub(lambda match: _LONG_FRACTION.sub(r"\1", match[0]), svg)


def _with_dots_in_one(svg: str) -> str:
    """Thousands of equal dots as one path: the same picture in a quarter of the size."""

    def joined(dots: re.Match[str]) -> str:
        found = _DOT.findall(dots[0])
        if len({(shape, style) for *_, shape, style in found}) > 1:
            return dots[0]
        *_, shape, style = found[0]
        places = (f"M{float(x) + float(left):.2f},{float(y) + float(up):.2f}" for x, y, left, up, *_ in found)
        return f'<path d="{"".join(place + shape for place in places)}" {style}/>'

    return _DOTS.sub(joined, svg)


def _with_counted_identifiers(svg: str) -> str:
    """Identifiers counted per drawing: Vega counts per process, which no two builds would share."""
    numbers = {identifier: n for n, identifier in enumerate(dict.fromkeys(_DEFINED.findall(svg)))}
    return _IDENTIFIED.sub(lambda found: f"{found[1]}{numbers[found[2]]}", svg)
