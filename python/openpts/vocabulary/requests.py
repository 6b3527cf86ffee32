"""What a test script may ask for; a runner carries it out and sends back what happened.

A script is a generator: it yields one of these and receives, where the table says so, an answer::

    Purge                    nothing
    SetWriteCache            nothing
    Precondition             the Sample of its step
    Round                    a tuple of Samples, one per step, in the same order
    SteadyStateChecked       nothing (the script tells; listeners show it)

The generator returns the Outcome.
"""

from collections.abc import Generator
from dataclasses import dataclass

from openpts.vocabulary.sample import Sample
from openpts.vocabulary.stimulus import Step
from openpts.vocabulary.verdict import SteadyStateReport


@dataclass(frozen=True, slots=True)
class Purge:
    """Bring the device as near as possible to never having been used (PTS 3.2)."""


@dataclass(frozen=True, slots=True)
class SetWriteCache:
    """Set the volatile write cache: WCE if enabled, WCD if not (PTS 3.7)."""

    enabled: bool


@dataclass(frozen=True, slots=True)
class Precondition:
    """Workload independent preconditioning (PTS 2.1.18 a)."""

    step: Step


@dataclass(frozen=True, slots=True)
class Round:
    """One pass through all test points (PTS 2.1.21); ``number`` counts from 1."""

    number: int
    max_rounds: int
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class SteadyStateChecked:
    """The script has judged the last five rounds; one report per tracking variable."""

    round_number: int
    reports: tuple[SteadyStateReport, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a test ended.

    ``steady_round`` is x, the round at which steady state was found, or None. ``last_round`` is the
    last one run; the measurement window ends at ``steady_round`` or else at ``last_round``.
    """

    steady_round: int | None
    last_round: int


Request = Purge | SetWriteCache | Precondition | Round | SteadyStateChecked
Answer = None | Sample | tuple[Sample, ...]
Script = Generator[Request, Answer, Outcome]
