"""Conditions that a run has measured, and not only declared: of its drive, its purge, its clock."""

from collections.abc import Iterator
from statistics import median
from typing import Final

from msgspec import Struct

from openpts.record.health import around
from openpts.record.reader import Run


class Condition(Struct, frozen=True):
    """One that differs between two runs by more than ``least``, in ``unit``; ``effect`` is what it does."""

    label: str
    unit: str
    least: float
    effect: str


CLOCK: Final = "clock_ppm"
CLOCK_BOUND: Final = "clock_bound_ppm"
MEASURED: Final = {
    "purge_gone_pct": Condition("Gone after the purge", "%", 1, "what a purge leaves is collected later"),
    "drive_temperature_c": Condition("Temperature of the drive, median", "°C", 3, "heat slows drives down"),
    "throttled_pct": Condition("Time throttled", "%", 5, "the drive slowed down by itself"),
    "percentage_used_pct": Condition("Endurance used before", "%", 5, "worn drives have less spare space"),
    "host_write_fills": Condition("Drive fills written before", "", 10, "writing wears drives"),
    CLOCK: Condition("Engine's clock slower than the system's", "ppm", 20, "rates and times err with it"),
}
"""By key, the likeliest cause first."""


def measured_conditions(run: Run) -> dict[str, float]:
    """Values by the keys of ``MEASURED``, as far as the record has them."""
    return dict(_found(run))


def _found(run: Run) -> Iterator[tuple[str, float]]:
    of = run.manifest
    if purged := [one for one in of.purges if one.ran and one.samples]:
        yield "purge_gone_pct", min(100 * one.changed_samples / one.samples for one in purged)
    if temperatures := run.telemetry_series.get("temperature_c"):
        yield "drive_temperature_c", median(temperatures.values)
    if throttled := run.telemetry_series.get("throttled"):
        yield "throttled_pct", 100 * sum(map(bool, throttled.values)) / len(throttled.values)
    before, _ = around(run.health)
    values = {} if before is None else before.reading.values
    if "percentage_used_pct" in values:
        yield "percentage_used_pct", values["percentage_used_pct"]
    if "host_write_bytes" in values:
        yield "host_write_fills", values["host_write_bytes"] / of.target.user_capacity_bytes
    # a simulated drive's time is none that passes, and the clock of a resumed run stood still
    if run.clock_rate is not None and of.target.simulation is None and len(of.attempts) < 2:
        yield CLOCK, run.clock_rate.ppm
        yield CLOCK_BOUND, run.clock_rate.bound_ppm
