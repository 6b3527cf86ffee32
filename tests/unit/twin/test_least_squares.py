"""Least squares of a fit, against NumPy."""

import numpy as np
import pytest

from openpts_twin.twin.least_squares import Problem, covariance, solve


def _problem(seed: int) -> tuple[Problem, np.ndarray, np.ndarray, np.ndarray]:
    chance = np.random.default_rng(seed)
    columns, residuals = chance.normal(size=(4, 30)), chance.normal(size=30)
    weights = chance.uniform(0.2, 1, 30)
    priors = [0.5, 1.0, 2.0, 4.0]
    problem = Problem(columns.tolist(), residuals.tolist(), weights.tolist(), priors)
    return problem, columns, residuals, columns * weights @ columns.T + np.diag(priors)


@pytest.mark.parametrize("damping", [0.0, 0.3, 3.0])
@pytest.mark.parametrize("seed", range(5))
def test_the_move_is_that_of_the_normal_equations(seed: int, damping: float) -> None:
    problem, columns, residuals, matrix = _problem(seed)
    damped = matrix + damping * np.diag(np.diag(matrix))
    expected = np.linalg.solve(damped, -(columns * problem.weights) @ residuals)
    assert solve(problem, damping) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(5))
def test_alternatives_lie_along_the_widest_axes_one_deviation_away(seed: int) -> None:
    problem, *_, matrix = _problem(seed)
    held, axes = np.linalg.eigh(matrix)
    for number, move in enumerate(covariance(problem, 3.0)):
        assert abs(np.dot(move, axes[:, number])) == pytest.approx(np.sqrt(3.0 / held[number]), rel=1e-3)
    assert number == 1
