"""Control limits, against exact arithmetic."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openpts_web.queries import ControlLimits, TrendPoint, control_chart

VALUES = st.lists(st.floats(0.001, 1e7), min_size=3, max_size=40)


@given(VALUES)
def test_limits_are_the_mean_and_2_66_mean_moving_ranges(values) -> None:
    exact = [Fraction(value) for value in values]
    mean = sum(exact) / len(exact)
    moving = sum(abs(b - a) for a, b in pairwise(exact)) / (len(exact) - 1)
    found = ControlLimits.of("", values)
    assert found.low is not None
    assert found.high is not None
    scale = float(max(exact))
    assert found.mean == pytest.approx(float(mean), abs=1e-12 * scale)
    assert found.low == pytest.approx(float(mean - Fraction("2.66") * moving), abs=1e-12 * scale)
    assert found.high == pytest.approx(float(mean + Fraction("2.66") * moving), abs=1e-12 * scale)


def test_montgomerys_example() -> None:
    """Viscosity of aircraft primer paint: mean 33.52, mean moving range 0.48, limits 34.80 and 32.24.

    D. C. Montgomery, Introduction to Statistical Quality Control, 6th edition, example 6.5; its limits are
    made of a rounded moving range.
    """
    hundredths = (375, 305, 400, 381, 346, 402, 368, 327, 349, 320, 362, 300, 354, 312, 384)
    values = [30 + one / 100 for one in hundredths]
    found = ControlLimits.of("", values)
    assert found.mean == pytest.approx(33.52, abs=0.005)
    assert found.mean_moving_range == pytest.approx(0.48, abs=0.005)
    assert found.low == pytest.approx(32.24, abs=0.01)
    assert found.high == pytest.approx(34.80, abs=0.01)
    assert found.outside == 0


@given(st.floats(0.001, 1e7), st.integers(1, 30))
def test_equal_values_are_within_their_limits(value, count) -> None:
    assert ControlLimits.of("", [value] * count).outside == 0


def test_groups_have_limits_of_their_own() -> None:
    values = {"A": [1.0, 1.1, 0.9, 1.0, 1.1, 5.0], "B": [10.0, 10.1, 10.0]}
    points = [TrendPoint(f"{g}{n}", "", "", v, g) for g, own in values.items() for n, v in enumerate(own)]
    chart = control_chart(points)
    assert [one.group for one in chart["limits"]] == ["A", "B"]
    assert [one.id for one in chart["points"] if one.is_outside] == ["A5"]
    assert ControlLimits.of("", [1.0, 2.0]).low is None
