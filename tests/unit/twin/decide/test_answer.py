"""What an answer says beside yes or no."""

import math
import random

from openpts.analysis.uncertainty import Block
from openpts_twin.decide.answer import decision_document
from openpts_twin.decide.question import read_question
from openpts_twin.decide.sequential import Lengths, look

QUESTION = read_question("B slower than A by 5 %", lambda _: "")
QUARTER_S = 15


def quarters(lasts_s: float, seed: int) -> list[Block]:
    """An hour of quarters whose seconds are a first-order autoregression."""
    chance, kept, level, blocks = random.Random(seed), math.exp(-1 / lasts_s), 0.0, []
    for place in range(240):
        parts = []
        for _ in range(QUARTER_S):
            level = kept * level + chance.gauss(0, 0.01)
            parts.append(level)
        start_ns, length_ns = (seconds * 10**9 for seconds in (place * QUARTER_S, QUARTER_S))
        blocks.append(Block(start_ns, length_ns, sum(parts) / QUARTER_S, tuple(parts), 10**9))
    return blocks


def test_noise_that_outlasts_what_is_judged_at_once_is_told() -> None:
    lengths = Lengths.of(QUESTION.margin, 0.05)
    for lasts_s, is_told in ((1.5, False), (30, True), (60, True)):
        blocks = quarters(lasts_s, seed=1)
        found = look(blocks, QUESTION.margin, len(blocks))
        document = decision_document(QUESTION, found, lengths, (), (), blocks=blocks, stopped=False)
        assert ("noise lasts" in document.evidence) is is_told
        assert 0.5 < document.noise_s / lasts_s < 2
