"""The answer: a sentence with its evidence, and the record of how it came about."""

import math
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from openpts.analysis.uncertainty import Block, correlation_times_ns
from openpts.units import NS_PER_S
from openpts.vocabulary.document import Document
from openpts_twin.decide.question import Question, shown
from openpts_twin.decide.sequential import FALSE_YES, POWER, Decision, Lengths, Look

NAMES: Final = "AB"
_NAMES: Final = {"iops": "rate", "mean": "mean latency", "max": "maximum latency"}
_WIDEST_PCT: Final = 1000
"""An interval that reaches further says nothing: few rounds do that."""


class DecidedDrive(Struct, frozen=True, kw_only=True):
    """A drive of the question: its target, its runs, and whether its figures are of steady state.

    ``busy_host`` is why those of its last run are the host's as well, empty if they are not.
    """

    name: str
    target: str
    runs: tuple[str, ...]
    steady: bool
    busy_host: str
    mean: float | None
    """Geometric mean of the figure over what was judged, in ns, IOPS or B/s, or in the unit of a test's."""


class DecisionDocument(Document, frozen=True, kw_only=True, tag="openpts.decision/1"):
    """How a question was decided; ``difference_pct`` is on the side of yes, of A or of the bound.

    ``low_pct`` to ``high_pct`` hold it with 99 % at whatever look it ended. ``rounds`` are those that
    counted, ``fixed_rounds`` what a test of fixed length would have made, ``most_rounds`` the last one where
    noise does not outlast a quarter; of the figure of a test each is a whole run.
    """

    question: Question
    decision: Decision
    sentence: str
    evidence: str
    false_yes: float
    power: float
    rounds: float
    fixed_rounds: int
    most_rounds: float
    difference_pct: float
    low_pct: float | None
    high_pct: float | None
    drives: tuple[DecidedDrive, ...]
    values: tuple[tuple[float, ...], ...]
    """Of each quarter of a round, or each run of a test, the figure of each drive."""
    noise_s: float
    """How long noise lasted, as far as that shows; 0 for none."""


def decision_document(
    question: Question,
    found: Look,
    lengths: Lengths,
    drives: tuple[DecidedDrive, ...],
    values: tuple[tuple[float, ...], ...],
    *,
    blocks: Sequence[Block],
    stopped: bool,
) -> DecisionDocument:
    """The record of a decision by ``blocks``; ``stopped`` is one that the operator ended."""
    noise_ns = correlation_times_ns(blocks)[1]
    side = 1 if question.upwards else -1
    ends = (found.low, found.high) if question.upwards else (found.high, found.low)
    low, high = (None if end is None else percent(side * end) for end in ends)
    mean = percent(side * found.mean)
    against = f"{mean:+.2f} % against {'the bound' if question.bound else NAMES[1 - question.of]}"
    if low is not None and high is not None and high < _WIDEST_PCT:
        against += f" ({low:+.2f} to {high:+.2f} %, 99 % at any look)"
    return DecisionDocument(
        question=question,
        decision=found.decision,
        sentence=_sentence(question, found, lengths, stopped=stopped),
        evidence="; ".join(
            [
                _evidence(question, found, lengths, drives, against),
                *_lasting(blocks, noise_ns, found, lengths),
            ]
        ),
        false_yes=FALSE_YES,
        power=POWER,
        rounds=lengths.rounds(found.count),
        fixed_rounds=lengths.fixed,
        most_rounds=lengths.rounds(lengths.most),
        difference_pct=mean,
        low_pct=low,
        high_pct=high,
        drives=drives,
        values=values,
        noise_s=noise_ns / NS_PER_S,
    )


def percent(logarithm: float) -> float:
    """A difference of natural logarithms in per cent."""
    return 100 * math.expm1(min(logarithm, 700.0))


def _claim(question: Question, *, margin: bool) -> str:
    """What a yes says: ``rate of B is lower than that of A``; with the margin, what a no denies."""
    figure = _NAMES.get(question.figure, question.figure)
    by = f"by {question.margin_pct:g} % " if margin else ""
    if question.bound is None:
        side = "higher" if question.upwards else "lower"
        return f"{figure} of {NAMES[question.of]} is {side} {by}than that of {NAMES[1 - question.of]}"
    side = "above" if question.upwards else "below"
    return f"{figure} is {by}{side} {shown(question.bound, question.unit)}"


def _sentence(question: Question, found: Look, lengths: Lengths, *, stopped: bool) -> str:
    under = f", with {question.load}" if question.load else ""
    if found.decision is Decision.YES:
        return f"Yes: {_claim(question, margin=False)}{under}."
    if found.decision is Decision.NO:
        return f"No: it is not so that {_claim(question, margin=True)}{under}."
    made, word = f"{lengths.rounds(found.count):g}", question.repeats
    if stopped:
        return f"Not decided: stopped by the operator. {word.capitalize()} that count: {made}."
    return (
        f"Not decided: {word} vary more than the plan was for, or what disturbs them lasts too long, and "
        f"{made} of them leave both open; a larger --spread plans more."
    )


def _evidence(
    question: Question, found: Look, lengths: Lengths, drives: tuple[DecidedDrive, ...], differs: str
) -> str:
    means = [f"{one.name} {shown(one.mean, question.unit)}" for one in drives if one.mean]
    made = f"{lengths.rounds(found.count):g} {question.repeats}"
    restless = [f"{one.name} is not in steady state" for one in drives if not one.steady]
    restless += [f"{one.name}: {one.busy_host}" for one in drives if one.busy_host]
    counted = f"{made}, a fixed plan has {lengths.fixed}"
    return "; ".join([", ".join(means), differs, counted, *restless] if means else [counted])


def _lasting(blocks: Sequence[Block], noise_ns: float, found: Look, lengths: Lengths) -> Iterator[str]:
    if blocks and 2 * noise_ns > blocks[0].length_ns:
        yield (
            f"noise lasts some {noise_ns / NS_PER_S:.0f} s, so that they tell as much as "
            f"{lengths.rounds(found.told):.2g} on their own"
        )
