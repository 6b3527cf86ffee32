"""The display for files and pipes: one line per thing that happens, and one every half minute."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from openpts.cli.log_lines import event_lines, now_line
from openpts.cli.progress import RunProgress, tracked_iops
from openpts.runner.events import Event, StepFinished, Ticked
from openpts.vocabulary.sample import Sample

_QUIET_S = 30.0


@dataclass(slots=True)
class PlainLog:
    """Says each line once, with the time since the start before it."""

    say: Callable[[str], object]
    progress: RunProgress = field(default_factory=RunProgress)
    _round_samples: list[Sample] = field(default_factory=list)
    _last_line_s: float = 0.0

    def hear(self, event: Event) -> None:
        """Say what the event has to say, if it is something new."""
        self.progress.hear(event)
        for line in self._lines(event):
            self._last_line_s = time.monotonic()
            self.say(f"[{_clock(self.progress.elapsed_s)}] {line}")

    def _lines(self, event: Event) -> list[str]:
        if isinstance(event, Ticked):
            quiet_s = time.monotonic() - self._last_line_s
            return [now_line(self.progress)] if quiet_s >= _QUIET_S else []
        if isinstance(event, StepFinished) and event.round_number is not None:
            return self._round_lines(event.round_number, event)
        return event_lines(event, self.progress)

    def _round_lines(self, round_number: int, event: StepFinished) -> list[str]:
        """A line when the round is whole; 56 steps a minute apart would hide what matters."""
        if event.position == 0:
            self._round_samples.clear()
        self._round_samples.append(event.sample)
        if event.position + 1 < len(self.progress.steps):
            return []
        return [f"round {round_number} done: IOPS {tracked_iops(self.progress, self._round_samples)}"]


def _clock(elapsed_s: float) -> str:
    minutes, seconds = divmod(int(elapsed_s), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{seconds:02}"
