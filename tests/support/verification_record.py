"""Rows of the verification record (PTS 7.3.4, 8.3.5, 9.3.4) that follow from the settling rate."""

from collections.abc import Callable
from typing import Final

from tests.support.required_texts import Item, item


def rate(value: float) -> str:
    return f"{value:,.1f}"


def milliseconds(value: float) -> str:
    return f"{value:#.3g}"


Number = Callable[[float], str]
# Pages with their mean; its slope is 0.003 of it a round, from 0.985 of it at round 0.
WINDOWS: Final[tuple[tuple[str, str, float, Number], ...]] = (
    ("iops settling", "iops-a3", 10_000, rate),
    ("iops settling", "iops-a4", 10_000, rate),
    ("iops settling", "iops-a5", 10_000, rate),
    ("tp settling", "tp-1024-window", 10_000 * 2**20 / 1e6, rate),
    ("tp settling", "tp-128-window", 10_000 * 2**17 / 1e6, rate),
    ("lat settling", "lat-window-1", 0.1, milliseconds),
)


def of_windows(texts: Callable[[float, Number], tuple[str, ...]], *tests: str) -> tuple[Item, ...]:
    return tuple(
        item(report, page, *texts(mean, number))
        for report, page, mean, number in WINDOWS
        if not tests or report.partition(" ")[0] in tests
    )


def rounds(_mean: float, _number: Number) -> tuple[str, ...]:
    return ("Measurement Window: Start 3; End 7,",)


def average(mean: float, number: Number) -> tuple[str, ...]:
    return (f", Average, {number(mean)},",)


def allowed(mean: float, number: Number) -> tuple[str, ...]:
    return (f"Allowed range (average ±10 %): {number(0.9 * mean)} to {number(1.1 * mean)},",)


def measured(mean: float, number: Number) -> tuple[str, ...]:
    return (f"Measured range (min to max), {number(0.98 * mean)} to {number(1.02 * mean)}, pass [pass]",)


def slope(mean: float, number: Number) -> tuple[str, ...]:
    return (
        f"Allowed maximum slope excursion (10 %): {number(0.1 * mean)},",
        f"Measured maximum slope excursion, {number(0.012 * mean)} (1.2 %), pass [pass]",
    )


def correlation(_mean: float, _number: Number) -> tuple[str, ...]:
    return (", Correlation coefficient r, 0.300,",)


def determination(mean: float, number: Number) -> tuple[str, ...]:
    gain = f"{0.003 * mean:,.3f}" if number is rate else f"{0.003 * mean:.6f}"
    return (
        *average(mean, number),
        f"Allowed maximum data excursion (20 %): {number(0.2 * mean)},",
        f"Measured maximum data excursion (max - min), {number(0.04 * mean)} (4.0 %), pass [pass]",
        *slope(mean, number),
        f"Least squares linear fit: {gain} * R + {number(0.985 * mean)},",
    )


def record(mean: float, number: Number) -> tuple[str, ...]:
    """All of PTS-SSV-01 to 06."""
    parts = (rounds, average, allowed, measured, slope, correlation)
    return tuple(text for part in parts for text in part(mean, number))
