"""Values that were stored when they changed, as they were over time: each holds until the next one."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from math import fsum
from typing import Final

from msgspec import Struct

from openpts.record.health import TelemetrySeries
from openpts.units import MB, NS_PER_S

# A row of a plotted table holds so much time: as short as the rows stay few.
_MOST_ROWS: Final = 1500
_WIDTHS_S: Final = (1, 5, 10, 30, 60, 300, 600, 1800, 3600)
# What does not change is stored again within ten minutes at the most: after more than that it is not known.
_HOLDS_NS: Final = 1200 * NS_PER_S

# The ends of names, which are units, as they are shown, with what their values are divided by.
_UNITS: Final = {
    "_bytes_per_s": ("MB/s", MB),
    "_ios_per_s": ("I/Os per s", 1),
    "_gt_per_s": ("GT/s", 1),
    "_per_s": ("1/s", 1),
    "_pct": ("%", 1),
    "_mhz": ("MHz", 1),
    "_w": ("W", 1),
    "_c": ("°C", 1),
}
_WHAT: Final = {
    "cpu_engine_": "The engine's processors",
    "cpu_others_": "Other processors",
    "cpu_all_": "All processors",
    "cpu_pressure_": "Waiting for a processor",
    "cpu_quota_": "Processor quota used up",
    "cpu_throttled_": "Processors held back by heat",
    "engine_wait_": "Engine thread waiting for a processor",
    "engine_awake_": "Engine thread waiting or at work",
    "memory_use_": "Memory bandwidth used by processors",
    "memory_pressure_": "Waiting for memory",
    "others_": "Other drives",
    "power_": "Power",
    "link_": "PCIe link",
    "aer_port_": "PCIe errors, port",
    "aer_": "PCIe errors",
}


class Quantity(Struct, frozen=True):
    """A value's name in words, its unit, empty for a plain number, and what it is divided by to be in it."""

    title: str
    unit: str
    divisor: float

    @property
    def heading(self) -> str:
        """``Temperature, sensor 1 (°C)``."""
        return f"{self.title} ({self.unit})" if self.unit else self.title


def quantity(name: str) -> Quantity:
    """The label and unit of a name in the record: ``temperature_sensor_1_c``, ``cpu_engine_busy_pct``."""
    ending = next((ending for ending in _UNITS if name.endswith(ending)), "")
    unit, divisor = _UNITS.get(ending, ("", 1))
    rest = name.removesuffix(ending)
    begin = next((begin for begin in _WHAT if f"{rest}_".startswith(begin)), None)
    if begin is not None:
        words = (_WHAT[begin], rest.removeprefix(begin.rstrip("_")).replace("_", " ").strip())
    else:
        what, *of_it = rest.split("_")
        words = (what.capitalize(), " ".join(of_it))
    return Quantity(", ".join(filter(None, words)), unit, divisor)


def mean_over_time(series: TelemetrySeries) -> float:
    """Each value counts for as long as it held; the last one for as long as the shortest of the others."""
    spans = [after - before for before, after in zip(series.t_ns, series.t_ns[1:], strict=False)]
    if not any(spans):
        return series.values[-1]
    spans.append(min(span for span in spans if span))
    return fsum(span * value for span, value in zip(spans, series.values, strict=True)) / fsum(spans)


def value_at(series: TelemetrySeries, t_ns: int) -> float | None:
    """The last value that was stored until then; None before the first."""
    after = bisect_right(series.t_ns, t_ns)
    return series.values[after - 1] if after else None


def width_ns(first_ns: int, last_ns: int) -> int:
    """The shortest time for a row of a table with which there are not too many."""
    span_s = (last_ns - first_ns) / NS_PER_S
    fitting = (width_s for width_s in _WIDTHS_S if span_s <= width_s * _MOST_ROWS)
    return next(fitting, _WIDTHS_S[-1]) * NS_PER_S


def rows_of_time(
    series: TelemetrySeries, first_ns: int, row_ns: int
) -> Iterator[tuple[int, Sequence[float]]]:
    """The number of each row and its values, or the one that still held where nothing was stored in it."""
    begin, number = 0, max(0, (series.t_ns[0] - first_ns) // row_ns)
    last = (series.t_ns[-1] - first_ns) // row_ns
    while number <= last:
        end = bisect_left(series.t_ns, first_ns + (number + 1) * row_ns, begin)
        if end > begin:
            yield number, series.values[begin:end]
        elif begin and first_ns + number * row_ns - series.t_ns[begin - 1] <= _HOLDS_NS:
            yield number, series.values[begin - 1 : begin]
        begin, number = end, number + 1
