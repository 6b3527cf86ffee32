"""Where tables are printed: a terminal, or a pipe, which nobody told how wide it is."""

import os
from typing import IO

from rich.console import Console

from openpts.cli.visible_console import VisibleConsole

_PIPE_COLUMNS = 200


def table_console(stream: IO[str] | None = None, *, pipe_columns: int = _PIPE_COLUMNS) -> Console:
    """A console on ``stream``, or standard output, that prints texts as they are.

    Into a pipe it writes lines of ``pipe_columns``, unless ``COLUMNS`` says how long they may be: the 80
    that rich takes otherwise would cut what a script wants to read.
    """
    console = VisibleConsole(stream, markup=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = pipe_columns
    return console
