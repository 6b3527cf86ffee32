"""Ranges against NumPy's, and what is said about words that make no sense."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from openpts.errors import UsageError
from openpts_many.sweep.axes import Axis, combinations

NUMBERS = st.floats(1e-6, 1e9).map(lambda value: float(f"{value:.6g}"))


@given(NUMBERS, NUMBERS, st.integers(2, 30), st.booleans())
def test_ranges_are_those_of_numpy(first: float, last: float, count: int, log: bool) -> None:
    oracle = (np.geomspace if log else np.linspace)(first, last, count)
    if len({f"{value:.9g}" for value in oracle}) < count:
        return
    axis = Axis.parse(f"x={first!r}:{last!r}:{count}{':log' if log else ''}")
    assert [float(text) for text in axis.values] == pytest.approx(oracle.tolist(), rel=1e-8)


def test_whole_ends_give_whole_numbers() -> None:
    assert Axis.parse("--qd=1:256:9:log") == Axis("qd", ("1", "2", "4", "8", "16", "32", "64", "128", "256"))
    assert Axis.parse("depth=0:10:3").values == ("0", "5", "10")


def test_words_stay_as_they_are() -> None:
    assert Axis.parse("capacity=1TB,2TB").values == ("1TB", "2TB")


def test_all_combinations_come_the_last_axis_fastest() -> None:
    found = combinations([Axis("a", ("1", "2")), Axis("b", ("x", "y"))])
    assert [[value for _, value in each] for each in found] == [
        ["1", "x"],
        ["1", "y"],
        ["2", "x"],
        ["2", "y"],
    ]


def test_what_makes_no_sense_is_refused(snapshot: SnapshotAssertion) -> None:
    said = []
    for text in (
        "",
        "qd",
        "qd=",
        "=1",
        "qd=1,1",
        "qd=1,,2",
        "qd=a:b:3",
        "qd=1:2:1",
        "qd=0:8:3:log",
        "qd=1:4",
        "qd=1:4:x",
        "qd=1:4:9",
    ):
        with pytest.raises(UsageError) as error:
            Axis.parse(text)
        said.append(str(error.value))
    for axes in (
        [Axis("qd", ("1",)), Axis("qd", ("2",))],
        [Axis(name, tuple("0123456789")) for name in "abcdefg"],
    ):
        with pytest.raises(UsageError) as error:
            combinations(axes)
        said.append(str(error.value))
    assert said == snapshot
