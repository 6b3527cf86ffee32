"""Consoles of rich on which only rich itself controls the terminal, and where tables are printed."""

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import IO, cast

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.live import Live
from rich.segment import Segment
from rich.table import Column, Table
from rich.text import Text

from openpts.cli.standard_streams import TextFilter, with_controls
from openpts.escaped_text import visible


class VisibleConsole(Console):
    """Prints on a stream, or standard output; what texts have of control characters is written out."""

    def __init__(self, stream: IO[str] | None = None, *, markup: bool = True) -> None:
        super().__init__(file=with_controls(stream or sys.stdout), highlight=False, markup=markup)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """As rich does, with every text visible."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


@contextmanager
def live_console(
    stream: IO[str], drawn: Callable[[VisibleConsole], RenderableType], times_per_s: int = 8
) -> Iterator[VisibleConsole]:
    """Yield a console; what is drawn below its lines is gone at the end, and the lines stay."""
    console = VisibleConsole(stream)
    with Live(
        console=console, get_renderable=lambda: drawn(console), refresh_per_second=times_per_s, transient=True
    ):
        yield console


_PIPE_COLUMNS = 200
_GAP = 2
_BLANKS_AT_THE_END = re.compile(" +\n")


class _Trimmed(TextFilter):
    """A stream without the blanks that fill up the last cells: lines would be longer than what is in them."""

    def change(self, text: str) -> str:
        """No blank before the end of a line."""
        return _BLANKS_AT_THE_END.sub("\n", text)


def table_console(stream: IO[str] | None = None, *, pipe_columns: int = _PIPE_COLUMNS) -> Console:
    """A console on ``stream``, or standard output, that prints texts as they are.

    Into a pipe it writes lines of ``pipe_columns``, unless ``COLUMNS`` says how long they may be: the 80
    that rich takes otherwise would cut what a script wants to read.
    """
    trimmed = cast("IO[str]", _Trimmed(with_controls(stream or sys.stdout)))
    console = VisibleConsole(trimmed, markup=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = pipe_columns
    return console


class _Fitting(Table):
    """A table without as many of the columns ``left_out``, in that order, as break words otherwise."""

    left_out: tuple[str, ...] = ()
    readable: int = 0

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """As rich does."""
        for heading in self.left_out:
            *others, last = map(_least_width, self.columns)
            if sum(others) + max(last - _GAP, self.readable) <= options.max_width:
                break
            kept = [column for column in self.columns if column.header != heading]
            # by its number rich pads a column, or not as the last one
            self.columns = [replace(column, _index=number) for number, column in enumerate(kept)]
        yield from super().__rich_console__(console, options)


def _least_width(column: Column) -> int:
    """Of a column that breaks no word, with its gap."""
    texts = [cell.plain if isinstance(cell, Text) else str(cell) for cell in (column.header, *column.cells)]
    return (
        max(len(part) for text in texts for part in ([text] if column.no_wrap else text.split() or [""]))
        + _GAP
    )


def table_of(*headings: str, left_out: tuple[str, ...] = (), readable: int = 0) -> Table:
    """Columns by their headings; one that begins with ``>`` has numbers, with ``=`` what is copied.

    Where words would be broken, or the last column has less than ``readable`` characters, the columns
    ``left_out`` are, the first of them first.
    """
    table = _Fitting(box=None, padding=(0, _GAP, 0, 0), pad_edge=False)
    table.left_out, table.readable = left_out, readable
    for heading in headings:
        number, no_wrap = heading.startswith(">"), heading[:1] in {">", "="}
        table.add_column(
            heading.lstrip(">="),
            justify="right" if number else "left",
            no_wrap=no_wrap,
            overflow="ellipsis" if no_wrap else "fold",  # the end of a path tells drives apart
        )
    return table
