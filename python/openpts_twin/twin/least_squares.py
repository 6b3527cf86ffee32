"""Weighted least squares with few unknowns: normal equations, and where they leave room."""

import math
from collections.abc import Iterator, Sequence

from msgspec import Struct

_AXES = 2


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


def covariance(problem: Problem, variance: float) -> Iterator[list[float]]:
    """Moves of one standard deviation along the axes that the residuals hold least, widest first."""
    matrix = problem.normal()
    size = len(matrix)
    found: list[list[float]] = []
    for axis in range(min(_AXES, size)):
        vector = [1.0 if each == axis else 0.5 / (1 + each) for each in range(size)]
        for _ in range(100):
            for other in found:
                vector = _without(vector, other)
            vector = _unit(_solved(matrix, vector))
        held = sum(
            a * sum(m * b for m, b in zip(row, vector, strict=True))
            for a, row in zip(vector, matrix, strict=True)
        )
        found.append(vector)
        deviation = math.sqrt(max(variance, 1.0) / held)
        yield [deviation * each for each in vector]


def _without(vector: Sequence[float], other: Sequence[float]) -> list[float]:
    share = sum(a * b for a, b in zip(vector, other, strict=True))
    return [a - share * b for a, b in zip(vector, other, strict=True)]


def _unit(vector: Sequence[float]) -> list[float]:
    length = math.sqrt(sum(each * each for each in vector)) or 1.0
    return [each / length for each in vector]


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
