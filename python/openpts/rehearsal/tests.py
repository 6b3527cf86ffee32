"""The tests that can be rehearsed: one entry each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from openpts.pts import iops
from openpts.runner.events import Listener
from openpts.runner.run import FinishedRun, Order, run_iops
from openpts.vocabulary.conditions import Profile, TestConditions
from openpts.vocabulary.stimulus import Step


@dataclass(frozen=True, slots=True)
class RehearsableTest:
    """What a rehearsal needs of a test: standard conditions, the steps it will ask for, and how to run it."""

    standard_conditions: Callable[[Profile, int], TestConditions]
    steps: Callable[[TestConditions, int], tuple[Step, ...]]
    run: Callable[[Order, Sequence[Listener]], FinishedRun]


TESTS: Final[Mapping[str, RehearsableTest]] = {
    "iops": RehearsableTest(iops.standard_conditions, iops.steps, run_iops),
}
