"""The streams that a test applies: vectors by hand, with ties."""

from fractions import Fraction

import pytest

from openpts_traces.characteristics.applied_workload import CountedStream, applied_workload


def streams(*counts: tuple[str, int, int]) -> list[CountedStream]:
    return [
        CountedStream(name, "read" if name.endswith("R") else "write", "rnd", 4096, ios, size)
        for name, ios, size in counts
    ]


@pytest.mark.parametrize(
    ("counts", "chosen"),
    [
        # the cover is reached, and what is left out is below 3 %
        ([("a R", 80, 1), ("b W", 18, 1), ("c W", 2, 1)], ["a R", "b W"]),
        # a stream of exactly 3 % is not left out
        ([("a R", 94, 1), ("b W", 3, 1), ("c W", 2, 1), ("d W", 1, 1)], ["a R", "b W"]),
        # small streams are taken until the cover is reached
        (
            [("a R", 70, 1), *((f"s{n:02} W", 2, 1) for n in range(15))],
            ["a R", *(f"s{n:02} W" for n in range(5))],
        ),
        # at most nine, whatever the cover
        ([(f"s{n:02} W", 5, 1) for n in range(20)], [f"s{n:02} W" for n in range(9)]),
        # ties go by bytes, then by name
        ([("b R", 40, 8), ("a R", 40, 8), ("c R", 20, 9)], ["a R", "b R", "c R"]),
        ([("a R", 49, 8), ("b R", 49, 9), ("d W", 1, 1), ("c W", 1, 1)], ["b R", "a R"]),
    ],
)
def test_selection(counts: list[tuple[str, int, int]], chosen: list[str]) -> None:
    applied = applied_workload(streams(*counts))
    assert [one.stream.name for one in applied.streams] == chosen
    assert sum(one.applied_share for one in applied.streams) == 1
    assert sum(one.share for one in applied.streams) == applied.cover


def test_the_mix_by_bytes_changes_with_what_is_dropped() -> None:
    applied = applied_workload(streams(("a R", 98, 98), ("big W", 2, 902)))
    assert applied.read_mix == (Fraction(98, 100), Fraction(98, 1000))
    assert applied.applied_read_mix == (1, 1)
    assert applied.cover == Fraction(98, 100)


def test_nothing_has_no_streams() -> None:
    assert applied_workload([]).streams == ()
