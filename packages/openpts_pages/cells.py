"""Numbers as the report prints them: one cell, raw value beside its text (design: section 7).

English format: comma for thousands, point for decimals, no exponent, no negative zero.
"""

from openpts.units import NS_PER_MS, format_latency_ms
from openpts_pages.model import Cell


def fixed(value: float, decimals: int, unit: str = "") -> str:
    """A number with thousands commas and so many decimals, never ``-0``."""
    text = f"{value:,.{decimals}f}"
    if text.startswith("-") and not text.strip("-0.,"):
        text = text[1:]
    return f"{text} {unit}" if unit else text


def signed(value: float, decimals: int, unit: str = "") -> str:
    """As ``fixed``, with a plus sign where it is one."""
    text = fixed(value, decimals, unit)
    return f"+{text}" if value > 0 and not text.lstrip("+").startswith("0." + "0" * decimals) else text


def number(value: float, decimals: int, *, note: str = "", tone: str = "") -> Cell:
    """A plain number."""
    return Cell(fixed(value, decimals), value, note, tone)


def number_or(absent: str, value: float | None, decimals: int, *, per: float = 1) -> Cell:
    """A plain number, in ``1 / per`` of its unit, or why there is none."""
    return missing(absent) if value is None else number(value if per == 1 else value / per, decimals)


def count(value: int) -> Cell:
    """A number of things, with thousands commas."""
    return Cell(f"{value:,}", float(value))


def none() -> Cell:
    """A place that belongs to another row or column."""
    return Cell("-")


def percent(value: float, decimals: int = 1, *, plus: bool = False) -> Cell:
    """A share in per cent; ``plus`` shows the sign of a difference."""
    return Cell(signed(value, decimals) if plus else fixed(value, decimals), value)


def percent_or(absent: str, value: float | None, decimals: int = 1, *, plus: bool = False) -> Cell:
    """A share in per cent, or why there is none."""
    return missing(absent) if value is None else percent(value, decimals, plus=plus)


def latency(value_ns: float | None, *, note: str = "") -> Cell:
    """A response time: text in ms with three significant digits, value in ms. None: no I/O was timed."""
    if value_ns is None:
        return missing("no I/O timed")
    return Cell(format_latency_ms(value_ns), value_ns / NS_PER_MS, note)


def too_few(ios: int) -> Cell:
    """A percentile that so many I/Os in the histogram don't suffice for; none are there without one."""
    return missing(f"N = {ios:,}" if ios else "no distribution")


def missing(reason: str) -> Cell:
    """A missing value, and why it is missing."""
    return Cell("n/a", note=reason, tone="missing")


def cpu_share(value_pct: float | None, decimals: int = 1) -> Cell:
    """Processor use in per cent; None where not every step has it."""
    return percent_or("not recorded", value_pct, decimals)


def words(text: str, *, tone: str = "", note: str = "") -> Cell:
    """A cell without a number."""
    return Cell(text, tone=tone, note=note)


def verdict(passed: bool) -> Cell:
    """pass or fail."""
    return Cell("pass", tone="pass") if passed else Cell("fail", tone="fail")
