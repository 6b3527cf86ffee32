"""Whatever is collapsed is what was there, told once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openpts.planning.plan import collapsed


@given(st.lists(st.sampled_from("abc")))
def test_nothing_is_lost_and_nothing_is_added(items) -> None:
    found = collapsed(items)
    assert [item for again in found for _ in range(again.count) for item in again.pattern] == items


@pytest.mark.parametrize(
    ("items", "found"),
    [
        ("", []),
        ("aaaa", [("a", 4)]),
        ("ababab", [("ab", 3)]),
        ("abababc", [("ab", 3), ("c", 1)]),
        ("aab", [("a", 2), ("b", 1)]),
        ("abc", [("a", 1), ("b", 1), ("c", 1)]),
    ],
)
def test_patterns_of_one_and_two_are_found(items, found) -> None:
    assert [("".join(again.pattern), again.count) for again in collapsed(items)] == found


def test_what_counts_as_a_repetition_can_be_said() -> None:
    rounds = [("round", number) for number in range(1, 26)]
    (only,) = collapsed(rounds, lambda first, item, n: item == (first[0], first[1] + n))
    assert (only.pattern, only.count) == ((("round", 1),), 25)
