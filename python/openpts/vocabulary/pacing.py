"""When I/Os are issued. Rates hold for all threads together.

Where arrivals are planned (fixed rate, Poisson, burst) the loop is open: latency counts from the planned
moment, so that a device that falls behind cannot hide it.
"""

from msgspec import Struct


class ClosedLoop(Struct, frozen=True, tag="closed_loop"):
    """As soon as another one completes: QD are always outstanding."""


class FixedRate(Struct, frozen=True, tag="fixed_rate"):
    """At equal distances in time."""

    ios_per_s: float


class Poisson(Struct, frozen=True, tag="poisson"):
    """As a Poisson process of that mean rate."""

    ios_per_s: float


class Burst(Struct, frozen=True, tag="burst"):
    """So many at once, once a period."""

    ios: int
    period_ns: int


class DutyCycle(Struct, frozen=True, tag="duty_cycle"):
    """Closed loop for ``on_ns``, then nothing for ``off_ns``, from the step's start on."""

    on_ns: int
    off_ns: int


class ThinkTime(Struct, frozen=True, tag="think_time"):
    """Each of the QD waits that long after its completion."""

    think_ns: int


Pacing = ClosedLoop | FixedRate | Poisson | Burst | DutyCycle | ThinkTime
