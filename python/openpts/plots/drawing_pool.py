"""Draws plots in other processes, while this one reads records and makes pages.

Vega runs on one processor and holds the interpreter meanwhile. A drawing depends on its specification
alone, so it is the same whichever process makes it, however many there are, and whether it was kept.
"""

from collections.abc import Iterable, Mapping
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool

from openpts.pages.model import Figure, Page, Table
from openpts.plots.drawing_cache import (
    anything_kept,
    javascript_bundle,
    kept_drawing,
    libraries_are_kept,
    made_drawing,
)
from openpts.plots.vega_lite import vega_lite_spec
from openpts.plots.vega_svg import of_figure, spec_json, start_renderer


class DrawingPool:
    """Drawings that ``workers`` make; where one of them ends by itself, plots are drawn in this process."""

    def __init__(self, workers: Executor) -> None:
        self._workers = workers
        self._begun: dict[tuple[int, ...], tuple[str, Future[str]]] = {}
        self._kept: list[object] = []  # what the keys of _begun are the identities of
        self._libraries: Future[str] | None = None

    def prepare(self, *, libraries: bool) -> None:
        """Have the libraries of pages put together beside all else, and Vega started, as far as not kept."""
        if libraries and not libraries_are_kept():
            self._libraries = self._workers.submit(javascript_bundle)
        if not anything_kept():
            self._workers.submit(start_renderer)

    def wait_for_libraries(self) -> None:
        """Until they are put together, if that was begun."""
        if self._libraries is not None:
            self._libraries.exception()

    def begin(self, pages: Iterable[Page]) -> None:
        """Start to draw the plots of pages that are ready, before the rest of the report is."""
        blocks = [block for page in pages for block in page.blocks]
        tables = {block.id: block for block in blocks if isinstance(block, Table)}
        for figure in blocks:
            if isinstance(figure, Figure) and figure.kind != "columns3d":
                self._plot(figure, tables)

    def plot_svg(self, figure: Figure, tables: Mapping[str, Table]) -> str:
        """The SVG of a figure of any kind but columns3d. Raises ValueError if Vega refuses it."""
        spec, drawing = self._plot(figure, tables)
        try:
            drawn = drawing.result()
        except BrokenProcessPool:
            drawn = made_drawing(spec)
        return of_figure(drawn, figure.id)

    def _plot(self, figure: Figure, tables: Mapping[str, Table]) -> tuple[str, Future[str]]:
        drawn = (figure, tables[figure.table_id], tables.get(figure.detail_table_id))
        key = tuple(map(id, drawn))
        if key not in self._begun:
            self._kept.append(drawn)
            spec = spec_json(vega_lite_spec(figure, tables))
            self._begun[key] = spec, self._drawing(spec)
        return self._begun[key]

    def _drawing(self, spec: str) -> Future[str]:
        known: Future[str] = Future()
        if kept := kept_drawing(spec):
            known.set_result(kept)
            return known
        try:
            return self._workers.submit(made_drawing, spec)
        except BrokenProcessPool as error:
            known.set_exception(error)
            return known
