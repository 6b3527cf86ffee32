"""The fitted line and its interval against SciPy, and crossings against a root finder."""

import math
import random
from collections.abc import Sequence

import pytest
from scipy import optimize, stats

from openpts_practice.lifetime.results import FittedLine

Points = Sequence[tuple[float, float]]

WORN: list[tuple[float, float]] = [(n, round(0.1 * n + 0.3)) for n in range(40)]
"""A log in whole per cent, as drives keep it."""


def scattered(count: int, slope: float, deviation: float, seed: int) -> list[tuple[float, float]]:
    draws = random.Random(seed)
    return [(float(n), 2 + slope * n + draws.gauss(0, deviation)) for n in range(count)]


CASES = [scattered(3, 1.5, 0.5, 1), scattered(12, 0.4, 0.1, 2), scattered(200, 0.05, 1.0, 3), WORN]


def line_through(points: Points) -> FittedLine:
    line = FittedLine.through(points)
    assert line is not None
    return line


def oracle_interval(points: Points, x: float, confidence: float) -> tuple[float, float]:
    xs, ys = [p[0] for p in points], [p[1] for p in points]
    fit = stats.linregress(xs, ys)
    n, mean = len(xs), sum(xs) / len(xs)
    left = sum((y - fit.intercept - fit.slope * x_) ** 2 for x_, y in points)
    deviation = math.sqrt(left / (n - 2))
    spread = sum((x_ - mean) ** 2 for x_ in xs)
    t = stats.t.ppf((1 + confidence) / 2, n - 2)
    half = t * deviation * math.sqrt(1 + 1 / n + (x - mean) ** 2 / spread)
    at = fit.intercept + fit.slope * x
    return at - half, at + half


@pytest.mark.parametrize("points", CASES)
def test_the_line_is_that_of_linregress(points: Points) -> None:
    line = line_through(points)
    fit = stats.linregress([p[0] for p in points], [p[1] for p in points])
    assert line.slope == pytest.approx(fit.slope, rel=1e-12)
    for x in (-3.0, 0.0, 17.5, 1000.0):
        assert line.at(x) == pytest.approx(fit.intercept + fit.slope * x, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("points", CASES)
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_the_interval_is_that_of_the_t_distribution(points: Points, confidence: float) -> None:
    line = line_through(points)
    for x in (0.0, 7.0, 60.0, 900.0):
        assert line.interval(x, confidence) == pytest.approx(oracle_interval(points, x, confidence), rel=1e-9)


@pytest.mark.parametrize("points", CASES[1:])
def test_a_crossing_is_where_the_ends_of_the_interval_reach_the_value(points: Points) -> None:
    line, value = line_through(points), 100.0
    crossing = line.crossing(value, 0.95)
    assert crossing is not None
    assert crossing.latest is not None
    assert crossing.earliest < crossing.likely < crossing.latest
    for end, found in ((1, crossing.earliest), (0, crossing.latest)):
        root = optimize.brentq(lambda x, end=end: oracle_interval(points, x, 0.95)[end] - value, 0, 1e6)
        assert found == pytest.approx(root, rel=1e-9)
    assert line.at(crossing.likely) == pytest.approx(value)


def test_a_slope_that_may_be_none_has_no_latest_crossing() -> None:
    points = [(0.0, 0.0), (1.0, 0.5), (2.0, 0.2), (3.0, 0.6), (4.0, 0.3)]
    line = line_through(points)
    crossing = line.crossing(100, 0.95)
    assert crossing is not None
    assert crossing.latest is None
    root = optimize.brentq(lambda x: oracle_interval(points, x, 0.95)[1] - 100, 4, 1e6)
    assert crossing.earliest == pytest.approx(root, rel=1e-9)
    # and no lower end ever comes so far
    assert all(line.interval(10.0**n, 0.95)[0] < 100 for n in range(12))


def test_points_on_a_line_leave_no_doubt() -> None:
    crossing = line_through([(n, 3 * n + 1) for n in range(5)]).crossing(100, 0.95)
    assert crossing is not None
    assert (crossing.earliest, crossing.likely, crossing.latest) == pytest.approx((33, 33, 33))


@pytest.mark.parametrize("points", [[], [(1, 2)], [(1, 2), (2, 3)], [(4, 1), (4, 2), (4, 3)]])
def test_there_is_no_line_through_too_little(points: Points) -> None:
    assert FittedLine.through(points) is None


@pytest.mark.parametrize("slope", [0, -0.5])
def test_a_line_that_does_not_rise_crosses_nothing(slope: float) -> None:
    assert line_through([(n, 5 + slope * n) for n in range(6)]).crossing(100, 0.95) is None
