"""Draws figures as SVG: the plots through Vega, 3D columns by themselves."""

import re
from collections.abc import Mapping
from functools import cache

from openpts.pages.model import Figure, Report, Table
from openpts.plots.columns3d import columns_svg
from openpts.plots.drawing_cache import kept_drawing, made_drawing
from openpts.plots.drawing_pool import DrawingPool
from openpts.plots.theme import LIGHT, Scheme
from openpts.plots.vega_lite import vega_lite_spec
from openpts.plots.vega_svg import of_figure, spec_json


def draw_figures(report: Report, pool: DrawingPool | None = None) -> dict[str, str]:
    """SVG of each figure by its id, in light colors.

    With a ``pool`` its processes draw, else this one.
    """
    tables = report.tables()
    if pool is not None:
        pool.begin(report.pages())
    drawn: dict[str, str] = {}
    for figure in report.figures():
        if figure.kind == "columns3d":
            drawn[figure.id] = columns_svg(figure, tables[figure.table_id], LIGHT)
        else:
            drawn[figure.id] = _plot_svg(figure, tables) if pool is None else pool.plot_svg(figure, tables)
    return drawn


def _plot_svg(figure: Figure, tables: Mapping[str, Table]) -> str:
    spec = spec_json(vega_lite_spec(figure, tables))
    return of_figure(kept_drawing(spec) or made_drawing(spec), figure.id)


def themed(svg: str, scheme: Scheme) -> str:
    """The SVG with its colors replaced by the theme's CSS custom properties, for one file in both themes."""
    names, pattern = _colors(scheme)
    return pattern.sub(lambda match: f"var(--{names[match[0].lower()]})", svg)


@cache
def _colors(scheme: Scheme) -> tuple[dict[str, str], re.Pattern[str]]:
    names = {color: name for name, color in scheme.tokens().items()}
    return names, re.compile("|".join(re.escape(color) for color in names), re.IGNORECASE)
