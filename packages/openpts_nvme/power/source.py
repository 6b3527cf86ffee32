"""A source of watts: what it is, and its samples in pieces."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, islice
from math import fsum
from operator import sub
from typing import Final, Protocol

from openpts.errors import OpenptsError
from openpts.units import NS_PER_MS, NS_PER_S, NS_PER_US


class MeterError(OpenptsError):
    """A meter can't be reached, or says what can't be understood; the text says what to do."""


class PowerSource(Protocol):
    """Watts from somewhere.

    ``what`` says what is metered, how often and how exactly. ``period_ns`` is the time of a sample; it is
    known when the first piece has come.
    """

    what: str
    period_ns: float

    def pieces(self) -> Iterator[list[float]]:
        """Samples as they come, until the caller ends it. Raises MeterError."""


# PCM-1: the mean of any second, sampled every 2 ms at least; PCM-2: of any 100 us
MEAN_WINDOW_NS: Final = NS_PER_S
PEAK_WINDOW_NS: Final = 100 * NS_PER_US
_BLOCK_NS: Final = NS_PER_MS


class _Sliding:
    """The largest mean of any ``length`` values one behind the other."""

    def __init__(self, length: int) -> None:
        self._length = length
        self._tail: list[float] = []
        self.largest: float | None = None

    def add(self, values: Iterable[float]) -> None:
        joined = [*self._tail, *values]
        sums = list(accumulate(joined, initial=0.0))
        if len(joined) >= self._length:
            mean = max(map(sub, islice(sums, self._length, None), sums)) / self._length
            self.largest = mean if self.largest is None else max(self.largest, mean)
        self._tail = joined[1 - self._length :] if self._length > 1 else []


class PowerWindows:
    """What watts amount to: samples of ``period_ns`` each, in pieces of any length.

    ``peak_w`` is the largest mean of any 100 us, None where samples are longer than that; ``largest_mean_w``
    that of any second, None before one has passed.
    """

    def __init__(self, period_ns: float) -> None:
        self.period_ns = period_ns
        self.samples = 0
        self._sum_w = 0.0
        self._in_block = max(1, round(_BLOCK_NS / period_ns))
        self._block: list[float] = []
        self._seconds = _Sliding(max(1, round(MEAN_WINDOW_NS / (self._in_block * period_ns))))
        in_peak = round(PEAK_WINDOW_NS / period_ns)
        self._peaks = _Sliding(in_peak) if in_peak else None

    def add(self, watts: Sequence[float]) -> None:
        """The next samples."""
        self.samples += len(watts)
        self._sum_w += fsum(watts)
        if self._peaks is not None:
            self._peaks.add(watts)
        self._block.extend(watts)
        whole = len(self._block) // self._in_block * self._in_block
        self._seconds.add(
            fsum(self._block[at : at + self._in_block]) / self._in_block
            for at in range(0, whole, self._in_block)
        )
        del self._block[:whole]

    @property
    def elapsed_s(self) -> float:
        """Time of all samples."""
        return self.samples * self.period_ns / NS_PER_S

    @property
    def joules(self) -> float:
        """Energy of all samples."""
        return self._sum_w * self.period_ns / NS_PER_S

    @property
    def mean_w(self) -> float | None:
        """Mean power; None without a sample."""
        return self._sum_w / self.samples if self.samples else None

    @property
    def largest_mean_w(self) -> float | None:
        """The largest mean of any second (PCM-1)."""
        return self._seconds.largest

    @property
    def peak_w(self) -> float | None:
        """The largest mean of any 100 us (PCM-2)."""
        return None if self._peaks is None else self._peaks.largest
