"""Lines that are longer than a terminal is wide: broken between words there, whole in a pipe."""

import shutil
import textwrap
from typing import IO


def wrapped(line: str, stream: IO[str], indent: str = "  ") -> str:
    """The line as ``stream`` shall have it; below a terminal's first line all others are indented.

    Names of files and options stay whole, so that they can be copied.
    """
    if not stream.isatty():
        return line
    return textwrap.fill(
        line,
        shutil.get_terminal_size().columns,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
