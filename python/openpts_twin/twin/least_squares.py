"""Weighted least squares with few unknowns, and where they leave room."""

import math
from collections.abc import Sequence
from operator import mul
from random import Random

from msgspec import Struct


class Problem(Struct, frozen=True):
    """``columns`` say what each unknown does to the residuals; ``priors`` are weights that keep it at 0."""

    columns: Sequence[Sequence[float]]
    residuals: Sequence[float]
    weights: Sequence[float]
    priors: Sequence[float]


def solve(problem: Problem, damping: float) -> list[float]:
    """The move of the unknowns after which the weighted sum of squares is least.

    ``damping``, as a share of each unknown's own weight, shortens it, most where little is known.
    """
    return _solved(problem, [-each for each in problem.residuals], [0.0] * len(problem.priors), damping)


def draw(problem: Problem, variance: float, chance: Random) -> list[float]:
    """A move at random, as far as the residuals and the priors leave room for it.

    Noise on both is what the move makes up for: its covariance is the inverse of the normal matrix.
    """
    deviation = math.sqrt(max(variance, 1.0))
    noise = [deviation * chance.gauss() / math.sqrt(each) for each in problem.weights]
    return _solved(
        problem, noise, [deviation * chance.gauss() * math.sqrt(each) for each in problem.priors], 0.0
    )


def _solved(problem: Problem, wanted: Sequence[float], pulls: Sequence[float], damping: float) -> list[float]:
    """The normal equations by Gauss-Jordan elimination: their matrix is positive definite by the priors."""
    rows: list[list[float]] = []
    for number, (column, prior, pull) in enumerate(zip(problem.columns, problem.priors, pulls, strict=True)):
        weighted = list(map(mul, problem.weights, column))
        rows.append([sum(map(mul, weighted, other)) for other in (*problem.columns, wanted)])
        rows[-1][-1] += pull
        rows[-1][number] = (rows[-1][number] + prior) * (1 + damping)
    for pivot, row in enumerate(rows):
        solved = rows[pivot] = [each / row[pivot] for each in row]
        for number, other in enumerate(rows):
            if number != pivot:
                rows[number] = [a - other[pivot] * b for a, b in zip(other, solved, strict=True)]
    return [row[-1] for row in rows]
