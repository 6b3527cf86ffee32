"""Host Idle Recovery: PTS section 11."""

from collections.abc import Collection
from typing import Annotated, Any, Final, Self

from msgspec import Struct
from msgspec.structs import replace

from openpts.fields import readers, usual
from openpts.fields.conditions import Conditions, StepCounts
from openpts.fields.field import SECONDS, Field, count, listed
from openpts.procedures.kit.procedure import Procedure
from openpts.vocabulary.verdict import SteadyState
from openpts.vocabulary.workload import Workload, duration_text


class WaitState(Struct, frozen=True):
    """Idle time after each access A (PTS 11.2); ``number`` is the name: 1, 2, 3, 5, 10."""

    number: int
    idle_ns: int

    def __str__(self) -> str:
        return f"{self.number} ({duration_text(self.idle_ns)} idle)"


def _unit_ns(conditions: Any) -> int:
    """Idle time of wait state 1, whether it is among them or not."""
    first: WaitState = conditions.wait_states[0]
    return max(1, round(first.idle_ns / first.number))


def _with_states(name: str, states: list[int], conditions: Any) -> Any:
    unit_ns = _unit_ns(conditions)
    numbers = readers.without_repeats(name, tuple(states))
    return replace(conditions, wait_states=tuple(WaitState(number, number * unit_ns) for number in numbers))


def _with_unit(_name: str, seconds: float, conditions: Any) -> Any:
    unit_ns = readers.seconds_ns("", seconds)
    states = tuple(WaitState(state.number, state.number * unit_ns) for state in conditions.wait_states)
    return replace(conditions, wait_states=states)


IDLE_SECONDS: Final = Field(
    "",
    "Idle time of wait state 1; that of the others is a multiple of it.",
    SECONDS,
    name="idle_seconds",
    field="wait_states",
    change=_with_unit,
    show=lambda conditions: readers.seconds_text(_unit_ns(conditions)),
    rare=True,
)


class IdleRecoveryConditions(Conditions, frozen=True, kw_only=True, tag_field="test", tag="hir"):
    """Host idle recovery (PTS 11.2): ``cycles`` accesses of ``access_ns`` in each segment."""

    steady_state = SteadyState.MINUTES
    parameters = ("segments", ..., IDLE_SECONDS)

    workload: Annotated[Workload, usual.ONE_WORKLOAD.but(help="Workload of access A.")]
    tc: Annotated[int, usual.TC]
    qd: Annotated[int, usual.QD]
    tracking_period_ns: Annotated[int, usual.TRACKING_PERIOD]
    max_rounds: Annotated[int, usual.MAX_ROUNDS]
    access_ns: Annotated[
        int,
        Field(
            "Length of an access",
            "Length of one access A, and of one access C.",
            SECONDS,
            text="accesses of {}",
            rare=True,
        ),
    ]
    cycles: Annotated[
        int,
        Field(
            "Accesses of each wait state",
            "Number of times that access A and idle time alternate.",
            count(1, 1_000_000),
            text=lambda cycles: "once" if cycles == 1 else f"{cycles} times",
            amount=True,
        ),
    ]
    wait_states: Annotated[
        tuple[WaitState, ...],
        Field(
            "Wait states",
            "Wait states, in their order; number n idles n times as long as number 1.",
            listed(count(1, 1000), most=20),
            change=_with_states,
            show=lambda conditions: ",".join(str(state.number) for state in conditions.wait_states),
            text="wait states {}",
            amount=True,
        ),
    ]

    @property
    def demand(self) -> tuple[int, int]:
        """TC and QD."""
        return self.tc, self.qd

    @property
    def chosen_workloads(self) -> tuple[Workload, ...]:
        """The workload of access A."""
        return (self.workload,)

    def lengthened(self, needed_ns: int, standard: Self, kept: Collection[str]) -> Self:
        """Idle times keep their proportion to the accesses."""
        longer = super().lengthened(needed_ns, standard, kept)
        if {"access_ns", "wait_states"} & set(kept):
            return longer
        ratio = longer.access_ns / self.access_ns
        states = (WaitState(state.number, round(state.idle_ns * ratio)) for state in self.wait_states)
        return replace(longer, wait_states=tuple(states))

    def step_counts(self) -> StepCounts:
        """An access A, an idle time and an access C of each cycle."""
        yield ("cycles", "wait_states"), 3 * self.cycles * len(self.wait_states)


PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=IdleRecoveryConditions,
    title="Host Idle Recovery",
    short_title="HIR",
    question="What does a drive gain from pauses?",
    section=11,
    purpose="""How pauses between bursts of random writes affect a drive.

    At full length: random writes until single minutes 30 minutes apart are steady. There are 5 at least
    (2 h 1 min) and 25 at most (12 h 1 min). Five wait states with their returns to the baseline take
    15 h 30 min.
    """,
    quick={
        "time_scale": "1/360",
        "step_seconds": 1,
        "max_rounds": 10,
        "access_seconds": 0.2,
        "idle_seconds": 0.2,
        "cycles": 10,
    },
    trends={5: "hir-3-plot", 14: "hir-1-plot"},
)
