"""What every engine offers: steps in, samples out; and one of tests without steps."""

from collections.abc import Sequence
from typing import NoReturn, Protocol

from msgspec import Struct

from openpts.engine.options import CaptureSummary
from openpts.vocabulary.facts import Fact, Facts
from openpts.vocabulary.sample import Interval, Sample
from openpts.vocabulary.stimulus import Step


class OutstandingIo(Struct, frozen=True):
    """An I/O that the device has not answered yet."""

    age_ns: int
    operation: str
    offset_bytes: int
    length_bytes: int


class EngineProgress(Struct, frozen=True):
    """Progress of the engine, for a display: counters since it was opened, all steps together.

    ``step_elapsed_ns`` is on the engine's own clock, as all times in samples are: that of a simulated drive
    runs as fast as the simulation does. ``oldest`` is the I/O that waits longest for its answer, if the
    engine can tell: one that hangs is seen while it hangs.
    """

    steps_begun: int
    step_elapsed_ns: int
    ios: int
    bytes: int
    oldest: OutstandingIo | None = None


class EngineStoppedError(Exception):
    """The engine was stopped, or an I/O failed: it takes no more steps and has no more samples."""


class Engine(Protocol):
    """A load generator on one open target."""

    @property
    def facts(self) -> Facts:
        """What the engine is and what it found, for the record."""

    def check(self, steps: Sequence[Step]) -> None:
        """Look whether ``submit`` would take these steps, without queueing them.

        Raises UsageError, which names the step by its position and the value, if one makes no sense on this
        target, needs more than the engine was opened for, or is to be captured where nothing captures.
        """

    def submit(self, steps: Sequence[Step]) -> None:
        """Queue steps behind those that wait; there is no idle time between them.

        Raises UsageError where ``check`` does, EngineStoppedError after a failure.
        """

    def poll(self, timeout_s: float) -> Sample | None:
        """Wait for the next finished step, in the order submitted; None if there is none in time.

        Raises EngineStoppedError when nothing more will come.
        """

    def progress(self) -> EngineProgress:
        """The progress of the engine."""

    def new_intervals(self) -> tuple[Interval, ...]:
        """Intervals of the step that runs that have ended since the last call, for a display.

        Empty for an engine that knows them only at the end. All of them are in the step's sample as well.
        """

    def stop(self) -> None:
        """End the step that runs and forget those that wait; the sample of the former still comes."""


class CapturingEngine(Engine, Protocol):
    """An engine that can keep every single I/O of the steps that ask for it in files."""

    @property
    def cpus(self) -> tuple[int, ...]:
        """Processors that its threads are pinned to; empty if they may be anywhere, or on none."""

    def finish(self) -> CaptureSummary | None:
        """Stop, and complete the files of the capture, if there is one.

        Raises RecordError if not every I/O is in them.
        """


class NoSteps:
    """Implements openpts.engine.contract.CapturingEngine without steps; ``why`` says what does the I/O."""

    def __init__(self, why: str = "a program of the operator's does the I/O") -> None:
        self._why = why

    @property
    def facts(self) -> Facts:
        return {"engine": Fact(f"none: {self._why}", "openpts")}

    def check(self, steps: Sequence[Step]) -> None:
        """See the contract: steps are only for the plan."""

    def submit(self, steps: Sequence[Step]) -> NoReturn:
        raise EngineStoppedError(f"{len(steps)} steps for an engine that runs none")

    def poll(self, timeout_s: float) -> Sample | None:
        raise EngineStoppedError(f"nothing will come within {timeout_s} s")

    def progress(self) -> EngineProgress:
        return EngineProgress(0, 0, 0, 0)

    def new_intervals(self) -> tuple[Interval, ...]:
        return ()

    def stop(self) -> None:
        pass

    @property
    def cpus(self) -> tuple[int, ...]:
        return ()

    def finish(self) -> CaptureSummary | None:
        return None
