"""Draws figures as SVG: the plots through Vega, 3D columns by themselves."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from openpts.report.columns3d import columns_svg
from openpts.report.model import Figure, Report, Table
from openpts.report.optional import optional_module
from openpts.report.theme import FONT_DIRECTORY, LIGHT, Scheme, vega_config
from openpts.report.vega_lite import vega_lite_spec

# Without Vega a report holds its tables and the 3D columns, and says what is missing.
vl_convert = optional_module("vl_convert")

_COORDINATES = re.compile(r' (?:d|transform|[xy][12]?|width|height)="[^"]*"')
_LONG_FRACTION = re.compile(r"(\.\d\d)\d+")
_DOT = re.compile(
    r'<path transform="translate\(([-\d.]+),([-\d.]+)\)" d="M([-\d.]+),([-\d.]+)(h[^"M]*Z)" '
    r'(fill="[^"]*" stroke="[^"]*" stroke-width="0"[^>/]*)/>'
)
_DOTS = re.compile(rf"(?:{_DOT.pattern}){{20,}}")
_IDENTIFIER = re.compile(r'(?<=id=")[^"]+(?=")')
_PLOTS_NEED = "Plots need the package vl-convert-python: pip install vl-convert-python"


def can_draw_plots() -> bool:
    """Whether Vega is at hand."""
    return vl_convert is not None


def missing_plots_note() -> str:
    """One line on how to get the plots; empty if they can be drawn."""
    return "" if can_draw_plots() else _PLOTS_NEED


def draw_figures(report: Report) -> dict[str, str]:
    """SVG of each figure by its id, in light colours; figures that can't be drawn are left out."""
    tables = report.tables()
    drawn: dict[str, str] = {}
    for figure in report.figures():
        if figure.kind == "columns3d":
            drawn[figure.id] = columns_svg(figure, tables[figure.table_id], LIGHT)
        elif can_draw_plots():
            drawn[figure.id] = _plot_svg(figure, tables)
    return drawn


def javascript_bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script that sets ``window.vegaEmbed``; empty without Vega."""
    return str(_renderer().javascript_bundle()) if can_draw_plots() else ""


def themed(svg: str, scheme: Scheme) -> str:
    """The SVG with its colours replaced by the theme's CSS custom properties, for one file in both themes."""
    names = {color: name for name, color in scheme.tokens().items()}
    pattern = re.compile("|".join(re.escape(color) for color in names), re.IGNORECASE)
    return pattern.sub(lambda match: f"var(--{names[match[0].lower()]})", svg)


def _plot_svg(figure: Figure, tables: Mapping[str, Table]) -> str:
    svg: str = _renderer().vegalite_to_svg(vega_lite_spec(figure, tables), config=vega_config(LIGHT))
    return _with_own_identifiers(_with_dots_in_one(_with_short_numbers(svg)), figure.id)


def _with_short_numbers(svg: str) -> str:
    """Places to a hundredth of a pixel: a third of the size, and nothing that an eye or a printer sees."""
    return _COORDINATES.sub(lambda match: _LONG_FRACTION.sub(r"\1", match[0]), svg)


def _with_dots_in_one(svg: str) -> str:
    """Thousands of equal dots as one path: the same picture in a quarter of the size."""

    def joined(dots: re.Match[str]) -> str:
        found = _DOT.findall(dots[0])
        if len({(shape, look) for *_, shape, look in found}) > 1:
            return dots[0]
        *_, shape, look = found[0]
        places = (f"M{float(x) + float(left):.2f},{float(y) + float(up):.2f}" for x, y, left, up, *_ in found)
        return f'<path d="{"".join(place + shape for place in places)}" {look}/>'

    return _DOTS.sub(joined, svg)


def _with_own_identifiers(svg: str, figure_id: str) -> str:
    """Identifiers counted per figure: Vega counts per process, which no two builds would share."""
    for n, identifier in enumerate(dict.fromkeys(_IDENTIFIER.findall(svg))):
        own = f"{figure_id}-{n}"
        svg = svg.replace(f'id="{identifier}"', f'id="{own}"').replace(f"url(#{identifier})", f"url(#{own})")
    return svg


@cache
def _renderer() -> Any:
    """The Vega module, knowing our fonts."""
    vl_convert.register_font_directory(str(FONT_DIRECTORY))
    return vl_convert
