"""What OCP's specification asks of a figure that suites of FioSynth have targets for too."""

from typing import Final

from msgspec import Struct

from openpts.units import GB, MIB
from openpts.vocabulary.limit import Limit, LimitedFigure, LimitedOperation

_P99: Final = 99.0


class TrimTarget(Struct, frozen=True):
    """Trims of one size, with nothing beside them, by the requirement META-PERF-2."""

    size: str
    size_bytes: int
    gib_per_s: float
    p99_ms: float = 10.0


TRIMS: Final = (TrimTarget("64 MiB", 64 * MIB, 50), TrimTarget("3 GB", 3 * GB, 500))
"""Sizes that OCP Datacenter NVMe SSD 2.7 has targets for."""


def ocp_asks(limit: Limit) -> str:
    """OCP's own target for what a suite limits, in words; empty if it has none."""
    if limit.operation is not LimitedOperation.TRIM:
        return ""
    if limit.figure is LimitedFigure.THROUGHPUT:
        return ", ".join(f"{each.gib_per_s:g} GiB/s of {each.size}" for each in TRIMS)
    is_p99 = limit.figure is LimitedFigure.PERCENTILE and limit.percentile == _P99
    return f"{TRIMS[0].p99_ms:g} ms" if is_p99 else ""
