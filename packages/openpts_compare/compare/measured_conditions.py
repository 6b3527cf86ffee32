"""Conditions that runs have measured, and not only declared: of their drives and purges."""

from collections.abc import Callable, Sequence
from statistics import median
from typing import Final

from msgspec import Struct

from openpts.record.health import around
from openpts.record.reader import Run


class MeasuredCondition(Struct, frozen=True):
    """One that differs where runs are farther apart than ``least``, in ``unit``."""

    label: str
    unit: str
    least: float
    read: Callable[[Run], float | None]

    def text(self, value: float | None) -> str:
        """A value with its unit."""
        return "not measured" if value is None else f"{value:,.4g} {self.unit}".rstrip()

    def differs(self, values: Sequence[float | None]) -> bool:
        """Whether those that were measured lie too far apart; what one run does not know is no difference."""
        known = [value for value in values if value is not None]
        return bool(known) and max(known) - min(known) > self.least


def _gone_pct(run: Run) -> float | None:
    purged = [one for one in run.manifest.purges if one.ran and one.samples]
    return min((100 * one.changed_samples / one.samples for one in purged), default=None)


def _temperature_c(run: Run) -> float | None:
    found = run.telemetry_series.get("temperature_c")
    return median(found.values) if found else None


def _throttled_pct(run: Run) -> float | None:
    found = run.telemetry_series.get("throttled")
    return 100 * sum(map(bool, found.values)) / len(found.values) if found else None


def _before(run: Run, key: str) -> float | None:
    before, _ = around(run.health)
    return None if before is None else before.reading.values.get(key)


def _fills(run: Run) -> float | None:
    written = _before(run, "host_write_bytes")
    return None if written is None else written / run.manifest.target.user_capacity_bytes


MEASURED: Final = (
    MeasuredCondition("Gone after the purge", "%", 1, _gone_pct),
    MeasuredCondition("Temperature of the drive, median", "°C", 3, _temperature_c),
    MeasuredCondition("Time throttled", "%", 5, _throttled_pct),
    MeasuredCondition("Endurance used before", "%", 5, lambda run: _before(run, "percentage_used_pct")),
    MeasuredCondition("Drive fills written before", "", 10, _fills),
)
