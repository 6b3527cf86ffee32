"""Sequential decisions under noise that lasts, many at once, by NumPy: `openpts decide` computes one.

The formulas are those of openpts.analysis.uncertainty and openpts_twin.decide.sequential, once more for
quarters without gaps; tests/unit/twin/decide/test_lasting_noise.py compares both.
"""

import math
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from scipy.stats import t as student

from openpts_twin.decide.sequential import FEWEST_LOOKS, Lengths, scores_needed

Values = NDArray[np.float64]
QUARTER_S: Final = 15
ROUND_S: Final = 60
_STRETCHES, _FEWEST_STRETCHES = 4, 20
_PLACES, _WEIGHTS = (-math.sqrt(3), 0.0, math.sqrt(3)), (1 / 6, 2 / 3, 1 / 6)
_TIMES: Final = np.concatenate([[0.0], np.geomspace(0.01, 1000, 4000)])


class Decided(NamedTuple):
    """Answers (1 for a yes, -1 for a no, 0 for none), and the quarters that each took."""

    answers: NDArray[np.int64]
    quarters: NDArray[np.int64]


def seconds_of(
    chance: np.random.Generator, count: int, quarters: int, of_rounds: float, lasts_s: float
) -> Values:
    """Noise of an autoregression, a row for each decision; whole rounds have that spread."""
    length = quarters * QUARTER_S
    if not lasts_s:
        return chance.normal(0, of_rounds * math.sqrt(ROUND_S), (count, length))
    kept = math.exp(-1 / lasts_s)
    places = np.arange(ROUND_S)
    spread = of_rounds / math.sqrt(np.mean(kept ** np.abs(np.subtract.outer(places, places))))
    found = np.empty((count, length))
    level = chance.normal(0, spread, count)
    for second in range(length):
        found[:, second] = level
        level = kept * level + chance.normal(0, spread * math.sqrt(1 - kept**2), count)
    return found


def decided(seconds: Values, margin: float, lengths: Lengths) -> Decided:
    """Looks at the quarters of each row, until it is answered or at its end."""
    count = len(seconds)
    answers, quarters = np.zeros(count, np.int64), np.full(count, lengths.longest)
    rows = np.arange(count)
    for number in range(FEWEST_LOOKS, lengths.longest + 1):
        means, standard, degrees, told = _judged(seconds[rows], number)
        needed = [scores_needed(one, lengths.most) for one in told]
        yes_at, no_at = (norm.sf(one) for one in np.array(needed).T)
        yes = student.sf(means / standard, degrees) <= yes_at
        no = ~yes & (student.sf((margin - means) / standard, degrees) <= no_at)
        answers[rows[yes]], answers[rows[no]] = 1, -1
        over = yes | no | (told >= lengths.most)
        quarters[rows[over]] = number
        rows = rows[~over]
        if not len(rows):
            break
    return Decided(answers, quarters)


def _judged(seconds: Values, number: int) -> tuple[Values, Values, Values, Values]:
    """Of the first quarters: the mean, its standard deviation and degrees of freedom, what they tell."""
    blocks = seconds[:, : number * QUARTER_S].reshape(len(seconds), number, QUARTER_S)
    values = blocks.mean(2)
    variance = values.var(1, ddof=1) / number
    coefficient, deviation, step_s, longest_s = _coefficients(blocks)
    ratio, degrees = np.zeros(len(seconds)), np.zeros(len(seconds))
    for place, weight in zip(_PLACES, _WEIGHTS, strict=True):
        times_s = step_s * np.interp(coefficient + place * deviation, _correlation(_TIMES, 1.0), _TIMES)
        times_s[coefficient + place * deviation <= 0] = 0
        found = _lasting(number, np.minimum(times_s, longest_s) / QUARTER_S)
        ratio, degrees = ratio + weight * found[0], degrees + weight * found[1]
    ratio = np.maximum(ratio, 1.0)
    # both components have these degrees in all, by Welch and Satterthwaite
    more = ratio - 1
    combined = ratio**2 / (1 / degrees + more * (2 + more) / degrees)
    return values.mean(1), np.sqrt(variance * ratio), np.maximum(1, np.floor(combined)), number / ratio


def _coefficients(blocks: Values) -> tuple[Values, Values, float, float]:
    """Of neighboring stretches: correlation and its deviation; how long a stretch is, and a noise at most."""
    number = blocks.shape[1]
    pieces = max(_STRETCHES, -(-_FEWEST_STRETCHES // number))
    edges = [QUARTER_S * piece // pieces for piece in range(pieces + 1)]
    parts = np.stack([blocks[:, :, a:b].mean(2) for a, b in pairwise(edges)], 2)
    parts -= parts.mean((1, 2), keepdims=True)
    size = number * pieces
    found = (parts[:, :, 1:] * parts[:, :, :-1]).sum((1, 2)) / (parts**2).sum((1, 2)) * pieces / (pieces - 1)
    coefficient = found + (1 + 3 * found) / size
    deviation = np.sqrt(np.maximum(0, 1 - coefficient**2) / size)
    return coefficient, deviation, QUARTER_S / pieces, number * QUARTER_S / 4


def _correlation(times: Values, distance: float) -> Values:
    """Of the means of two stretches of length 1 of noise that lasts so long, their starts so far apart."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        x = 1 / times
        found = np.exp(-(distance - 1) * x) * (1 - np.exp(-x)) ** 2 / (2 * (x - 1 + np.exp(-x)))
    return np.where(times > 0, found, 0.0)


def _lasting(number: int, times: Values) -> tuple[Values, Values]:
    """Variance of the mean over what the scatter says, and degrees of freedom; times in quarters."""
    lags = np.arange(1, number)
    of_lags = _correlation(times[:, None], lags[None, :])
    sums = np.concatenate([np.zeros((len(times), 1)), np.cumsum(of_lags, 1)], 1)
    means = (1 + sums + sums[:, ::-1]) / number
    mean = means.mean(1)
    trace = number * (1 - mean)
    squares = number + 2 * ((number - lags) * of_lags**2).sum(1) - 2 * number * (means**2).sum(1)
    return mean * (number - 1) / (1 - mean), trace**2 / (squares + (number * mean) ** 2)
