"""The verdict on a measurement window, with every figure that PTS 7.3.4 and 8.3.6 want printed."""

from enum import StrEnum
from typing import Final

from msgspec import Struct

from openpts.units import MB, NS_PER_MS, format_block_size
from openpts.vocabulary.sample import Measured
from openpts.vocabulary.stimulus import AccessPattern, Stimulus
from openpts.vocabulary.stop import SteadyFigure


class SteadyState(StrEnum):
    """What a test judges steady state by, if it looks for it."""

    NONE = "none"
    ROUNDS = "rounds"
    """Rounds of test points (PTS 7, 8, 9)."""
    MINUTES = "minutes"
    """Tracked minutes of a continuous stimulus, whose course is the result (PTS 10, 11)."""
    MINUTES_THEN_ROUNDS = "minutes then rounds"
    """Tracked minutes of the preconditioning, then rounds of operating points (PTS 13, 14)."""


class RoundPoint(Struct, frozen=True):
    """One element of a round: access pattern, block size and R/W mix (PTS 2.1.21)."""

    __test__ = False  # the name is the field's, not pytest's

    access_pattern: AccessPattern
    block_size_bytes: int
    read_pct: int

    def __str__(self) -> str:
        return f"{self.access_pattern.short} {format_block_size(self.block_size_bytes)} RW{self.read_pct}"

    def matches(self, stimulus: Stimulus | None) -> bool:
        """Whether this is the test point that the stimulus belongs to; an idle gap belongs to none."""
        return stimulus is not None and (self.access_pattern, self.block_size_bytes, self.read_pct) == (
            stimulus.access_pattern,
            stimulus.block_size_bytes,
            stimulus.read_pct,
        )


class TrackingVariable(RoundPoint, frozen=True):
    """A test point on which steady state is judged, and by which figure (PTS 2.1.24, 7.2 step 3.2.1.2.2)."""

    figure: SteadyFigure = SteadyFigure.IOPS

    @property
    def point(self) -> RoundPoint:
        """The test point itself."""
        return RoundPoint(self.access_pattern, self.block_size_bytes, self.read_pct)

    def of(self, measured: Measured) -> float:
        """The figure of what was measured at the point: in its unit of ``UNITS``; 0 without an I/O."""
        match self.figure:
            case SteadyFigure.IOPS:
                return measured.iops
            case SteadyFigure.THROUGHPUT:
                return measured.bandwidth_bytes_per_s / MB
            case SteadyFigure.MEAN_LATENCY:
                return (measured.mean_latency_ns or 0) / NS_PER_MS


UNITS: Final = {SteadyFigure.IOPS: "IOPS", SteadyFigure.THROUGHPUT: "MB/s", SteadyFigure.MEAN_LATENCY: "ms"}
"""In what unit each figure is judged and reported."""


class SteadyStateReport(Struct, frozen=True):
    """One tracking variable over one measurement window, judged by definition 2.1.24.

    Values carry the metric's unit; ``slope`` is per round. ``r`` is Pearson's correlation
    coefficient, None where it is undefined (constant values). In ``disturbed`` rounds openpts itself stood
    still: a window with one of them is never steady.
    """

    rounds: tuple[int, ...]
    values: tuple[float, ...]
    average: float
    minimum: float
    maximum: float
    allowed_range: float
    slope: float
    intercept: float
    slope_excursion: float
    allowed_slope_excursion: float
    r: float | None
    range_ok: bool
    slope_ok: bool
    inside_band: bool
    disturbed: tuple[int, ...] = ()

    @property
    def range(self) -> float:
        """Maximum minus minimum: the measured data excursion of Plot 8-3."""
        return self.maximum - self.minimum

    @property
    def range_pct(self) -> float:
        """Range in per cent of the average; the limit is 20 %."""
        return _percent(self.range, self.average)

    @property
    def slope_excursion_pct(self) -> float:
        """Rise of the best fit over the window in per cent of the average; the limit is 10 %."""
        return _percent(self.slope_excursion, self.average)

    @property
    def band(self) -> tuple[float, float]:
        """Average -10 % and +10 %, the allowed range that the verification record prints."""
        return self.average * 0.9, self.average * 1.1

    @property
    def steady(self) -> bool:
        """Whether range and slope rule of 2.1.24 hold in this window, and all of it is the device's."""
        return self.range_ok and self.slope_ok and not self.disturbed


def _percent(part: float, whole: float) -> float:
    return 100 * part / whole if whole else 0.0
