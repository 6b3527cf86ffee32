"""What a test script may ask for; a runner carries it out and sends back what happened.

A script is a generator: it yields one of these and receives, where the table says so, an answer::

    Purge                    nothing; a cycle of preconditioning and test begins
    SetWriteCache            nothing
    Apply                    a tuple of Samples, one per step, in the same order
    ReadHealth               a HealthReading
    ReadTrimmed              nothing (the record keeps what was read)
    DriverRequest            what its class says: only the driver that the test brings carries it out
    SteadyStateChecked       nothing (the script tells; listeners show it)
    CycleFinished            nothing (the script tells; the record keeps it)

Three drivers run the same script: on a device, on assumed rates (a plan), and on what a test makes up.
"""

from collections.abc import Generator
from enum import StrEnum
from typing import TypeVar

from msgspec import Struct

from openpts.vocabulary.facts import HealthReading
from openpts.vocabulary.sample import Phase, Sample
from openpts.vocabulary.stimulus import ActiveRange, Step
from openpts.vocabulary.verdict import SteadyStateReport

T = TypeVar("T")
K = TypeVar("K", bound="DriverAnswer")


class Purge(Struct, frozen=True):
    """Bring the device as near as possible to never having been used (PTS 3.2): a new cycle begins.

    Not ``needed``: the cycle continues from the state that the one before it has left.
    """

    needed: bool = True


class SetWriteCache(Struct, frozen=True):
    """Set the volatile write cache: WCE if enabled, WCD if not (PTS 3.7)."""

    enabled: bool


class Slower(StrEnum):
    """In which plans a drive is assumed to have slowed down by its collection."""

    NEVER = "never"
    AT_SHORTEST = "at its shortest"
    ALWAYS = "always"


class Apply(Struct, frozen=True):
    """Carry out steps without idle time between them.

    ``most`` is the largest number that the phase may come to, as far as the script knows. ``may_fail``: a
    step that fails is a result. Its sample is then the last of the answer, and the script may ask for no more
    I/O. ``repeatable``: where openpts itself stood still in one of the steps, all of them may be carried out
    again, and only the last time counts. ``with_intervals``: the script reads the intervals of the answer;
    without, the record alone has them, so that days need no more memory than minutes. ``until_alike``: the
    script may ask for the last step again, until what several of it measured is close enough together.
    ``slower``: which plans have the drive half as fast in these steps. ``if_needed``: what was measured may
    make them needless, and the shortest plan leaves them out.
    """

    phase: Phase
    number: int
    steps: tuple[Step, ...]
    most: int | None = None
    may_fail: bool = False
    repeatable: bool = False
    with_intervals: bool = False
    until_alike: bool = False
    slower: Slower = Slower.NEVER
    if_needed: bool = False


class ReadHealth(Struct, frozen=True):
    """Read the device's own log between steps; the record keeps it under the phase and number."""

    phase: Phase
    number: int


class ReadTrimmed(Struct, frozen=True):
    """Write marks within a part of the drive, trim them, and read what is there then."""

    active_range: ActiveRange
    seed: int


class DriverAnswer(Struct, frozen=True):
    """What the driver of a test's own answers to a request of its own."""


class DriverRequest(Struct, frozen=True):
    """A request of the kind for which a test brings a driver of its own."""

    @property
    def text(self) -> str:
        """Where a run continues that was cut off in it, for its record."""
        return ""

    @property
    def planned(self) -> tuple[Apply | None, DriverAnswer | None]:
        """What a plan has of it: what it amounts to as steps, if anything, and the answer."""
        return None, None


class SteadyStateChecked(Struct, frozen=True):
    """The script has judged the window that ends at this round of the phase; one report per ``names``."""

    phase: Phase
    round_number: int
    names: tuple[str, ...]
    reports: tuple[SteadyStateReport, ...]


class Outcome(Struct, frozen=True):
    """How a cycle ended.

    ``steady_round`` is x, the (tracking) round at which steady state was found, or None. ``last_round`` is
    the last one run; the measurement window ends at ``steady_round`` or else at ``last_round``.
    ``ended_by`` says in words what ended a stimulus that more than one rule can end, and is empty elsewhere.
    """

    steady_round: int | None
    last_round: int
    ended_by: str = ""


class CycleFinished(Struct, frozen=True):
    """A cycle came to its end: ``title`` names it where a test has several (``SEQ 128 KiB``)."""

    outcome: Outcome
    title: str = ""


Request = (
    Purge
    | SetWriteCache
    | Apply
    | ReadHealth
    | ReadTrimmed
    | DriverRequest
    | SteadyStateChecked
    | CycleFinished
)
Answer = None | tuple[Sample, ...] | HealthReading | DriverAnswer
ScriptPart = Generator[Request, Answer, T]
"""A part of a script, and what it returns to the rest."""

Script = ScriptPart[None]


def samples_in(answer: Answer) -> tuple[Sample, ...]:
    """What a runner answers to an Apply."""
    assert isinstance(answer, tuple)  # noqa: S101 no runner answers otherwise
    return answer


def answer_in(kind: type[K], answer: Answer) -> K:
    """What the driver of a test's own answers to a request that says this kind."""
    assert isinstance(answer, kind)  # noqa: S101 no driver answers otherwise
    return answer


def health_in(answer: Answer) -> HealthReading:
    """What a runner answers to a ReadHealth."""
    assert isinstance(answer, HealthReading)  # noqa: S101 no runner answers otherwise
    return answer
