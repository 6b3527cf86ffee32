"""What ends a step."""

from enum import StrEnum
from typing import Final, Self

from msgspec import Struct

from openpts.units import NS_PER_S


class Duration(Struct, frozen=True, tag="duration"):
    """After this much time."""

    duration_ns: int

    @classmethod
    def seconds(cls, seconds: float) -> Self:
        """A duration from seconds, rounded to the nanosecond."""
        return cls(round(seconds * NS_PER_S))


class ByteAmount(Struct, frozen=True, tag="byte_amount"):
    """After this many bytes were transferred, over all threads together."""

    amount_bytes: int


class DriveFills(Struct, frozen=True, tag="drive_fills"):
    """After this many times the user capacity was transferred, over all threads together."""

    fills: float


class IoCount(Struct, frozen=True, tag="io_count"):
    """After this many I/Os, over all threads together."""

    ios: int


class SteadyFigure(StrEnum):
    """What a steady state is looked for in."""

    IOPS = "iops"
    THROUGHPUT = "throughput"
    MEAN_LATENCY = "mean_latency"


class Steady(Struct, frozen=True, tag="steady"):
    """When a figure is steady: PTS 2.1.24 over the last ``windows`` windows instead of rounds.

    The values' range must not exceed ``excursion_pct`` of their mean, nor that of their best linear fit
    ``slope_pct``.
    """

    figure: SteadyFigure
    window_ns: int
    windows: int = 5
    excursion_pct: float = 20
    slope_pct: float = 10


class FirstOf(Struct, frozen=True, tag="first_of"):
    """Whichever comes first, but not before ``at_least_ns`` have passed."""

    rules: tuple[Duration | ByteAmount | DriveFills | IoCount | Steady, ...]
    at_least_ns: int = 0


StopRule = Duration | ByteAmount | DriveFills | IoCount | Steady | FirstOf

STREAMS_END: Final = FirstOf(())
"""No rule of its own: a step ends when all its streams have ended."""


def planned_length_ns(stop: StopRule) -> int | None:
    """How long a step is to last at the most; None where no rule names a time."""
    rules = stop.rules if isinstance(stop, FirstOf) else (stop,)
    lengths_ns = [rule.duration_ns for rule in rules if isinstance(rule, Duration)]
    at_least_ns = stop.at_least_ns if isinstance(stop, FirstOf) else 0
    return max(min(lengths_ns), at_least_ns) if lengths_ns else None


# A hundredth shows in no figure of rounds that are to stay within 20 %; and less than a tenth of a second
# says nothing of steps that were shortened.
_LATE_SHARE: Final = 0.01
_LATE_NS: Final = NS_PER_S // 10


def ended_late(elapsed_ns: int, planned_ns: int) -> bool:
    """Whether a step lasted longer than planned by so much that it biases its rate.

    What is outstanding when its time is over takes time to complete: that alone is never exact.
    """
    return elapsed_ns - planned_ns > max(_LATE_NS, _LATE_SHARE * planned_ns)
