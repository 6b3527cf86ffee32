"""What happens while something is measured without a test around it; ``number`` is that of the order."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from openpts.engine.contract import EngineProgress, OutstandingIo
from openpts.engine.options import CaptureSummary
from openpts.vocabulary.facts import Facts, TargetFacts
from openpts.vocabulary.sample import Interval, Sample
from openpts.vocabulary.stimulus import Step


@dataclass(frozen=True, slots=True)
class MeasurementStarted:
    """The engine is ready on the target; ``notes`` are remarks on it for the operator."""

    number: int
    target: TargetFacts
    step: Step
    engine: Facts
    seed: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IntervalsEnded:
    """Intervals that have ended since the last ones."""

    number: int
    intervals: tuple[Interval, ...]


@dataclass(frozen=True, slots=True)
class MeasurementTicked:
    """A fraction of a second has passed."""

    number: int
    progress: EngineProgress


@dataclass(frozen=True, slots=True)
class OutstandingIoHangs:
    """An I/O has not been answered for seconds; reported again each time that its age has doubled."""

    number: int
    io: OutstandingIo


@dataclass(frozen=True, slots=True)
class MeasurementEnded:
    """The measurement is over, by its rule, by a failure or by the operator."""

    number: int
    sample: Sample


@dataclass(frozen=True, slots=True)
class CaptureEnded:
    """The files with every single I/O are complete."""

    number: int
    folder: Path
    summary: CaptureSummary


@dataclass(frozen=True, slots=True)
class CaptureFailed:
    """Not every single I/O is in the files; the measurement itself is whole."""

    number: int
    reason: str


MeasurementEvent = (
    MeasurementStarted
    | IntervalsEnded
    | MeasurementTicked
    | OutstandingIoHangs
    | MeasurementEnded
    | CaptureEnded
    | CaptureFailed
)
MeasurementListener = Callable[[MeasurementEvent], None]
