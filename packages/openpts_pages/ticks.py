"""Axes with round numbers: domain and ticks chosen here, so that every renderer draws the same."""

import math
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from openpts.units import NS_PER_S
from openpts_pages.model import Axis

_SPAN_FOR_LOG = 10
LEAST_SPAN: Final = 0.05
"""Of the level, on a linear axis that does not begin at 0: noise of a flat line must not fill the plot."""
_DECADES_FOR_125 = 2
_FEWEST_TICKS = 3
_EACH_TICKED = 10
_FACTORS: Final = ((1,), (1, 2, 5), (1, 1.5, 2, 3, 5, 7), (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9))
_MINUTE_NS: Final = 60 * NS_PER_S
_HOUR_NS: Final = 60 * _MINUTE_NS
_HOURS_FROM_NS: Final = 3 * _HOUR_NS
_SECONDS_BELOW_NS: Final = 3 * _MINUTE_NS
_MOST_TIME_TICKS: Final = 9
_SIXTIETHS: Final = (1, 2, 5, 10, 15, 20, 30, 60)
_HOURS: Final = (0.5, 1, 2, 3, 4, 6, 12, 24)


def rounds_axis(last_round: int) -> Axis:
    """Rounds 1 to x, each ticked up to fifteen, then every fifth."""
    step = 1 if last_round <= 15 else 5
    ticks = [n for n in range(1, last_round + 1) if n % step == 0 or n == 1]
    return Axis("Round", "linear", (0.5, last_round + 0.5), tuple(map(float, ticks)))


def window_axis(rounds: Sequence[int], title: str = "Round") -> Axis:
    """The rounds of a measurement window, each ticked."""
    return Axis(title, "linear", (rounds[0] - 0.25, rounds[-1] + 0.25), tuple(map(float, rounds)))


def amount_axis(title: str, values: Sequence[float]) -> Axis:
    """Values of a quantity: logarithmic where they span more than 10 : 1, else linear from 0."""
    positive = [value for value in values if value > 0]
    if positive and max(positive) > _SPAN_FOR_LOG * min(positive):
        return log_axis(title, positive)
    return linear_axis(title, 0, max(positive, default=1.0))


def log_axis(title: str, values: Iterable[float]) -> Axis:
    """Logarithmic; ticks at powers of ten, below two decades at 1, 2, 5; closer where these are too few.

    Values of 0 have no place on it: a response time of 0 ns is one that a simulated drive can have.
    """
    positive = [value for value in values if value > 0] or [1.0]
    low, high = min(positive), max(positive)
    domain = (low / 1.35, high * 1.35)
    below = math.log10(domain[1] / domain[0]) < _DECADES_FOR_125
    ticks: tuple[float, ...] = ()
    for factors in _FACTORS[1 if below else 0 :]:
        ticks = _log_ticks(domain, factors)
        if len(ticks) >= _FEWEST_TICKS:
            break
    return Axis(title, "log", domain, ticks)


def _log_ticks(domain: tuple[float, float], factors: Sequence[float]) -> tuple[float, ...]:
    """Ticks at ``factors`` times powers of ten, as far as they lie on the axis."""
    first, last = math.floor(math.log10(domain[0])), math.ceil(math.log10(domain[1]))
    # as decimal text has them: binary multiples leave dust that a label would show
    ticks = [float(f"{factor}e{exponent}") for exponent in range(first, last + 1) for factor in factors]
    return tuple(tick for tick in ticks if domain[0] <= tick <= domain[1])


def block_size_axis(block_sizes_kib: Sequence[float]) -> Axis:
    """Block size in KiB, logarithmic, every size ticked."""
    domain = (min(block_sizes_kib) / 1.3, max(block_sizes_kib) * 1.3)
    return Axis("Block size (KiB)", "log", domain, tuple(block_sizes_kib), commas=False)


def linear_axis(title: str, low: float, high: float) -> Axis:
    """Linear between two values, with five to eight round ticks; an end at 0 stays there.

    It spans at least ``LEAST_SPAN`` of the larger value.
    """
    missing = LEAST_SPAN * max(abs(low), abs(high)) - (high - low)
    if missing > 0:
        low, high = low - missing / 2, high + missing / 2
    if high <= low:
        low, high = low - 0.5, high + 0.5
    step = _round_step((high - low) / 6)
    start = low if low == 0 else math.floor(low / step) * step
    count = math.ceil((high - start) / step - 1e-9)
    ticks = tuple(_snapped(start + n * step, step) for n in range(count + 1))
    return Axis(title, "linear", (ticks[0], ticks[-1]), ticks)


def span_axis(title: str, low: float, high: float) -> Axis:
    """Linear and no longer than its values, with round ticks: drive fills, GB written, shares of a range."""
    if high <= low:
        return linear_axis(title, low, high)
    return Axis(title, "linear", (low, high), _ticks_within(low, high, _round_step((high - low) / 7)))


def whole_axis(title: str, first: float, last: float) -> Axis:
    """Whole numbers from one to another, each ticked up to ten: there is no half of a cycle."""
    low, high = first - 0.5, last + 0.5
    step = 1.0 if high - low <= _EACH_TICKED else _round_step((high - low) / 7)
    return Axis(title, "linear", (low, high), _ticks_within(low, high, step))


def count_axis(title: str, largest: float) -> Axis:
    """Counts of I/Os, logarithmic, a tick at each power of ten: a single I/O still has a bar that is seen."""
    last = math.ceil(math.log10(max(1.0, largest) * 1.2))
    return Axis(title, "log", (0.6, 10.0**last), tuple(10.0**n for n in range(last + 1)))


def nines_axis(title: str, nines: int) -> Axis:
    """Per cents from 0 to so many nines: 90, 99, 99.9 % are equally far apart."""
    ticks = (0.0, *(round(100 - 10.0 ** (2 - n), max(0, n - 2)) for n in range(1, nines + 1)))
    return Axis(title, "nines", (0.0, ticks[-1]), ticks, tuple(f"{tick:.15g} %" for tick in ticks))


class TimeAxis(Struct, frozen=True):
    """An axis of time and its unit: ``unit_name`` is s, min or h. All x on it are ``place`` of a time."""

    axis: Axis
    unit_name: str
    unit_ns: int

    def place(self, time_ns: float) -> float:
        """A time in the axis's unit: the x of a table's row or column."""
        return time_ns / self.unit_ns


def time_axis(title: str, first_ns: float, last_ns: float) -> TimeAxis:
    """``title (h)`` from the first time to the last: in s below 3 min, in min below 3 h, else in h."""
    span_ns = last_ns - first_ns
    steps: tuple[float, ...]
    if span_ns < _SECONDS_BELOW_NS:
        name, unit_ns, steps = "s", NS_PER_S, _SIXTIETHS
    elif span_ns < _HOURS_FROM_NS:
        name, unit_ns, steps = "min", _MINUTE_NS, _SIXTIETHS
    else:
        name, unit_ns, steps = "h", _HOUR_NS, _HOURS
    low, high = first_ns / unit_ns, last_ns / unit_ns
    rough = (high - low) / _MOST_TIME_TICKS
    step = next((step for step in steps if step >= rough), None)
    if step is None or rough < steps[0] / 2:
        axis = span_axis(f"{title} ({name})", low, high)
    else:
        axis = Axis(f"{title} ({name})", "linear", (low, high), _ticks_within(low, high, step))
    return TimeAxis(axis, name, unit_ns)


def around_axis(title: str, average: float, share: float, values: Sequence[float]) -> Axis:
    """Linear around an average, ``share`` to each side, wider only if the values need it."""
    low = min(average * (1 - share), *values)
    high = max(average * (1 + share), *values)
    if high <= low:
        return linear_axis(title, low, high)
    margin = 0.0 if (low, high) == (average * (1 - share), average * (1 + share)) else 0.04 * (high - low)
    domain = (low - margin, high + margin)
    ticks = _ticks_within(*domain, _round_step((domain[1] - domain[0]) / 8))
    return Axis(title, "linear", domain, ticks)


def _ticks_within(low: float, high: float, step: float) -> tuple[float, ...]:
    """All multiples of the step between two values."""
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return tuple(_snapped(n * step, step) for n in range(first, last + 1))


def _round_step(rough: float) -> float:
    """The step of 1, 2 or 5 times a power of ten that is nearest above."""
    magnitude = 10.0 ** math.floor(math.log10(rough))
    return next(factor * magnitude for factor in (1, 2, 5, 10) if factor * magnitude >= rough * (1 - 1e-9))


def _snapped(value: float, step: float) -> float:
    """The value without the binary dust that adding up steps leaves."""
    decimals = max(0, -math.floor(math.log10(step)) + 1)
    return round(value, decimals)
