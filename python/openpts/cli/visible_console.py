"""A console of rich on which only rich itself controls the terminal."""

import sys
from collections.abc import Iterable
from typing import IO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from openpts.cli.broken_pipe import with_controls
from openpts.visible_text import visible


class VisibleConsole(Console):
    """Prints on a stream, or standard output; what texts have of control characters is written out."""

    def __init__(self, stream: IO[str] | None = None, *, markup: bool = True) -> None:
        super().__init__(file=with_controls(stream or sys.stdout), highlight=False, markup=markup)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """As rich does, with every text visible."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)
