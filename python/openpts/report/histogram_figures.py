"""Response times of a histogram as figures for machines."""

from typing import Any

from openpts.analysis.response_times import ResponseTimes, nines_percentile
from openpts.units import NS_PER_MS


def times_figures(times: ResponseTimes | None, nines: int | None) -> dict[str, Any] | None:
    """Response times of a histogram, JSON-ready; a percentile that the I/Os don't suffice for is None."""
    if times is None:
        return None
    percentiles = {
        f"p{nines_percentile(n):.10f}".rstrip("0").replace(".", "_") + "_ms": _ms(
            times.percentile_ns(nines_percentile(n))
        )
        for n in sorted({3, 4, 5, nines or 5})
    }
    return {
        "ios": times.ios,
        "recorded_ios": times.recorded_ios,
        "elapsed_s": times.elapsed_ns / 1e9,
        "iops": times.iops,
        "art_ms": _ms(times.art_ns),
        **percentiles,
        "mrt_ms": _ms(times.mrt_ns),
    }


def _ms(value_ns: float | None) -> float | None:
    return None if value_ns is None else value_ns / NS_PER_MS
