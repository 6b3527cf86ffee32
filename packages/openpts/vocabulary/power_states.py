"""Power states of a drive: what it declares of them, and how a test has it enter them."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

from openpts.vocabulary.requests import Answer, DriverAnswer, DriverRequest

MOST_STATES: Final = 32


class PowerState(Struct, frozen=True):
    """A state as the drive declares it: times are maxima, None where it declares none.

    ``operational``: I/O is done in it; any other is left for an I/O.
    """

    number: int
    operational: bool
    most_w: float | None = None
    idle_w: float | None = None
    entry_ns: int | None = None
    exit_ns: int | None = None


class Transition(Struct, frozen=True):
    """After so long without I/O in state ``origin`` the drive enters ``to`` by itself."""

    origin: int
    to: int
    after_ns: int


class PowerMode(StrEnum):
    """Who decides on the state of an idle drive."""

    AUTONOMOUS = "autonomous"
    OFF = "off"
    COMMANDED = "commanded"


class PowerSetting(Struct, frozen=True):
    """How the states of a drive are set: the one commanded last, and those that it enters by itself."""

    state: int
    autonomous: bool
    table: tuple[Transition, ...] = ()


class SetPowerStates(DriverRequest, frozen=True):
    """Have the drive enter states by itself, none, or ``state`` now. The answer is a PowerStatesSet."""

    mode: PowerMode
    state: int = 0

    @property
    def planned(self) -> tuple[None, "PowerStatesSet"]:
        """A drive whose states are not known."""
        return None, PowerStatesSet(self.mode, self.state, "a plan")


class PowerStatesSet(DriverAnswer, frozen=True):
    """What became of it, and how the drive was set then: None where it can be neither set nor read.

    ``refused`` says why it was not done, empty where it was. ``source`` is where the states are declared.
    ``processors`` says how processors were kept awake, whose own states would be measured else.
    """

    mode: PowerMode
    state: int
    source: str
    states: tuple[PowerState, ...] = ()
    setting: PowerSetting | None = None
    refused: str = ""
    processors: str = ""


def power_states_in(answer: Answer) -> PowerStatesSet:
    """What a runner answers to a SetPowerStates."""
    assert isinstance(answer, PowerStatesSet)  # noqa: S101 no runner answers otherwise
    return answer


def entries(
    states: Sequence[PowerState], table: Sequence[Transition], begin: int = 0
) -> list[tuple[PowerState, int]]:
    """Each state that idle time leads to from the first one, and after how much of it the drive is there.

    Idle time of a transition counts in the state before it, and entering takes what is declared. A table
    that leads back ends there.
    """
    by_origin = {one.origin: one for one in table if one.after_ns > 0}
    by_number = {state.number: state for state in states}
    found: list[tuple[PowerState, int]] = []
    at_ns, number = 0, begin
    while (step := by_origin.get(number)) is not None and step.to > number and step.to in by_number:
        state = by_number[step.to]
        at_ns, number = at_ns + step.after_ns + (state.entry_ns or 0), step.to
        found.append((state, at_ns))
    return found
