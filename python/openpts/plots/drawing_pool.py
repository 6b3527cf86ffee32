"""Draws plots in processes of their own, while this one reads records and makes pages.

Vega runs on one processor and holds the interpreter meanwhile. A drawing depends on its specification
alone, so it is the same whichever process makes it, however many there are, and whether it was kept.
"""

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from queue import LifoQueue
from types import TracebackType
from typing import Self

import msgspec

from openpts.pages.model import Figure, Page, Table
from openpts.plots.drawing_cache import anything_kept, kept_drawing, made_drawing
from openpts.plots.vega_bundle import libraries_are_kept
from openpts.plots.vega_lite import vega_lite_spec
from openpts.plots.vega_svg import can_draw_plots, of_figure, spec_json

_MOST_PROCESSES = 8
_COMMAND = (sys.executable, "-P", "-m", "openpts.plots.drawing_process")


class DrawingPool:
    """Processes that draw, as many as processors unless ``processes`` says otherwise.

    They start when the first drawing is asked for that is not kept, or at once where none is kept at all, and
    end with the ``with`` block. Where none can be started, or one ends by itself, plots are drawn in this
    process.
    """

    def __init__(self, processes: int | None = None) -> None:
        count = processes or min(len(os.sched_getaffinity(0)), _MOST_PROCESSES)
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="openpts-drawing")
        self._idle: LifoQueue[_Process] = LifoQueue()  # those that were started go first
        self._processes = [_Process() for _ in range(count)]
        at_once = not anything_kept()
        for process in self._processes:
            self._idle.put(process)
            if at_once:
                process.start()
        self._begun: dict[tuple[int, ...], Future[str]] = {}
        self._kept: list[object] = []  # what the keys of _begun are the identities of

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._threads.shutdown(cancel_futures=kind is not None)
        for process in self._processes:
            process.end()

    def begin_libraries(self) -> None:
        """Have the libraries of pages put together beside all else, where they aren't kept yet."""
        if can_draw_plots() and not libraries_are_kept():
            self._threads.submit(self._drawn, "")

    def begin(self, pages: Iterable[Page]) -> None:
        """Start to draw the plots of pages that are ready, before the rest of the report is."""
        blocks = [block for page in pages for block in page.blocks]
        tables = {block.id: block for block in blocks if isinstance(block, Table)}
        for figure in blocks:
            if isinstance(figure, Figure) and figure.kind != "columns3d" and can_draw_plots():
                self._plot(figure, tables)

    def plot_svg(self, figure: Figure, tables: Mapping[str, Table]) -> str:
        """The SVG of a figure of any kind but columns3d. Raises ValueError if Vega refuses it."""
        return of_figure(self._plot(figure, tables).result(), figure.id)

    def _plot(self, figure: Figure, tables: Mapping[str, Table]) -> Future[str]:
        drawn = (figure, tables[figure.table_id], tables.get(figure.detail_table_id))
        key = tuple(map(id, drawn))
        if key not in self._begun:
            self._kept.append(drawn)
            self._begun[key] = self._drawing(spec_json(vega_lite_spec(figure, tables)))
        return self._begun[key]

    def _drawing(self, spec: str) -> Future[str]:
        if not (kept := kept_drawing(spec)):
            return self._threads.submit(self._drawn, spec)
        known: Future[str] = Future()
        known.set_result(kept)
        return known

    def _drawn(self, spec: str) -> str:
        process = self._idle.get()
        try:
            return process.draw(spec)
        finally:
            self._idle.put(process)


class _Process:
    """One process, asked by one thread at a time."""

    def __init__(self) -> None:
        self._popen: subprocess.Popen[bytes] | None = None
        self._was_started = False

    def start(self) -> None:
        if not self._was_started:
            self._popen = _started()
            self._was_started = True

    def draw(self, spec: str) -> str:
        self.start()
        reply = self._reply(f"{spec}\n".encode())
        if not reply:
            return made_drawing(spec) if spec else ""
        answer = msgspec.json.decode(reply, type=dict[str, str])
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer["svg"]

    def end(self) -> None:
        if self._popen is not None:
            self._popen.communicate()

    def _reply(self, request: bytes) -> bytes:
        """A line, or nothing from a process that has ended."""
        if self._popen is None or self._popen.stdin is None or self._popen.stdout is None:
            return b""
        try:
            self._popen.stdin.write(request)
            self._popen.stdin.flush()
            return self._popen.stdout.readline()
        except OSError:
            return b""


def _started() -> subprocess.Popen[bytes] | None:
    if not can_draw_plots():
        return None
    try:
        # in a group of its own, or Ctrl-C at a terminal would reach it before it can ignore that
        return subprocess.Popen(_COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0)
    except OSError:
        return None
