"""An engine of tests without steps: a run asks it for nothing but its facts."""

from collections.abc import Sequence
from typing import NoReturn

from openpts.engine.contract import EngineProgress, EngineStoppedError
from openpts.engine.options import CaptureSummary
from openpts.vocabulary.facts import Fact, Facts
from openpts.vocabulary.sample import Interval, Sample
from openpts.vocabulary.stimulus import Step


class NoSteps:
    """Implements openpts.engine.contract.CapturingEngine without steps; ``why`` says what does the I/O."""

    def __init__(self, why: str = "a program of the operator's does the I/O") -> None:
        self._why = why

    @property
    def facts(self) -> Facts:
        """See the contract."""
        return {"engine": Fact(f"none: {self._why}", "openpts")}

    def check(self, steps: Sequence[Step]) -> None:
        """See the contract: steps are only for the plan."""

    def submit(self, steps: Sequence[Step]) -> NoReturn:
        """See the contract."""
        raise EngineStoppedError(f"{len(steps)} steps for an engine that runs none")

    def poll(self, timeout_s: float) -> Sample | None:
        """See the contract."""
        raise EngineStoppedError(f"nothing will come within {timeout_s} s")

    def progress(self) -> EngineProgress:
        """See the contract."""
        return EngineProgress(0, 0, 0, 0)

    def new_intervals(self) -> tuple[Interval, ...]:
        """See the contract."""
        return ()

    def stop(self) -> None:
        """See the contract."""

    @property
    def cpus(self) -> tuple[int, ...]:
        """See the contract."""
        return ()

    def finish(self) -> CaptureSummary | None:
        """See the contract."""
        return None
