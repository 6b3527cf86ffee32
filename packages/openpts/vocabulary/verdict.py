"""Verdicts on a measurement window, deviations from the specification, and which way is better."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.units import MB, NS_PER_MS, format_block_size
from openpts.vocabulary.sample import Measured, StepPlace
from openpts.vocabulary.stimulus import AccessPattern, SteadyFigure, Stimulus


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


class Deviation(Struct, frozen=True):
    """A departure from a requirement, with the value asked for and the one used.

    ``rule_id`` is the requirement's ID in docs/conformance.md; ``clause`` its place in the specification.
    ``steps``: in how many steps it was, where it is not of the entire run; ``used`` is of the worst of them.
    """

    rule_id: str
    clause: str
    required: str
    used: str
    effect: str
    steps: int = 0

    @property
    def kind(self) -> "Deviation":
        """What a ledger has once: the entry, or where it is of steps what is the same in all of them."""
        return replace(self, used="", steps=0) if self.steps else self


class StepDeviation(Struct, frozen=True):
    """A deviation in one step; of several of a kind the one of the largest ``extent`` is the worst."""

    place: StepPlace
    entry: Deviation
    extent: float


def ledger_of(found: Iterable[Deviation | StepDeviation]) -> tuple[Deviation, ...]:
    """The entries in their order; steps that deviate alike are one, in the place of the first."""
    kinds: dict[Deviation, list[StepDeviation]] = {}
    entries: list[Deviation | list[StepDeviation]] = []
    for one in found:
        if isinstance(one, Deviation):
            entries.append(one)
        elif one.entry.kind in kinds:
            kinds[one.entry.kind].append(one)
        else:
            entries.append(kinds.setdefault(one.entry.kind, [one]))
    return tuple(one if isinstance(one, Deviation) else _merged(one) for one in entries)


def _merged(alike: Sequence[StepDeviation]) -> Deviation:
    """A step that was carried out again counts once."""
    worst = max(alike, key=lambda one: one.extent).entry
    steps = len({one.place for one in alike})
    if steps == 1:
        return worst
    used = f"{steps:,} steps, {alike[0].place} to {alike[-1].place}; worst: {worst.used}"
    return replace(worst, used=used, steps=steps)


class Better(StrEnum):
    """UNJUDGED where neither way is better, such as of the ratio of a fresh drive to a steady one."""

    HIGHER = "higher"
    LOWER = "lower"
    UNJUDGED = "unjudged"
