"""Up to three small plots for the executive summary: course, response times and demand at a glance.

They are plots of the report's pages drawn small: same tables, same axes with fewer ticks, no labels inside.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from openpts.pages.model import Axis, Figure, Section

# The first three of a report; the further ones are for reports on a single test.
_WANTED: Final = (
    "wsat-iops-time-plot",
    "lat-clp-plot",
    "dirth-7-plot",
    "cbw-7-plot",
    "hir-3-plot",
    "xsr-1-tp-plot",
    "iops-a1-rw0-plot",
    "iops-a7-plot",
    "tp-1024-write-plot",
    "tp-128-write-plot",
    "lat-convergence-rw0-plot",
    "lat-levels-plot",
    "wsat-clp-plot",
    "hir-1-plot",
    "xsr-4-art-plot",
    "cbw-4-plot",
    "dirth-4-plot",
)
_MOST: Final = 3
_MOST_TICKS: Final = 4
_WIDTH_PX: Final = 240
_HEIGHT_PX: Final = 190


def trend_figures(sections: Iterable[Section]) -> list[Figure]:
    """Those of the wanted plots that the report has."""
    figures = {
        block.id: block
        for section in sections
        for page in section.pages
        for block in page.blocks
        if isinstance(block, Figure)
    }
    found = [figures[name] for name in _WANTED if name in figures]
    return [_small(figure) for figure in found[:_MOST]]


def _small(figure: Figure) -> Figure:
    return replace(
        figure,
        id=f"trend-{figure.id}",
        number=f"See {figure.number}",
        x=_few_ticks(figure.x),
        y=_few_ticks(figure.y),
        y2=None,
        series=tuple(
            replace(series, label="", emphasis=False) for series in figure.series if not series.second_axis
        ),
        rules=(),
        bands=(),
        marks=(),
        width_px=_WIDTH_PX,
        height_px=_HEIGHT_PX,
        zoom_group="",
    )


def _few_ticks(axis: Axis) -> Axis:
    """Every n-th tick from the first on; labels go with their ticks."""
    kept = _every(axis.ticks)
    labels = tuple(axis.labels[axis.ticks.index(tick)] for tick in kept) if axis.labels else ()
    return replace(axis, ticks=kept, labels=labels)


def _every(ticks: Sequence[float]) -> tuple[float, ...]:
    step = -(-len(ticks) // _MOST_TICKS)
    return tuple(ticks[::step]) if step else ()
