"""What OCP's specification asks of a figure that suites of FioSynth have targets for too."""

from typing import Final

from msgspec import Struct

from openpts.units import GB, MIB


class TrimTarget(Struct, frozen=True):
    """Trims of one size, with nothing beside them, by the requirement META-PERF-2."""

    size: str
    size_bytes: int
    gib_per_s: float
    p99_ms: float = 10.0


TRIMS: Final = (TrimTarget("64 MiB", 64 * MIB, 50), TrimTarget("3 GB", 3 * GB, 500))
"""Sizes that OCP Datacenter NVMe SSD 2.7 has targets for."""
