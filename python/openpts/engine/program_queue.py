"""What the engines of the Rust module have in common: programs go in, results come out in their order."""

from collections import deque
from collections.abc import Sequence
from time import monotonic

from openpts import _native
from openpts.engine.contract import EngineStoppedError
from openpts.engine.options import CaptureSummary
from openpts.engine.program import program_json
from openpts.engine.results import capture_summary_of, interval_of, sample_of
from openpts.errors import RecordError, UsageError
from openpts.vocabulary.facts import TargetFacts
from openpts.vocabulary.sample import Interval, Sample
from openpts.vocabulary.stimulus import Step


class ProgramQueue:
    """Steps that were submitted, and the intervals of the one that runs. ``engine`` carries them out."""

    def __init__(
        self, engine: _native.Engine | _native.SimulatedEngine, target: TargetFacts, interval_ns: int
    ) -> None:
        self._engine = engine
        self._target = target
        self._interval_ns = interval_ns
        self._submitted: deque[Step] = deque()
        self._intervals: list[Interval] = []
        self._shown = 0

    def submit(self, steps: Sequence[Step]) -> None:
        """As the contract of engines has it."""
        try:
            self._engine.submit(program_json(steps, self._target))
        except ValueError as error:
            raise UsageError(str(error)) from error
        except _native.StoppedError as error:
            raise EngineStoppedError(str(error)) from error
        self._submitted.extend(steps)

    def check(self, steps: Sequence[Step]) -> None:
        """As the contract of engines has it."""
        try:
            self._engine.check(program_json(steps, self._target))
        except ValueError as error:
            raise UsageError(str(error)) from error

    def poll(self, timeout_s: float) -> Sample | None:
        """As the contract of engines has it."""
        deadline_s = monotonic() + timeout_s
        while True:
            try:
                report = self._engine.poll(max(0.0, deadline_s - monotonic()))
            except _native.StoppedError as error:
                raise EngineStoppedError(str(error)) from error
            match report:
                case None:
                    return None
                case _native.IntervalResult():
                    self._intervals.append(interval_of(report))
                case _native.StepResult():
                    intervals, self._intervals, self._shown = tuple(self._intervals), [], 0
                    return sample_of(self._submitted.popleft(), report, self._interval_ns, intervals)

    def new_intervals(self) -> tuple[Interval, ...]:
        """As the contract of engines has it."""
        new = tuple(self._intervals[self._shown :])
        self._shown = len(self._intervals)
        return new

    def stop(self) -> None:
        """As the contract of engines has it."""
        self._engine.stop()

    def finish(self) -> CaptureSummary | None:
        """As the contract of capturing engines has it."""
        try:
            summary = self._engine.finish()
        except _native.UnavailableError as error:
            raise RecordError(str(error)) from error
        return None if summary is None else capture_summary_of(summary)
