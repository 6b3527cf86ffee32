import math
import random
from statistics import median

import numpy as np
import pytest
from scipy.stats import nct, norm
from scipy.stats import t as student

from openpts.analysis.uncertainty import Block
from openpts_twin.decide.sequential import (
    FALSE_YES,
    FEWEST_LOOKS,
    POWER,
    Decision,
    Lengths,
    look,
    scores_needed,
)

MARGIN = -math.log(0.95)


def rounds(values: list[float]) -> list[Block]:
    return [Block(place * 10**9, 10**9, value) for place, value in enumerate(values)]


def decided(chance: random.Random, mean: float, spread: float, lengths: Lengths) -> tuple[Decision, int]:
    values: list[float] = []
    while len(values) < lengths.most:
        values.append(chance.gauss(mean, spread))
        found = look(rounds(values), MARGIN, lengths.most)
        if found.decision is not Decision.OPEN:
            return found.decision, len(values)
    return Decision.OPEN, len(values)


@pytest.mark.parametrize("spread", [0.03, 0.05, 0.08, 0.12])
def test_the_fixed_plan_has_the_power_of_students_t(spread: float) -> None:
    """Its length is at most one round off the least with 95 % by the noncentral t of SciPy."""
    fixed = Lengths.of(MARGIN, spread).fixed

    def power(count: int) -> float:
        least = student.ppf(1 - FALSE_YES, count - 1)
        return float(nct.sf(least, count - 1, MARGIN / spread * math.sqrt(count)))

    assert power(fixed + 1) >= POWER > power(fixed - 2)


@pytest.mark.parametrize("looks_per_round", [1, 4])
def test_no_answer_takes_more_than_105_percent_of_the_fixed_plan(looks_per_round: int) -> None:
    for spread in (0.001, 0.01, 0.02, 0.05, 0.1, 0.5):
        lengths = Lengths.of(MARGIN, spread, looks_per_round)
        assert lengths.rounds(lengths.most) * looks_per_round == lengths.most
        assert lengths.rounds(lengths.most) <= 1.05 * lengths.fixed
    assert lengths.rounds(lengths.most) >= 0.97 * lengths.fixed


def test_scores_and_interval_are_those_of_students_t() -> None:
    values = [0.031, 0.022, 0.028, 0.035, 0.027, 0.03]
    found = look(rounds(values), MARGIN, 100)
    mean = sum(values) / 6
    standard = math.sqrt(sum((one - mean) ** 2 for one in values) / 5 / 6)
    assert found.score_of_none is not None
    assert found.low is not None
    assert found.score_of_none == pytest.approx(norm.isf(student.sf(mean / standard, 5)), rel=1e-6)
    bound = (1.62 + 1.96 * 0.06) / math.sqrt(0.06)
    # its confidence is so near to 1 that a double holds four digits of what is beside it
    assert found.low == pytest.approx(mean - student.isf(norm.sf(bound), 5) * standard, rel=1e-4)


def test_rounds_that_do_not_vary_are_answered_at_once() -> None:
    assert look(rounds([0.0] * 3), MARGIN, 22).decision is Decision.NO
    assert look(rounds([MARGIN] * 3), MARGIN, 22).decision is Decision.YES
    assert look(rounds([MARGIN] * 2), MARGIN, 22).decision is Decision.OPEN


def test_rounds_that_tell_of_each_other_count_for_less() -> None:
    """Rounds whose intervals follow a slow noise have a wider interval than the same values alone."""
    chance, level = random.Random(3), 0.0
    blocks = []
    for place in range(12):
        parts = []
        for _ in range(10):
            level = 0.97 * level + chance.gauss(0, 0.01)
            parts.append(0.02 + level)
        blocks.append(Block(place * 10**10, 10**10, sum(parts) / 10, tuple(parts), 10**9))
    slow, alone = look(blocks, MARGIN, 40), look(rounds([one.value for one in blocks]), MARGIN, 40)
    assert slow.high is not None
    assert alone.high is not None
    assert slow.high - slow.mean > 1.5 * (alone.high - alone.mean)


@pytest.mark.parametrize(("spread", "of_planned"), [(0.02, 1), (0.05, 1), (0.05, 0.5), (0.08, 1)])
def test_error_rates_of_the_bounds(spread: float, of_planned: float) -> None:
    """100,000 decisions by NumPy, with the t of SciPy: the rates up to what chance makes of them (99.9 %)."""
    lengths, count = Lengths.of(MARGIN, spread), 100_000

    def share_of_yes(mean: float) -> float:
        chance = np.random.default_rng([1, round(1000 * spread), round(10 * of_planned), round(100 * mean)])
        total, squares = np.zeros(count), np.zeros(count)
        is_open, is_yes = np.ones(count, bool), np.zeros(count, bool)
        for number in range(1, lengths.most + 1):
            drawn = chance.normal(mean, of_planned * spread * math.sqrt(lengths.looks_per_round), count)
            total, squares = total + drawn, squares + drawn**2
            if number < FEWEST_LOOKS:
                continue
            means = total / number
            standard = np.sqrt((squares - number * means**2) / (number - 1) / number)
            scores = scores_needed(number, lengths.most)
            yes_at, no_at = (student.isf(norm.sf(score), number - 1) for score in scores)
            yes = is_open & (means / standard >= yes_at)
            is_yes |= yes
            is_open &= ~yes & ((MARGIN - means) / standard < no_at)
        return float(is_yes.mean())

    assert share_of_yes(0.0) <= FALSE_YES + 3.1 * math.sqrt(FALSE_YES / count)
    assert share_of_yes(MARGIN) >= POWER - 3.1 * math.sqrt(POWER * (1 - POWER) / count)


@pytest.mark.slow
@pytest.mark.parametrize(("of_planned", "spread"), [(1.0, 0.05), (0.5, 0.05), (1.0, 0.02)])
def test_error_rates_and_costs(of_planned: float, spread: float) -> None:
    """As many wrong answers as the rates allow, up to what chance makes of them (one-sided 99.9 %)."""
    lengths, chance, count = Lengths.of(MARGIN, spread), random.Random(11), 600
    found = {
        times: [decided(chance, times * MARGIN, of_planned * spread, lengths) for _ in range(count)]
        for times in (0, 1, 2)
    }

    def share(times: int, decision: Decision) -> float:
        return sum(one is decision for one, _ in found[times]) / count

    def slack(rate: float) -> float:
        return 3.1 * math.sqrt(rate * (1 - rate) / count)

    assert share(0, Decision.YES) <= FALSE_YES + slack(FALSE_YES)
    assert share(1, Decision.YES) >= POWER - slack(POWER)
    assert share(2, Decision.YES) >= 0.99
    if of_planned < 1:
        quarters = 4 * lengths.fixed
        assert median(used for of_each in found.values() for _, used in of_each) <= 0.25 * quarters
