"""The time scale: every duration and every repetition of a test shortened by the same factor.

Amounts of data (passes, drive fills, per cent of the capacity) stay: what a drive has been through doesn't
depend on how long its elements last.
"""

from typing import Any, Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.steady_state import WINDOW_ROUNDS
from openpts.errors import UsageError
from openpts.units import NS_PER_MS

SHORTEST_NS: Final = NS_PER_MS
"""No duration gets shorter: below it, an element would hold the ramp of its queue and nothing else."""

FEWEST: Final = {"max_rounds": WINDOW_ROUNDS, "cycles": 1}
"""Repetitions that are scaled, and how many are left at the least; a window has five rounds."""

C = TypeVar("C")


def at_time_scale(conditions: C, scale: float) -> C:
    """The conditions with all durations and repetitions times ``scale``, more than 0 and at most 1.

    Durations are the fields that end in ``_ns``, also of wait states and access groups, except those that the
    conditions list as ``unscaled``. Raises UsageError for another scale.
    """
    if not 0 < scale <= 1:
        raise UsageError(f"a time scale is more than 0 and at most 1, not {scale:g}")
    given: Any = conditions
    unscaled = (*getattr(given, "unscaled", ()), "time_scale")
    changes = {
        name: _scaled(name, getattr(given, name), scale)
        for name in given.__struct_fields__
        if name not in unscaled
    }
    scaled: C = replace(given, **changes, time_scale=given.time_scale * scale)
    return scaled


def _scaled(name: str, value: Any, scale: float) -> Any:
    if isinstance(value, tuple):
        return tuple(_scaled(name, entry, scale) for entry in value)
    if isinstance(value, Struct):
        fields = value.__struct_fields__
        return replace(value, **{field: _scaled(field, getattr(value, field), scale) for field in fields})
    if name in FEWEST:
        return min(value, max(FEWEST[name], round(value * scale)))
    if name.endswith("_ns") and value is not None:
        return min(value, max(SHORTEST_NS, round(value * scale)))
    return value
