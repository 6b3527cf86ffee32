"""Write saturation from its record: minutes, tracked minutes, zones, response times (PTS 10.3)."""

from collections.abc import Iterable, Sequence
from itertools import takewhile
from statistics import fmean, pstdev
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.latency import ResponseTimes, response_times
from openpts.analysis.minutes import MeasuredInterval, Minute, minutes_of, pieces_of
from openpts.analysis.run_comparison import share_pct
from openpts.analysis.steady_state import WINDOW_ROUNDS, window_ending_at
from openpts.vocabulary.sample import Measured, Sample, StepState
from openpts.vocabulary.verdict import SteadyStateReport

PLATEAU_MINUTES: Final = 5
FINAL_MINUTES: Final = 30
ZONE_PCT: Final = 10.0
FEWEST_INTERVALS: Final = 8

# A minute that the end rules cut, or an interval that a step's end cut, is no record of its length.
_WHOLE: Final = 0.99


def is_whole_minute(sample: Sample, minute_ns: int) -> bool:
    """Whether a step lasted a minute as a tracked one must, and was not cut short by the end of the test."""
    return sample.state is StepState.COMPLETE and sample.elapsed_ns >= _WHOLE * minute_ns


class SaturationStep(Struct, frozen=True):
    """A step of the stimulus; ``tracked`` if it is the minute at the end of tracking round ``number``."""

    number: int
    tracked: bool
    sample: Sample


class SaturationZones(Struct, frozen=True):
    """Plateau, transition and end zone of the minutes, by the rule that the report prints.

    Minute numbers count from 1. The plateau lasts while minute means lie within 10 % of the mean of the first
    five minutes, or of the first one where those five lie further apart, and on to the fall of the intervals
    next to its end, if there is one. A fall within the first minute leaves no plateau, of 0 minutes.
    ``fresh_iops`` is the mean before the end, with ``fresh_bytes`` written until then, None where it never
    came; ``behind_iops`` that behind a fall. ``settled_from`` is the first minute after it within 10 % of
    ``final_iops``, the mean of the last thirty minutes (of the last quarter, if that is shorter). None where
    the plateau was never left, or nothing settled. The end zone lasts from there to the end; its figures are
    of its intervals: mean, lowest, coefficient of variation in per cent, and time below half of the mean. It
    is not steady state, which definition 2.1.24 alone decides. The pieces are intervals of each.
    """

    fresh_iops: float
    plateau_minutes: int
    final_iops: float
    settled_from: int | None
    fresh_bytes: int | None = None
    behind_iops: float | None = None
    end_zone_iops: float | None = None
    lowest_iops: float | None = None
    variation_pct: float | None = None
    below_half_ns: int | None = None
    fresh_pieces: tuple[MeasuredInterval, ...] = ()
    end_zone_pieces: tuple[MeasuredInterval, ...] = ()

    @property
    def plateau_iops(self) -> float | None:
        """None where the rate falls within the first minute."""
        return self.fresh_iops if self.plateau_minutes else None

    @property
    def cache_iops(self) -> float | None:
        """The rate before a fall within the first minute."""
        return None if self.plateau_minutes else self.fresh_iops

    @property
    def kept_pct(self) -> float | None:
        """IOPS of the end zone in per cent of the plateau's."""
        if self.end_zone_iops is None or self.plateau_iops is None:
            return None
        return share_pct(self.end_zone_iops, self.plateau_iops)

    @property
    def ratio(self) -> float | None:
        """IOPS of the plateau over those of the end zone."""
        return self.plateau_iops / self.end_zone_iops if self.end_zone_iops and self.plateau_iops else None


class SaturationResults(Struct, frozen=True):
    """One workload's stimulus.

    ``tracked_iops`` are those of tracking rounds 1, 2, ...; ``verdict`` judges the window that ends at
    ``steady_round`` or else at the last one, None with fewer than five. ``histogram`` is None if it never
    began.
    """

    minutes: tuple[Minute, ...]
    pieces: tuple[MeasuredInterval, ...]
    elapsed_ns: int
    written_bytes: int
    tracked_iops: tuple[float, ...]
    steady_round: int | None
    verdict: SteadyStateReport | None
    zones: SaturationZones | None
    histogram: ResponseTimes | None

    @property
    def steady(self) -> bool:
        """Whether steady state was found, and the record confirms it."""
        return self.steady_round is not None and self.verdict is not None and self.verdict.steady

    @property
    def ends_elsewhere(self) -> bool:
        """Whether the stimulus ended at another level than that at which it was found steady.

        The plateau of a drive with much spare area may outlast the capacity, and is as level as can be.
        """
        if not self.steady or self.verdict is None or self.zones is None:
            return False
        return not _near(self.zones.final_iops, self.verdict.average)


def analyze_saturation(
    steps: Sequence[SaturationStep], histogram: Sequence[Sample], minute_ns: int, steady_round: int | None
) -> SaturationResults:
    """Everything that the report needs of one workload, from its steps in order.

    ``steady_round`` is the tracking round at which the test found steady state; it only places the window.
    """
    samples = [step.sample for step in steps]
    minutes = minutes_of(samples, minute_ns)
    pieces = pieces_of(samples)
    tracked = tracked_iops(steps, minute_ns)
    found = steady_round if steady_round is not None and steady_round <= len(tracked) else None
    last = found or len(tracked)
    return SaturationResults(
        minutes=minutes,
        pieces=pieces,
        elapsed_ns=pieces[-1].end_ns if pieces else 0,
        written_bytes=sum(sample.write.bytes for sample in samples),
        tracked_iops=tracked,
        steady_round=found,
        verdict=window_ending_at(tracked, last, disturbed_minutes(steps)) if last >= WINDOW_ROUNDS else None,
        zones=zones_of(minutes, pieces),
        histogram=response_times(histogram) if histogram else None,
    )


def tracked_steps(
    numbered: Iterable[tuple[int, Sample]], minute_ns: int, period_ns: int
) -> tuple[SaturationStep, ...]:
    """The steps of tracking rounds in order, each with its number: which of them is the tracked minute.

    Minute 1 is a round by itself; of the others it is the step that begins when the rest of the period is
    over, in however many steps that was applied.
    """
    found: list[SaturationStep] = []
    current, elapsed_ns = 0, 0
    for number, sample in numbered:
        elapsed_ns = elapsed_ns if number == current else 0
        current = number
        before_ns = 0 if number == 1 else period_ns - minute_ns
        found.append(SaturationStep(number, elapsed_ns >= _WHOLE * before_ns, sample))
        elapsed_ns += sample.elapsed_ns
    return tuple(found)


def tracked_iops(steps: Sequence[SaturationStep], minute_ns: int) -> tuple[float, ...]:
    """IOPS of the tracked minutes of rounds 1, 2, ... up to the first that is missing or cut short."""
    found = {
        step.number: step.sample.iops
        for step in steps
        if step.tracked and is_whole_minute(step.sample, minute_ns)
    }
    values: list[float] = []
    while (value := found.get(len(values) + 1)) is not None:
        values.append(value)
    return tuple(values)


def disturbed_minutes(steps: Sequence[SaturationStep]) -> frozenset[int]:
    """Tracking rounds in whose tracked minute openpts itself stood still: a window with such a round is not
    steady.
    """
    return frozenset(step.number for step in steps if step.tracked and step.sample.standstills)


def steady_round_of(
    steps: Sequence[SaturationStep], minute_ns: int, after_written_bytes: float
) -> int | None:
    """The first tracking round at which a stimulus was steady, with so much written before its end.

    What the test found itself is in its outcome; this is for a stimulus without one, which was cut short.
    """
    tracked = tracked_iops(steps, minute_ns)
    written_bytes = 0
    for step in steps:
        written_bytes += step.sample.write.bytes
        if (
            step.tracked
            and WINDOW_ROUNDS <= step.number <= len(tracked)
            and written_bytes >= after_written_bytes
            and window_ending_at(tracked, step.number, disturbed_minutes(steps)).steady
        ):
            return step.number
    return None


def zones_of(minutes: Sequence[Minute], pieces: Sequence[MeasuredInterval]) -> SaturationZones | None:
    """Plateau, transition and end zone; None with fewer minutes than the two means have."""
    if len(minutes) < 2 * PLATEAU_MINUTES:
        return None
    level_iops = _mean_iops(minutes[:PLATEAU_MINUTES])
    if not all(_near(minute.iops, level_iops) for minute in minutes[:PLATEAU_MINUTES]):
        level_iops = minutes[0].iops
    final_iops = _mean_iops(minutes[-min(FINAL_MINUTES, max(1, len(minutes) // 4)) :])
    plateau = list(takewhile(lambda minute: _near(minute.iops, level_iops), minutes))
    count = len(plateau)
    fallen, behind = _fall(minutes[:2], pieces)
    if fallen is not None and fallen.middle_ns < minutes[0].end_ns:
        count = 0
    elif count < len(minutes):
        fallen, behind = _fall(minutes[count - 1 : count + 2], pieces)
    else:
        fallen = None
    settled = next((m for m in minutes[max(1, count) :] if _near(m.iops, final_iops)), None)
    if fallen is None:
        fresh = tuple(piece for piece in pieces if piece.middle_ns < plateau[-1].end_ns)
        written_bytes = plateau[-1].written_bytes if count < len(minutes) else None
    else:
        fresh = tuple(piece for piece in pieces if piece.start_ns < fallen.start_ns)
        written_bytes = sum(piece.measured.write.bytes for piece in fresh)
    zones = SaturationZones(
        fresh_iops=_mean_iops(plateau if fallen is None else [piece.measured for piece in fresh]),
        plateau_minutes=count,
        final_iops=final_iops,
        settled_from=settled.number if settled else None,
        fresh_bytes=written_bytes,
        behind_iops=_mean_iops([piece.measured for piece in behind]) if fallen else None,
        fresh_pieces=fresh,
    )
    return _with_end_zone(zones, settled, pieces) if settled else zones


def _fall(
    minutes: Sequence[Minute], pieces: Sequence[MeasuredInterval]
) -> tuple[MeasuredInterval | None, Sequence[MeasuredInterval]]:
    """The first interval behind a fall in these minutes, with all behind it; None without a fall.

    Cut in two where the means differ most for their lengths, the rates are lower behind by more than 10 %,
    and half of their scatter is that difference.
    """
    start_ns, end_ns = minutes[0].start_ns, minutes[-1].end_ns
    near = [piece for piece in pieces if not piece.rest and start_ns <= piece.middle_ns < end_ns]
    rates, count = [piece.measured.iops for piece in near], len(near)
    if count < FEWEST_INTERVALS:
        return None, ()
    total = sum(rates)
    before, best, place, falls = 0.0, 0.0, 0, False
    for n, rate in enumerate(rates[:-1], start=1):
        before += rate
        mean, mean_behind = before / n, (total - before) / (count - n)
        explained = n * (count - n) / count * (mean - mean_behind) ** 2
        if explained > best:
            best, place, falls = explained, n, mean_behind < (1 - ZONE_PCT / 100) * mean
    scatter = sum((rate - total / count) ** 2 for rate in rates)
    return (near[place], near[place:]) if falls and best >= scatter / 2 else (None, ())


def whole_pieces(pieces: Sequence[MeasuredInterval]) -> tuple[MeasuredInterval, ...]:
    """The intervals of full length, without the remainders at the ends of steps."""
    longest_ns = max((piece.measured.elapsed_ns for piece in pieces), default=0)
    return tuple(piece for piece in pieces if piece.measured.elapsed_ns >= _WHOLE * longest_ns)


def _with_end_zone(
    zones: SaturationZones, settled: Minute, pieces: Sequence[MeasuredInterval]
) -> SaturationZones:
    zone = [piece for piece in pieces if piece.start_ns >= settled.start_ns]
    mean_iops = _mean_iops([piece.measured for piece in zone])
    whole = [piece.measured for piece in whole_pieces(zone)]
    rates = [measured.iops for measured in whole]
    return replace(
        zones,
        end_zone_iops=mean_iops,
        lowest_iops=min(rates),
        variation_pct=100 * pstdev(rates) / fmean(rates) if any(rates) else None,
        below_half_ns=sum(m.elapsed_ns for m in whole if m.iops < mean_iops / 2),
        end_zone_pieces=tuple(zone),
    )


def _mean_iops(parts: Sequence[Measured]) -> float:
    elapsed_ns = sum(part.elapsed_ns for part in parts)
    return sum(part.ios for part in parts) * 1e9 / elapsed_ns if elapsed_ns else 0.0


def _near(value: float, mean: float) -> bool:
    return abs(value - mean) <= mean * ZONE_PCT / 100


def spread_of(
    minutes: Sequence[Minute], pieces: Sequence[MeasuredInterval]
) -> tuple[tuple[float, float] | None, ...]:
    """The lowest and the highest IOPS of the whole intervals of each minute; None for one without any."""
    whole = whole_pieces(pieces)
    rates: list[list[float]] = [[] for _ in minutes]
    index = 0
    for piece in whole:
        while index < len(minutes) - 1 and piece.middle_ns >= minutes[index].end_ns:
            index += 1
        if minutes and minutes[index].start_ns <= piece.middle_ns < minutes[index].end_ns:
            rates[index].append(piece.measured.iops)
    return tuple((min(found), max(found)) if found else None for found in rates)
