"""Plots of the report's pages for its front: one that shows the answer, and up to three small ones.

They have the same tables; small ones have the same axes with fewer ticks, and no labels inside.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from openpts.procedures.registry import procedure_of
from openpts.report.run_part import RunPart
from openpts_pages.model import Axis, Figure, Series
from openpts_pages.texts import capitalised

_MOST: Final = 3
_MOST_TICKS: Final = 4
_MOST_SERIES: Final = 6
_LEAD_HEIGHT_PX: Final = 260
_WIDTH_PX: Final = 240
_HEIGHT_PX: Final = 190


def lead_figure(part: RunPart) -> Figure | None:
    """The first of the plots that the test has for its summary, or of its report, titled by its finding."""
    names = [name for _, name in sorted(procedure_of(part.test).trends.items())]
    found = [figure for name in names if (figure := _found(part, name)) is not None]
    figure = next(iter(found or _figures(part)), None)
    if figure is None:
        return None
    title = capitalised(figure.finding) or figure.title
    series = _at_most(figure.series, _MOST_SERIES)
    shown = f", {len(series)} of {len(figure.series)} shown" if len(series) < len(figure.series) else ""
    return replace(
        figure,
        id=f"lead-{figure.id}",
        title=title,
        alt=f"{title}: {figure.title}{shown}",
        series=series,
        height_px=_LEAD_HEIGHT_PX,
        zoom_group="",
    )


def _at_most(series: Sequence[Series], most: int) -> tuple[Series, ...]:
    """Series with emphasis, and of the others some all over their order."""
    if len(series) <= most:
        return tuple(series)
    others = [place for place, one in enumerate(series) if not one.emphasis]
    left = most - (len(series) - len(others))
    kept = {others[round(n * (len(others) - 1) / max(left - 1, 1))] for n in range(left)}
    return tuple(one for place, one in enumerate(series) if one.emphasis or place in kept)


def trend_figures(parts: Sequence[RunPart]) -> list[Figure]:
    """The first of the plots that the tests have for it, as far as the report has them.

    Several runs of a test have the same plot side by side: where it does not fit for all of them, the next
    one is taken. The first plot is there in any case, of as many runs as fit.
    """
    trends = sorted({trend for part in parts for trend in procedure_of(part.test).trends.items()})
    found: list[Figure] = []
    for _, name in trends:
        of_runs = [figure for part in parts if (figure := _of_run(part, name)) is not None]
        if not found or len(found) + len(of_runs) <= _MOST:
            found += of_runs[:_MOST]
    return found


def _figures(part: RunPart) -> Iterator[Figure]:
    blocks = (block for section in part.sections for page in section.pages for block in page.blocks)
    return (block for block in blocks if isinstance(block, Figure))


def _found(part: RunPart, name: str) -> Figure | None:
    identifier = f"{part.prefix}{name}"
    return next((figure for figure in _figures(part) if figure.id == identifier), None)


def _of_run(part: RunPart, name: str) -> Figure | None:
    figure = _found(part, name)
    return figure and _small(figure, f"See {figure.number}{f' {part.name}' if part.prefix else ''}")


def _small(figure: Figure, number: str) -> Figure:
    return replace(
        figure,
        id=f"trend-{figure.id}",
        number=number,
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
