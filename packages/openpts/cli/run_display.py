"""The displays of a run: a panel that is redrawn on terminals, lines for files and pipes."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

import click
from msgspec import Struct, field
from rich.console import Group
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from openpts.cli.console import live_console
from openpts.cli.log_lines import elapsed_text, event_lines, left_text, now_line, rate_text
from openpts.cli.terminal import can_be_drawn_over
from openpts.cli.verdict_lines import steady_state_lines
from openpts.runner.events import Event, Listener, PurgeProgressed, RunPaused, Ticked
from openpts.runner.progress import RunProgress

_QUIET_S = 30.0
_WITHOUT_A_RATE_S = 35.0  # a step that has just begun has none yet: many last for half a minute as well


class PlainLog(Struct):
    """Says each line once, with the time since the start before it.

    ``before_s`` is the time since the start of a batch when its run begins. Without ``ticks`` nothing is said
    of progress, which a panel shows.
    """

    say: Callable[[str], object]
    before_s: float = 0.0
    ticks: bool = True
    progress: RunProgress = field(default_factory=RunProgress)
    _last_line_s: float = 0.0

    def on_event(self, event: Event) -> None:
        """Say what the event has to say, if it is something new."""
        self.progress.on_event(event)
        for line in self._lines(event):
            self._last_line_s = time.monotonic()
            self.say(f"[{clock_text(self.before_s + self.progress.elapsed_s)}] {line}")

    def _lines(self, event: Event) -> list[str]:
        if isinstance(event, Ticked) and not self.ticks:
            return []
        if isinstance(event, Ticked | PurgeProgressed | RunPaused):
            waits = isinstance(event, Ticked) and not self.progress.has_rate
            quiet_s = _WITHOUT_A_RATE_S if waits else _QUIET_S
            if time.monotonic() - self._last_line_s < quiet_s:
                return []
        return [now_line(self.progress)] if isinstance(event, Ticked) else event_lines(event, self.progress)


def clock_text(elapsed_s: float) -> str:
    """Before a line of a log."""
    minutes, seconds = divmod(int(elapsed_s), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{seconds:02}"


_LONGEST_LABEL = "Steady state"


@contextmanager
def live_display(stream: IO[str]) -> Iterator[Listener]:
    """The panel, which is gone afterwards; what is finished is printed above it, and stays."""
    log = PlainLog(lambda line: console.print(Text(line)), ticks=False)
    with live_console(stream, lambda _console: render_panel(log.progress)) as console:
        yield log.on_event


def render_panel(progress: RunProgress) -> Group:
    """Phase, step, rate, progress, time and steady state."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True, min_width=len(_LONGEST_LABEL))
    grid.add_column(no_wrap=True, overflow="ellipsis")
    grid.add_row("Phase", progress.phase)
    step = progress.step_text
    grid.add_row("Step", f"{progress.position + 1} of {len(progress.steps)}   {step}" if step else "-")
    counted_later = progress.conditions is not None and progress.conditions.planned_lines
    grid.add_row("Now", "-" if counted_later else rate_text(progress))
    grid.add_row("Done", ProgressBar(total=1.0, completed=progress.phase_fraction, width=50))
    grid.add_row("Time", elapsed_text(progress))
    grid.add_row("", left_text(progress))
    # As many rows as there will ever be: a panel that grows would write over the line above it.
    verdicts = steady_state_lines(progress, limits=False)
    tracked = progress.conditions.most_verdicts if progress.conditions else 0
    for row in range(max(tracked, len(verdicts))):
        grid.add_row("" if row else _LONGEST_LABEL, verdicts[row] if row < len(verdicts) else "")
    return Group(Text(), grid)


@contextmanager
def shown_on(stream: IO[str]) -> Iterator[Listener]:
    """The panel on a terminal that it can be drawn on, the log anywhere else."""
    if can_be_drawn_over(stream):
        with live_display(stream) as on_event:
            yield on_event
    else:
        yield PlainLog(lambda line: click.echo(line, file=stream)).on_event
