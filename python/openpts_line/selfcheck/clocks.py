"""The kernel's clocks against each other, over the time of the check."""

import time
from typing import Final

from msgspec import Struct

from openpts.units import NS_PER_S
from openpts_line.selfcheck.finding import Expectations, Finding

_TRIES: Final = 50
_LARGEST_PPM: Final = 1000
"""NTP slews by 500 ppm at most; a clock that is off by more would be in every figure."""
_JITTER_NS: Final = 20_000
_PER_MILLION: Final = 1e6


class ClockReading(Struct, frozen=True):
    """All clocks at one moment, ns; ``width_ns`` is how far apart the readings lie."""

    monotonic_ns: int
    raw_ns: int
    real_ns: int
    width_ns: int

    @classmethod
    def now(cls) -> "ClockReading":
        """The tightest of some readings, so that one that was interrupted does not count."""
        return min((cls._once() for _ in range(_TRIES)), key=lambda reading: reading.width_ns)

    @classmethod
    def _once(cls) -> "ClockReading":
        first_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        raw_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        real_ns = time.clock_gettime_ns(time.CLOCK_REALTIME)
        last_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        return cls((first_ns + last_ns) // 2, raw_ns, real_ns, last_ns - first_ns)


def judge_clocks(first: ClockReading, last: ClockReading) -> Finding:
    """Rates of CLOCK_MONOTONIC_RAW and CLOCK_REALTIME against CLOCK_MONOTONIC between two readings."""
    span_ns = last.monotonic_ns - first.monotonic_ns
    raw_ppm = _PER_MILLION * ((last.raw_ns - first.raw_ns) / span_ns - 1)
    real_ppm = _PER_MILLION * ((last.real_ns - first.real_ns) / span_ns - 1)
    within_ppm = _LARGEST_PPM + _PER_MILLION * (_JITTER_NS + first.width_ns + last.width_ns) / span_ns
    found = Expectations()
    found.near("rate of CLOCK_MONOTONIC_RAW against CLOCK_MONOTONIC (ppm)", raw_ppm, 0, within_ppm)
    found.near("rate of CLOCK_REALTIME against CLOCK_MONOTONIC (ppm)", real_ppm, 0, within_ppm)
    figures = {"span_s": span_ns / NS_PER_S, "raw_ppm": raw_ppm, "real_ppm": real_ppm}
    text = f"CLOCK_MONOTONIC against RAW and REALTIME over {span_ns / NS_PER_S:.1f} s"
    return found.finding("clocks", text, figures)
