"""Courses of writes at two rates: where the first one ends, and how much lies at which."""

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Final

from msgspec import Struct

from openpts.vocabulary.sample import Sample

_FALL: Final = 0.75
"""A rate that stays below so much of what it was has fallen."""
_BEFORE, _AFTER, _MOST_AFTER = 2, 3, 6
"""Windows that show what it was, and that it stays: so many at least, and at most."""
_LOW: Final = 2 / 3
"""Of these: a cache that is folded takes some in again."""
_AROUND: Final = 8
"""Windows on either side of a fall by which both rates are known."""


class Window(Struct, frozen=True):
    """A part of a course of writes: bytes written before it, bytes and time of its own."""

    start_bytes: float
    bytes: float
    elapsed_ns: float

    @property
    def bytes_per_s(self) -> float:
        """Mean rate."""
        return 1e9 * self.bytes / self.elapsed_ns


def windows_of(samples: Iterable[Sample], start_bytes: float = 0) -> list[Window]:
    """Writes of steps as windows of one course, before which so much was written."""
    done, windows = start_bytes, []
    for sample in samples:
        if sample.write.bytes and sample.elapsed_ns:
            windows.append(Window(done, sample.write.bytes, sample.elapsed_ns))
        done += sample.write.bytes
    return windows


class Fall(Struct, frozen=True):
    """A rate that fell: after so many bytes, from one rate to another, in window number ``window``."""

    at_bytes: float
    before_bytes_per_s: float
    after_bytes_per_s: float
    window: int


def at_higher_rate(window: Window, higher_bytes_per_s: float, lower_bytes_per_s: float) -> float:
    """Bytes of a window at the higher of two rates, if it is to take the time that it took."""
    if higher_bytes_per_s <= lower_bytes_per_s:
        return 0.0
    if not lower_bytes_per_s:
        return window.bytes
    lower_s = window.bytes / lower_bytes_per_s
    saved_s = lower_s - window.elapsed_ns / 1e9
    share = saved_s / (1 / lower_bytes_per_s - 1 / higher_bytes_per_s)
    return min(max(share, 0.0), window.bytes)


def first_fall(windows: Sequence[Window]) -> Fall | None:
    """The first low window from which on most are; None if there is none."""
    rates = [window.bytes_per_s for window in windows]
    for number in range(_BEFORE, len(windows) - _AFTER + 1):
        before = median(rates[max(0, number - _AROUND) : number])
        low = [rate < _FALL * before for rate in rates[number : number + _MOST_AFTER]]
        if low[0] and sum(low) >= _LOW * len(low):
            return _placed(windows, number, before)
    return None


def _placed(windows: Sequence[Window], number: int, before: float) -> Fall:
    after = sum(one.bytes for one in windows[number + 1 : number + 1 + _AROUND])
    after_s = sum(one.elapsed_ns for one in windows[number + 1 : number + 1 + _AROUND]) / 1e9
    low = after / after_s if after_s else windows[number].bytes_per_s
    fallen = windows[number]
    # a cache that is folded takes some in again before long: what comes first is as slow as the slowest
    slowest = min((one.bytes_per_s for one in windows[number + 1 : number + 1 + _AROUND]), default=low)
    at_bytes = fallen.start_bytes + at_higher_rate(fallen, before, slowest)
    return Fall(at_bytes, before, low, number)
