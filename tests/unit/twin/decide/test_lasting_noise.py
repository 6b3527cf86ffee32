"""Decisions under noise that lasts: by NumPy, and by the product for one at a time."""

import math

import numpy as np
import pytest
from benches.lasting_noise import QUARTER_S, decided, seconds_of

from openpts.analysis.uncertainty import Block
from openpts_twin.decide.sequential import FALSE_YES, Decision, Lengths, look

MARGIN = -math.log(0.95)
LENGTHS = Lengths.of(MARGIN, 0.05)


def looked_at(seconds: list[float]) -> tuple[Decision, int]:
    blocks: list[Block] = []
    while True:
        parts = tuple(seconds[len(blocks) * QUARTER_S : (len(blocks) + 1) * QUARTER_S])
        start_ns = len(blocks) * QUARTER_S * 10**9
        blocks.append(Block(start_ns, QUARTER_S * 10**9, sum(parts) / QUARTER_S, parts, 10**9))
        found = look(blocks, MARGIN, LENGTHS.most)
        if found.decision is not Decision.OPEN or LENGTHS.has_ended(found):
            return found.decision, len(blocks)


@pytest.mark.parametrize("lasts_s", [0, 3, 15])
def test_a_decision_is_what_numpy_makes_of_it(lasts_s: float) -> None:
    seconds = 2 * MARGIN + seconds_of(np.random.default_rng(4), 6, LENGTHS.longest, 0.05, lasts_s)
    found = decided(seconds, MARGIN, LENGTHS)
    words = {1: Decision.YES, -1: Decision.NO, 0: Decision.OPEN}
    made = [(words[int(answer)], int(quarters)) for answer, quarters in zip(*found, strict=True)]
    assert [looked_at(row.tolist()) for row in seconds] == made


@pytest.mark.slow
@pytest.mark.parametrize("lasts_s", [15, 60])
def test_error_rates_hold_where_noise_lasts(lasts_s: float) -> None:
    """Up to what chance makes of them (one-sided 99.9 %)."""
    count = 1000
    wrong = {}
    for times, answer in ((0, 1), (1, -1)):
        chance = np.random.default_rng([8, lasts_s, times])
        seconds = times * MARGIN + seconds_of(chance, count, LENGTHS.longest, 0.05, lasts_s)
        wrong[times] = float(np.mean(decided(seconds, MARGIN, LENGTHS).answers == answer))
    assert wrong[0] <= FALSE_YES + 3.1 * math.sqrt(FALSE_YES / count)
    assert wrong[1] <= 0.05 + 3.1 * math.sqrt(0.05 / count)
