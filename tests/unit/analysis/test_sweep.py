"""Levels, factor, drift and verdict of a sweep, by exact arithmetic."""

from fractions import Fraction

import pytest

from openpts.analysis.sweep import (
    Level,
    Reduction,
    entropy_effect,
    levels_of,
    loss_pct,
    sweep_drift_pct,
)


def both_ways(figures: dict[float, float], per_step: float = 0.0) -> list[tuple[float, float]]:
    """Visits on the way up and down, on a drive that changes by so much with every step."""
    order = [*figures, *reversed(figures)]
    return [(level, figures[level] + place * per_step) for place, level in enumerate(order)]


def test_visits_are_kept_in_their_order_and_levels_rise() -> None:
    levels = levels_of([(46.0, 5.0), (0.0, 9.0), (0.0, 7.0), (46.0, 3.0)])
    assert levels == (Level(0.0, (9.0, 7.0)), Level(46.0, (5.0, 3.0)))
    assert [level.mean for level in levels] == [8.0, 4.0]


def test_a_steady_drift_adds_the_same_to_each_level() -> None:
    figures = {0.0: 800.0, 25.0: 650.0, 46.0: 500.0, 100.0: 400.0}
    still, drifting = (levels_of(both_ways(figures, step)) for step in (0.0, -16.0))
    shifts = {Fraction(b.mean) - Fraction(a.mean) for a, b in zip(still, drifting, strict=True)}
    assert shifts == {Fraction(-16 * 7, 2)}


def test_drift_is_that_of_the_level_whose_visits_differ_most() -> None:
    levels = levels_of(both_ways({0.0: 800.0, 100.0: 400.0}, -16.0))
    # 800 and 752 at 0 %; 384 and 368 at 100 %
    assert levels[0].drift_pct == pytest.approx(-6)
    assert levels[1].drift_pct == pytest.approx(100 * (368 / 384 - 1))
    assert sweep_drift_pct(levels) == pytest.approx(-6)


def test_a_single_visit_tells_no_drift() -> None:
    levels = levels_of([(0.0, 5.0), (100.0, 4.0)])
    assert sweep_drift_pct(levels) is None


@pytest.mark.parametrize(
    ("least", "most", "verdict"),
    [
        ((210.0, 210.0), (200.0, 200.0), Reduction.SEEN),  # exactly the limit
        ((209.9, 209.9), (200.0, 200.0), Reduction.NONE),
        ((150.0, 150.0), (200.0, 200.0), Reduction.NONE),
        ((300.0, 190.0), (200.0, 180.0), Reduction.UNDECIDED),  # 1.29, but slower once than the other once
        ((300.0, 201.0), (200.0, 180.0), Reduction.SEEN),
        ((0.0, 0.0), (0.0, 0.0), Reduction.UNDECIDED),
    ],
)
def test_the_verdict_needs_the_factor_and_visits_that_lie_apart(
    least: tuple[float, ...], most: tuple[float, ...], verdict: Reduction
) -> None:
    effect = entropy_effect((Level(0.0, least), Level(46.0, (1.0, 1.0)), Level(100.0, most)))
    assert effect is not None
    assert effect.reduction is verdict


def test_one_level_has_no_effect_to_tell() -> None:
    assert entropy_effect((Level(0.0, (1.0, 1.0)),)) is None


def test_loss_is_against_reads_alone() -> None:
    levels = levels_of([(0.0, 400.0), (5.0, 120.0), (100.0, 50.0)])
    assert loss_pct(levels, 5) == pytest.approx(70)  # the range of 50 to 80 % that LSI tells
    assert loss_pct(levels, 10) is None
    assert loss_pct(levels[1:], 5) is None
