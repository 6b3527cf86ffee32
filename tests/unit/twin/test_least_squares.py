"""Least squares of a fit, against NumPy."""

from random import Random

import numpy as np
import pytest

from openpts_twin.twin.least_squares import Problem, draw, solve


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


def test_moves_are_drawn_with_the_covariance_that_the_normal_equations_leave() -> None:
    problem, *_, matrix = _problem(1)
    chance = Random(1)
    moves = np.array([draw(problem, 3.0, chance) for _ in range(20_000)])
    assert np.cov(moves.T) == pytest.approx(3.0 * np.linalg.inv(matrix), rel=0.05, abs=3e-3)
    assert moves.mean(axis=0) == pytest.approx(0, abs=0.02)
