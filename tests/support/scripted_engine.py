"""An engine that measures nothing and remembers everything, for the driver's own behavior."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace as with_changes

from openpts._native import Histogram
from openpts.engine.contract import EngineProgress, EngineStoppedError, OutstandingIo
from openpts.vocabulary.facts import Facts
from openpts.vocabulary.sample import (
    NOTHING,
    Interval,
    IoErrors,
    IoFailure,
    OperationSample,
    Sample,
    StepState,
)
from openpts.vocabulary.stimulus import Step
from tests.support.interval_samples import sample_of


def complete(step: Step) -> Sample:
    """A plausible result of a step: 1000 writes in a second."""
    histogram = Histogram()
    histogram.record(1000, 1000)
    writes = OperationSample(
        1000, 1000 * step.stimulus.block_size_bytes, 10**6, 1000, 1000, histogram.encode()
    )
    return sample_of(step, write=writes)


def complete_with_errors(step: Step) -> Sample:
    """A result of an engine that went on over three writes and a flush that failed."""
    return with_changes(
        complete(step),
        errors=(
            IoErrors("write", "Input/output error (os error 5)", 3, (4096, 8192, 512)),
            IoErrors("flush", "Remote I/O error (os error 121)", 1, ()),
        ),
    )


def failed(step: Step) -> Sample:
    """A result whose first I/O failed."""
    failure = IoFailure("write", 4096, 512, "Input/output error (os error 5)")
    return with_changes(
        complete(step),
        state=StepState.FAILED,
        ended_by=None,
        elapsed_ns=0,
        write=NOTHING,
        failure=failure,
        errors=(IoErrors("write", failure.reason, 1, (4096,)),),
    )


@dataclass
class ScriptedEngine:
    """``outcome`` makes the sample of a step; it may raise what Ctrl-C raises.

    ``waits`` are the oldest outstanding I/Os of as many polls that end without a sample, before the first.
    """

    outcome: Callable[[Step], Sample] = complete
    waits: deque[OutstandingIo | None] = field(default_factory=deque)
    happened: list[str] = field(default_factory=list)
    facts: Facts = field(default_factory=dict)
    _waiting: deque[Step] = field(default_factory=deque)
    _stopped: bool = False
    _handed_over: int = 0

    def check(self, steps: Sequence[Step]) -> None:
        self.happened.append(f"check {len(steps)}")

    def submit(self, steps: Sequence[Step]) -> None:
        self.happened.append(f"submit {len(steps)}")
        self._waiting.extend(steps)

    def poll(self, timeout_s: float) -> Sample | None:
        if self._stopped:
            raise EngineStoppedError("stopped")
        if self.waits:
            return None
        sample = self.outcome(self._waiting[0])
        self._waiting.popleft()
        self._handed_over += 1
        if sample.state is not StepState.COMPLETE:
            self._stopped = True
        return sample

    def progress(self) -> EngineProgress:
        return EngineProgress(self._handed_over, 0, 0, 0, self.waits.popleft() if self.waits else None)

    def new_intervals(self) -> tuple[Interval, ...]:
        return ()

    def stop(self) -> None:
        self.happened.append("stop")
        self._stopped = True
