"""Repeated parts, listed once: a plan of a thousand steps has a dozen lines."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

_LONGEST_PATTERN = 2


@dataclass(frozen=True, slots=True)
class Repeated(Generic[T]):
    """A pattern of one or two items, and how often it comes without anything between."""

    pattern: tuple[T, ...]
    count: int


def collapsed(
    items: Sequence[T], follows: Callable[[T, T, int], bool] | None = None
) -> tuple[Repeated[T], ...]:
    """The items in their order, with repetitions counted.

    ``follows(first, item, n)`` says whether an item is the nth repetition of the pattern's own one; without
    it, equal items are.
    """
    same = follows or (lambda first, item, _number: first == item)
    found: list[Repeated[T]] = []
    start = 0
    while start < len(items):
        counts = {length: _count(items, start, length, same) for length in range(1, _LONGEST_PATTERN + 1)}
        length = max(counts, key=lambda length: (counts[length] - 1) * length)
        found.append(Repeated(tuple(items[start : start + length]), counts[length]))
        start += length * counts[length]
    return tuple(found)


def _count(items: Sequence[T], start: int, length: int, same: Callable[[T, T, int], bool]) -> int:
    """How often the items from ``start`` on come, at least once."""
    pattern, count = items[start : start + length], 1
    while True:
        begin = start + count * length
        following = items[begin : begin + length]
        if len(following) < length or not all(
            same(first, item, count) for first, item in zip(pattern, following, strict=True)
        ):
            return count
        count += 1
