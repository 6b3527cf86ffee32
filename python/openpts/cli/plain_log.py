"""The display for files and pipes: one line per thing that happens, and one every half minute."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from openpts.cli.log_lines import event_lines, now_line
from openpts.cli.progress import RunProgress
from openpts.runner.events import Event, PurgeProgressed, Ticked

_QUIET_S = 30.0
_WITHOUT_A_RATE_S = 35.0  # a step that has just begun has none yet: many last for half a minute as well


@dataclass(slots=True)
class PlainLog:
    """Says each line once, with the time since the start before it."""

    say: Callable[[str], object]
    progress: RunProgress = field(default_factory=RunProgress)
    _last_line_s: float = 0.0

    def hear(self, event: Event) -> None:
        """Say what the event has to say, if it is something new."""
        self.progress.hear(event)
        for line in self._lines(event):
            self._last_line_s = time.monotonic()
            self.say(f"[{_clock(self.progress.elapsed_s)}] {line}")

    def _lines(self, event: Event) -> list[str]:
        if isinstance(event, Ticked | PurgeProgressed):
            waits = isinstance(event, Ticked) and not self.progress.has_rate
            quiet_s = _WITHOUT_A_RATE_S if waits else _QUIET_S
            if time.monotonic() - self._last_line_s < quiet_s:
                return []
        return [now_line(self.progress)] if isinstance(event, Ticked) else event_lines(event, self.progress)


def _clock(elapsed_s: float) -> str:
    minutes, seconds = divmod(int(elapsed_s), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{seconds:02}"
