"""What `openpts io` has measured, and its two ways out: a JSON object, or tables."""

import json
from dataclasses import dataclass, field
from typing import IO

from openpts.cli.io_json import measurement_json
from openpts.cli.io_summary import print_summary
from openpts.cli.visible_console import VisibleConsole
from openpts.runner.measure import (
    CaptureEnded,
    CaptureFailed,
    MeasurementEnded,
    MeasurementEvent,
    MeasurementStarted,
)
from openpts.runner.step_faults import failure_text
from openpts.vocabulary.sample import Sample, StepState


@dataclass(slots=True)
class MeasurementResults:
    """Keeps what a result needs of the events."""

    started: dict[int, MeasurementStarted] = field(default_factory=dict)
    ended: dict[int, Sample] = field(default_factory=dict)
    captures: dict[int, CaptureEnded] = field(default_factory=dict)
    lost_captures: list[str] = field(default_factory=list)

    def hear(self, event: MeasurementEvent) -> None:
        """Take in one event."""
        match event:
            case MeasurementStarted(number):
                self.started[number] = event
            case MeasurementEnded(number, sample):
                self.ended[number] = sample
            case CaptureEnded(number):
                self.captures[number] = event
            case CaptureFailed(number, reason):
                self.lost_captures.append(f"{self.started[number].target.path}: {reason}")

    @property
    def failures(self) -> list[str]:
        """A line for each target on which an I/O failed that was not allowed to."""
        return [
            f"{self.started[number].target.path}: {failure_text(sample)}"
            for number, sample in sorted(self.ended.items())
            if sample.state is StepState.FAILED
        ]

    def print(self, stream: IO[str], *, as_json: bool) -> None:
        """Print all that was measured: one target as an object, several as ``{"targets": [...]}``."""
        measured = [
            (self.started[number], sample, self.captures.get(number))
            for number, sample in sorted(self.ended.items())
        ]
        if as_json:
            objects = [measurement_json(*one) for one in measured]
            whole = objects[0] if len(self.started) == 1 else {"targets": objects}
            print(json.dumps(whole, indent=2, allow_nan=False), file=stream)
            return
        console = VisibleConsole(stream)
        for one in measured:
            print_summary(console, *one, alone=len(self.started) == 1)
