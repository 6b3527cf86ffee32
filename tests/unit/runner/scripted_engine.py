"""An engine that measures nothing and remembers everything, for the driver's own behaviour."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from openpts._native import Histogram
from openpts.engine.contract import EngineProgress, EngineStoppedError
from openpts.vocabulary.facts import Facts
from openpts.vocabulary.sample import DirectionSample, IoFailure, Sample, StepState
from openpts.vocabulary.stimulus import Step

EMPTY = Histogram().encode()


def complete(step: Step) -> Sample:
    """A plausible result of a step: 1000 writes in a second."""
    histogram = Histogram()
    histogram.record(1000, 1000)
    writes = DirectionSample(
        1000, 1000 * step.stimulus.block_size_bytes, 10**6, 1000, 1000, histogram.encode()
    )
    return Sample(
        step,
        StepState.COMPLETE,
        0,
        10**9,
        0,
        DirectionSample(0, 0, 0, None, None, EMPTY),
        writes,
        10**9,
        (),
        None,
        None,
    )


def failed(step: Step) -> Sample:
    """A result whose first I/O failed."""
    nothing = DirectionSample(0, 0, 0, None, None, EMPTY)
    failure = IoFailure("write", 4096, 512, "Input/output error (os error 5)")
    return Sample(step, StepState.FAILED, 0, 0, 0, nothing, nothing, 10**9, (), None, failure)


@dataclass
class ScriptedEngine:
    """``outcome`` makes the sample of a step; it may raise what Ctrl-C raises."""

    outcome: Callable[[Step], Sample] = complete
    happened: list[str] = field(default_factory=list)
    facts: Facts = field(default_factory=dict)
    _waiting: deque[Step] = field(default_factory=deque)
    _stopped: bool = False
    _handed_over: int = 0

    def submit(self, steps: Sequence[Step]) -> None:
        self.happened.append(f"submit {len(steps)}")
        self._waiting.extend(steps)

    def poll(self, timeout_s: float) -> Sample | None:
        if self._stopped:
            raise EngineStoppedError("stopped")
        sample = self.outcome(self._waiting[0])
        self._waiting.popleft()
        self._handed_over += 1
        if sample.state is not StepState.COMPLETE:
            self._stopped = True
        return sample

    def progress(self) -> EngineProgress:
        return EngineProgress(self._handed_over, 0, 0, 0)

    def stop(self) -> None:
        self.happened.append("stop")
        self._stopped = True
