"""What a sweep varies: names with their values, and all combinations of them."""

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Final, Self

from msgspec import Struct

from openpts.errors import UsageError

MOST_POINTS: Final = 1_000_000
_RANGE: Final = re.compile(r"([^:]+):([^:]+):([0-9]{1,6})(:log)?")
_LIKE_A_RANGE: Final = re.compile(r"[0-9.]+:[0-9.]+(:[^,]*)?")
_LEAST_COUNT: Final = 2
_DIGITS: Final = 10


class Axis(Struct, frozen=True):
    """One thing that differs between points, and the words for its values."""

    name: str
    values: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """``NAME=VALUE,VALUE,...``, or ``NAME=FROM:TO:COUNT`` with ``:log`` for equal ratios.

        Raises UsageError.
        """
        name, equals, words = text.partition("=")
        if not name or not equals or not words:
            raise UsageError(f"invalid --vary {text!r}: write NAME=1,2,4 or NAME=1.0:2.0:11")
        found = _RANGE.fullmatch(words)
        if found is None and _LIKE_A_RANGE.fullmatch(words):
            raise UsageError(f"invalid --vary {text!r}: a range is FROM:TO:COUNT, or FROM:TO:COUNT:log")
        values = tuple(_between(text, *found.groups())) if found else tuple(words.split(","))
        if found and len(set(values)) < len(values):
            raise UsageError(f"invalid --vary {text!r}: the range has not so many different whole numbers")
        if "" in values or len(set(values)) < len(values):
            raise UsageError(f"invalid --vary {text!r}: give each value once")
        return cls(name.strip().removeprefix("--"), values)


def _between(text: str, first: str, last: str, count_text: str, log: str | None) -> Iterator[str]:
    """Evenly spaced numbers, both ends among them; whole where both ends are."""
    try:
        low, high = float(first), float(last)
    except ValueError:
        raise UsageError(f"invalid --vary {text!r}: a range is between two numbers") from None
    count = int(count_text)
    if count < _LEAST_COUNT or (log and min(low, high) <= 0):
        why = "a range with equal ratios has positive ends" if log else "a range has two values at least"
        raise UsageError(f"invalid --vary {text!r}: {why}")
    whole = first.isdecimal() and last.isdecimal()
    for step in range(count):
        share = step / (count - 1)
        value = low * (high / low) ** share if log else low * (1 - share) + high * share
        yield str(round(value)) if whole else f"{value:.{_DIGITS}g}"


Combination = tuple[tuple[str, str], ...]
"""A value for each axis, by the axis' name."""


def combinations(axes: Sequence[Axis]) -> list[Combination]:
    """All of them, the last axis varying fastest. Raises UsageError for an axis given twice, or too many."""
    names = [axis.name for axis in axes]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"--vary {twice[0]} is given twice: name all its values in one")
    count = 1
    for axis in axes:
        count *= len(axis.values)
    if count > MOST_POINTS:
        raise UsageError(f"{count:,} combinations are more than {MOST_POINTS:,}: use fewer values")
    return [tuple(zip(names, values, strict=True)) for values in itertools.product(*(a.values for a in axes))]
