"""Response times of a histogram as figures for machines."""

from typing import Any

from openpts.analysis.response_times import ResponseTimes, nines_percentile
from openpts.units import in_ms


def times_figures(times: ResponseTimes | None, nines: int | None) -> dict[str, Any] | None:
    """Response times of a histogram, JSON-ready; a percentile that the I/Os don't suffice for is None."""
    if times is None:
        return None
    percentiles = {
        f"p{nines_percentile(n):.10f}".rstrip("0").replace(".", "_") + "_ms": in_ms(
            times.percentile_ns(nines_percentile(n))
        )
        for n in sorted({3, 4, 5, nines or 5})
    }
    return {
        "ios": times.ios,
        "recorded_ios": times.recorded_ios,
        "elapsed_s": times.elapsed_ns / 1e9,
        "iops": times.iops,
        "art_ms": in_ms(times.mean_latency_ns),
        **percentiles,
        "mrt_ms": in_ms(times.max_latency_ns),
    }
