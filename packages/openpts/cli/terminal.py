"""Output that differs between a terminal and a pipe: lines that fit the width, and displays that redraw."""

import os
import textwrap
from typing import IO, Final

import click

from openpts.cli.broken_pipe import with_controls

# What Emacs and continuous integration call a terminal that knows no cursor.
_WITHOUT_CURSOR: Final = {"dumb", "unknown"}
_USUAL_COLUMNS: Final = 80
BELOW_LABELS: Final = " " * 12
"""Indent of what is below a label of a plan."""


def can_be_drawn_over(stream: IO[str]) -> bool:
    """Whether a display that changes in its place can be shown there; else lines tell the same."""
    return stream.isatty() and os.environ.get("TERM", "").lower() not in _WITHOUT_CURSOR


def draw_over(stream: IO[str], text: str = "") -> None:
    """Put the text in the place of the last line of a terminal; nothing where lines can't be drawn over."""
    if can_be_drawn_over(stream):
        click.echo("\r\x1b[K", nl=False, file=with_controls(stream))
        click.echo(text, nl=False, file=stream)


def wrapped(line: str, stream: IO[str], indent: str = "  ") -> str:
    """The line as ``stream`` shall have it: whole in a pipe, broken between words at a terminal.

    All lines below the first are indented. Names of files and options stay whole, so that they can be copied.
    """
    if not stream.isatty():
        return line
    columns = os.get_terminal_size(stream.fileno()).columns or _USUAL_COLUMNS
    return textwrap.fill(
        line, columns, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
