"""Sentences of the report of thermal throttling, with the rule."""

from typing import Final

from openpts.pages import cells
from openpts.pages.model import Verdict
from openpts.units import GB, MB, format_duration
from openpts_practice.thermal.phases import Load, ThermalRun
from openpts_practice.thermal.results import (
    HOT_WITHIN_K,
    SLOW_SHARE,
    WARMED_BY_K,
    Evidence,
    whole_minutes,
)

_NO_LOSS_SHARE: Final = 0.95

RULE: Final = (
    "Rule: the drive's own report decides, or a throttle counter of its log that rises; without either, a "
    f"minute is throttled if its mean is below {100 * SLOW_SHARE:g} % of the first minute of the cold run "
    f"while the temperature is within {HOT_WITHIN_K} K of the highest, in a run that warmed the drive by "
    f"{WARMED_BY_K} K."
)


def load_verdict(measured: ThermalRun, number: int, name: str) -> Verdict:
    """Whether a load was slowed down by heat; ``fail`` only if that is not known."""
    load = measured.loads.get(number)
    if load is None:
        return Verdict(f"{name}: n/a (not measured).", "fail")
    throttling = load.throttling
    if throttling.evidence is Evidence.UNKNOWN:
        return Verdict(
            f"{name}: n/a (the record has neither temperatures of this drive nor its own report on "
            "throttling).",
            "fail",
        )
    length = format_duration(load.length_ns)
    if not throttling.seen:
        slow = _slow_minutes(load, measured.conditions.minute_ns)
        return Verdict(f"{name}: no throttling seen in {length}{highest_text(load)}.{slow}")
    own_word = throttling.evidence is Evidence.DRIVE
    words = (
        "throttled, as the drive reports"
        if own_word
        else "slow while hot, which looks like throttling; the drive does not report it"
    )
    return Verdict(f"{name}: {words}. {_since_text(load)}{_cost_text(load)}{highest_text(load)}.")


def _since_text(load: Load) -> str:
    throttling = load.throttling
    assert throttling.first_ns is not None  # noqa: S101 the caller looked
    written = cells.fixed((throttling.bytes_before or 0) / GB, 1)
    share = cells.fixed(100 * (throttling.share or 0.0), 1)
    return (
        f"It began after {format_duration(throttling.first_ns)} and {written} GB; {share} % of the time with "
        "I/O was throttled"
    )


def _cost_text(load: Load) -> str:
    before, during = load.throttling.before_bytes_per_s, load.throttling.throttled_bytes_per_s
    if before is None or during is None or not before:
        return ""
    rates = f"{cells.fixed(before / MB, 0)} MB/s before, {cells.fixed(during / MB, 0)} MB/s throttled"
    if during >= _NO_LOSS_SHARE * before:
        return f", which cost no speed ({rates})"
    return f": {rates}, {cells.fixed(100 * during / before, 0)} % of it"


def highest_text(load: Load) -> str:
    """The highest temperature of a load; empty where none is known."""
    highest_c = highest_temperature_c(load)
    return "" if highest_c is None else f"; highest temperature {highest_c:.0f} °C"


def highest_temperature_c(load: Load) -> float | None:
    """The highest temperature in a load."""
    known = [point.temperature_c for point in load.points if point.temperature_c is not None]
    return max(known, default=None)


def _slow_minutes(load: Load, minute_ns: int) -> str:
    """A drive that slows down without heat has another reason, which is not this test's."""
    minutes = whole_minutes(load.points, minute_ns)
    slow = sum(minute.bytes_per_s < SLOW_SHARE * minutes[0].bytes_per_s for minute in minutes)
    if not slow:
        return ""
    return (
        f" {slow} of {len(minutes)} stretches of {format_duration(minute_ns)} were below "
        f"{100 * SLOW_SHARE:g} % of the first: by the rule not heat, perhaps a full cache."
    )
