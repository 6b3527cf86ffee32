"""The conditions of the host idle recovery test."""

from typing import ClassVar

from msgspec import Struct

from openpts.vocabulary.condition_text import duration_text
from openpts.vocabulary.conditions import Conditions
from openpts.vocabulary.verdict import SteadyState
from openpts.vocabulary.workload import Workload


class WaitState(Struct, frozen=True):
    """Idle time after each access A (PTS 11.2); ``number`` is the name: 1, 2, 3, 5, 10."""

    number: int
    idle_ns: int

    def __str__(self) -> str:
        return f"{self.number} ({duration_text(self.idle_ns)} idle)"


class IdleRecoveryConditions(Conditions, frozen=True, kw_only=True, tag_field="test", tag="hir"):
    """Host idle recovery (PTS 11.2): ``cycles`` accesses of ``access_ns`` in each segment."""

    steady_state: ClassVar[SteadyState] = SteadyState.MINUTES

    workload: Workload
    tc: int
    qd: int
    tracking_period_ns: int
    max_rounds: int
    access_ns: int
    cycles: int
    wait_states: tuple[WaitState, ...]

    @property
    def demand(self) -> tuple[int, int]:
        """TC and QD."""
        return self.tc, self.qd
