"""Contours over a grid: where they cross, how pieces become lines, what is not known."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from openpts_practice.qos.results import contour


def test_a_line_crosses_where_the_logarithm_does() -> None:
    grid = [[1.0, 100.0], [1.0, 100.0]]
    assert contour(grid, 10) == (((0.5, 0.0), (0.5, 1.0)),)
    ((first, _second),) = contour(grid, 2)
    assert first[0] == pytest.approx(math.log10(2) / 2)


def test_a_line_through_several_squares_is_one() -> None:
    """x * y = constant: straight lines on two logarithmic axes."""
    grid = [[10.0 ** (row + column) for column in range(4)] for row in range(4)]
    ((*line,),) = contour(grid, 10**2.5)
    assert all(column + row == pytest.approx(2.5) for column, row in line)
    assert {line[0], line[-1]} == {(2.5, 0.0), (0.0, 2.5)}


def test_a_hill_has_a_ring() -> None:
    grid = [[1.0, 1.0, 1.0], [1.0, 100.0, 1.0], [1.0, 1.0, 1.0]]
    (ring,) = contour(grid, 10)
    assert ring[0] == ring[-1]
    assert set(ring) == {(0.5, 1.0), (1.0, 0.5), (1.5, 1.0), (1.0, 1.5)}


@pytest.mark.parametrize("kept_at_first", [True, False])
def test_opposite_corners_that_keep_the_limit_are_held_apart(kept_at_first: bool) -> None:
    low, high = (1.0, 100.0) if kept_at_first else (100.0, 1.0)
    lines = contour([[low, high], [high, low]], 10)
    kept = [(0, 0), (1, 1)] if kept_at_first else [(1, 0), (0, 1)]
    assert len(lines) == 2
    for line in lines:
        near = [corner for corner in kept if all(math.dist(corner, place) <= 0.5 for place in line)]
        assert len(near) == 1


def test_beside_a_load_that_is_not_carried_it_is_at_the_one_that_keeps_the_limit() -> None:
    assert contour([[1.0, math.inf], [1.0, math.inf]], 10) == (((0.0, 0.0), (0.0, 1.0)),)


def test_squares_with_a_corner_that_is_not_known_have_no_line() -> None:
    assert contour([[1.0, 100.0, 100.0], [1.0, None, 100.0]], 10) == ()


def test_where_all_or_none_keep_the_limit_there_is_no_line() -> None:
    grid = [[1.0, 2.0], [3.0, 4.0]]
    assert contour(grid, 4) == contour(grid, 0.5) == ()


_GRIDS = st.integers(2, 6).flatmap(
    lambda columns: st.lists(
        st.lists(st.one_of(st.floats(0.01, 1e6), st.just(math.inf)), min_size=columns, max_size=columns),
        min_size=2,
        max_size=6,
    )
)


@given(_GRIDS, st.floats(0.01, 1e6))
@example([[0.010000000000000002, 0.01], [math.inf, 1.0]], 0.01)
def test_lines_end_at_the_border_only(grid: Sequence[Sequence[float]], limit: float) -> None:
    """And each change between neighbors has exactly one place on them."""
    rows, columns = len(grid), len(grid[0])
    kept = [[value <= limit for value in row] for row in grid]
    changes = sum(kept[r][c] != kept[r][c + 1] for r in range(rows) for c in range(columns - 1))
    changes += sum(kept[r][c] != kept[r + 1][c] for r in range(rows - 1) for c in range(columns))
    lines = contour(grid, limit)
    rings = [line for line in lines if line[0] == line[-1] and len(line) > 3]
    assert changes <= sum(map(len, lines)) <= changes + len(lines)
    for line in lines:
        if line not in rings:
            for column, row in (line[0], line[-1]):
                assert column in {0, columns - 1} or row in {0, rows - 1}
