"""Weighted least squares with few unknowns: normal equations, and where they leave room."""

import math
from collections.abc import Sequence
from random import Random

from msgspec import Struct


class Problem(Struct, frozen=True):
    """``columns`` say what each unknown does to the residuals; ``priors`` are weights that keep it at 0."""

    columns: Sequence[Sequence[float]]
    residuals: Sequence[float]
    weights: Sequence[float]
    priors: Sequence[float]

    def normal(self) -> list[list[float]]:
        """The matrix of the normal equations."""
        return [
            [
                sum(w * x * y for w, x, y in zip(self.weights, a, b, strict=True))
                + (self.priors[i] if i == j else 0.0)
                for j, b in enumerate(self.columns)
            ]
            for i, a in enumerate(self.columns)
        ]

    def gradient(self) -> list[float]:
        """Right side of the normal equations, negative."""
        return [
            sum(w * x * r for w, x, r in zip(self.weights, column, self.residuals, strict=True))
            for column in self.columns
        ]


def solve(problem: Problem, damping: float) -> list[float]:
    """The move of the unknowns after which the weighted sum of squares is least.

    ``damping``, as a share of each unknown's own weight, shortens it, most where little is known.
    """
    matrix = problem.normal()
    for number, row in enumerate(matrix):
        row[number] *= 1 + damping
    return _solved(matrix, [-each for each in problem.gradient()])


def draw(problem: Problem, variance: float, chance: Random) -> list[float]:
    """A move at random, as far as the residuals and the priors leave room for it.

    Noise on both is what the move makes up for: its covariance is the inverse of the normal matrix.
    """
    noise = [chance.gauss() for _ in problem.residuals]
    right = [
        sum(math.sqrt(w) * x * z for w, x, z in zip(problem.weights, column, noise, strict=True))
        + math.sqrt(prior) * chance.gauss()
        for column, prior in zip(problem.columns, problem.priors, strict=True)
    ]
    deviation = math.sqrt(max(variance, 1.0))
    return [deviation * each for each in _solved(problem.normal(), right)]


def _solved(matrix: Sequence[Sequence[float]], right: Sequence[float]) -> list[float]:
    """Gaussian elimination; the matrix is positive definite by its priors."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    size = len(rows)
    for pivot in range(size):
        chosen = max(range(pivot, size), key=lambda row: abs(rows[row][pivot]))
        rows[pivot], rows[chosen] = rows[chosen], rows[pivot]
        for row in range(pivot + 1, size):
            factor = rows[row][pivot] / rows[pivot][pivot]
            rows[row] = [a - factor * b for a, b in zip(rows[row], rows[pivot], strict=True)]
    found = [0.0] * size
    for row in reversed(range(size)):
        known = sum(rows[row][column] * found[column] for column in range(row + 1, size))
        found[row] = (rows[row][size] - known) / rows[row][row]
    return found
