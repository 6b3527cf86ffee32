"""Differences of two readings of a drive's log: how far counters went, and write amplification."""

from collections.abc import Mapping
from typing import Final

# steps that a counter must have gone for a ratio that is off by 2 % at most
_FEWEST_STEPS: Final = 50

COUNTERS: Final = frozenset(
    {
        "host_read_bytes",
        "host_write_bytes",
        "host_read_commands",
        "host_write_commands",
        "nand_write_bytes",
        "nand_read_bytes",
        "erases",
        "erase_count_mean",
        "erase_count_max",
        "bad_superblocks",
        "media_errors",
        "error_log_entries",
        "reallocated_sectors",
        "grown_defects",
        "bad_user_blocks",
        "bad_system_blocks",
        "throttle_events",
        "drive_throttle_events",
        "throttled_s",
        "warning_temperature_s",
        "critical_temperature_s",
        "power_on_hours",
        "power_cycles",
        "unsafe_shutdowns",
        "busy_s",
        "energy_j",
    }
)
"""Values that only grow over a device's life; all others are states."""


def change(before: Mapping[str, float], after: Mapping[str, float], name: str) -> float | None:
    """How far a counter went between two readings; None unless both have it and it did not go back."""
    first, last = before.get(name), after.get(name)
    if first is None or last is None or last < first:
        return None
    return last - first


def fine_change(before: Mapping[str, float], after: Mapping[str, float], name: str) -> float | None:
    """How far a counter went; None also where it rose by too few of its steps for a ratio."""
    went = change(before, after, name)
    least = _FEWEST_STEPS * after.get(f"{name.removesuffix('bytes')}unit_bytes", 0)
    return went if went is None or went == 0 or went >= least else None


def write_amplification(before: Mapping[str, float], after: Mapping[str, float]) -> float | None:
    """Bytes written to the media per byte that the host wrote between two readings; None if unknown.

    A counter that grows in gigabytes is too coarse for a short run: it must have gone far enough.
    """
    host = fine_change(before, after, "host_write_bytes")
    media = fine_change(before, after, "nand_write_bytes")
    return media / host if host and media else None
