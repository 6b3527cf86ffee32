"""Which arrivals a trace has: a closed loop, one Poisson process, or rates that change from step to step."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from msgspec import Struct

from openpts_traces.characteristics.distances import area_between, dispersion_of

Figures = Mapping[str, Any]
Key = tuple[str, int]

_LEAST_GAIN: Final = 0.05
_CLOSED_BUSY: Final = 0.99
_CLOSED_DEPTH: Final = 0.9
_LARGE_BINS: Final = 100_000


class Segment(Struct, frozen=True):
    """A span with steady rates, by operation and size."""

    start_ns: int
    length_ns: int
    ios_per_s: Mapping[Key, float]


class Candidate(Struct, frozen=True):
    """Arrivals that were tried, with their distances from the trace in octaves; None if unknown."""

    process: str
    dispersion: float | None
    gaps: float | None = None

    @property
    def distance(self) -> float:
        """The larger of both."""
        known = [value for value in (self.dispersion, self.gaps) if value is not None]
        return max(known, default=math.inf)


class ArrivalFit(Struct, frozen=True):
    """The arrivals that were chosen, and all that were tried, of which the dispersion is known.

    ``closed_share`` is the time at the mean depth, give or take 1, None without completions.
    """

    chosen: str
    segments: tuple[Segment, ...]
    candidates: tuple[Candidate, ...]
    closed_share: float | None
    depth: float

    @property
    def is_closed(self) -> bool:
        """Whether the next I/O waits for one to complete."""
        return self.chosen == "closed loop"


def fitted(figures: Figures, steps: Sequence[Segment], most_segments: int) -> ArrivalFit:
    """Choose by the index of dispersion over scales; a closed loop by how steady the depth is.

    ``steps`` are joined to at most so many segments.
    """
    whole = _joined(steps)
    segments = _merged(steps, most_segments)
    observed = dispersion_of(figures["whole"]) or []
    scales = [width for width, _ in observed]
    candidates = {"poisson": (whole,), "poisson in steps": segments}
    distances = {
        name: area_between(observed, step_dispersion(candidate, scales))
        for name, candidate in candidates.items()
    }
    closed, depth = _closed(figures)
    one, several = distances["poisson"], distances["poisson in steps"]
    chosen = "poisson"
    if len(segments) > 1 and (one is None or several is None or several < one - _LEAST_GAIN):
        chosen = "poisson in steps"
    if closed is not None and closed >= _CLOSED_DEPTH:
        chosen = "closed loop"
    taken = (whole,) if chosen == "poisson" else segments
    tried = tuple(Candidate(name, distance) for name, distance in distances.items())
    return ArrivalFit(chosen, taken, tried, closed, depth)


def steps_of(figures: Figures, keys: Sequence[Key]) -> list[Segment]:
    """The steps of the trace with the rates of these operations and sizes, of all devices together."""
    names: dict[str, Key] = {
        stream["name"]: (stream["kind"], stream["size_bytes"]) for stream in figures["streams"]
    }
    found: dict[int, tuple[int, int, dict[Key, float]]] = {}
    for row in figures["steps"]["rows"]:
        start_ns, length_ns, rates = found.setdefault(
            row["step"], (row["start_ns"], row["length_ns"], dict.fromkeys(keys, 0.0))
        )
        for name, (ios, _) in row["streams"].items():
            if names[name] in rates:
                rates[names[name]] += ios * 1e9 / length_ns
        found[row["step"]] = (start_ns, length_ns, rates)
    return [Segment(*step) for step in found.values()]


def _joined(segments: Sequence[Segment]) -> Segment:
    length_ns = sum(segment.length_ns for segment in segments)
    rates = {
        key: sum(segment.ios_per_s[key] * segment.length_ns for segment in segments) / length_ns
        for key in segments[0].ios_per_s
    }
    return Segment(segments[0].start_ns, length_ns, rates)


def _merged(steps: Sequence[Segment], most: int) -> tuple[Segment, ...]:
    """Join the neighbors that lose least likelihood as one Poisson process each, until few enough are left.

    Neighbors that differ by no more than chance are joined in any case.
    """
    segments = list(steps)
    losses = [_loss(one, other) for one, other in pairwise(segments)]
    chance = len(segments[0].ios_per_s) * math.log(max(2, len(steps)))
    while losses:
        place = losses.index(min(losses))
        if losses[place] > chance and len(segments) <= most:
            break
        segments[place : place + 2] = [_joined(segments[place : place + 2])]
        del losses[place]
        for pair in {max(0, place - 1), place} & set(range(len(losses))):
            losses[pair] = _loss(segments[pair], segments[pair + 1])
    return tuple(segments)


def _loss(one: Segment, other: Segment) -> float:
    """Log likelihood that two segments lose as one."""
    joint = _joined((one, other))

    def likelihood(segment: Segment) -> float:
        counts = ((rate * segment.length_ns / 1e9, rate) for rate in segment.ios_per_s.values())
        return sum(count * math.log(rate) for count, rate in counts if rate > 0)

    return likelihood(one) + likelihood(other) - likelihood(joint)


def step_dispersion(segments: Sequence[Segment], scales: Sequence[float]) -> list[tuple[float, float]]:
    """Of Poisson processes with these rates: 1 + variance over mean of the expected counts, in octaves."""
    start_ns, end_ns = segments[0].start_ns, segments[-1].start_ns + segments[-1].length_ns
    rates = [(s.start_ns, s.start_ns + s.length_ns, sum(s.ios_per_s.values()) / 1e9) for s in segments]
    curve = []
    for width in scales:
        width_ns = width * 1e9
        bins = int((end_ns - start_ns) / width_ns)
        if not 1 < bins <= _LARGE_BINS or len(segments) == 1:
            # far finer than any segment, the rate is that of its moment
            length = end_ns - start_ns
            mean = sum(rate * (stop - start) for start, stop, rate in rates) / length * width_ns
            square = sum((rate * width_ns) ** 2 * (stop - start) for start, stop, rate in rates) / length
            counts_mean, variance = mean, max(0.0, square - mean**2)
        else:
            counts = [0.0] * bins
            for start, stop, rate in rates:
                first, last = int((start - start_ns) / width_ns), int((stop - start_ns) / width_ns)
                for place in range(first, min(last + 1, bins)):
                    low, high = start_ns + place * width_ns, start_ns + (place + 1) * width_ns
                    counts[place] += rate * max(0.0, min(stop, high) - max(start, low))
            counts_mean = sum(counts) / bins
            variance = sum((count - counts_mean) ** 2 for count in counts) / bins
        curve.append((width, math.log2(1 + variance / counts_mean) if counts_mean else 0.0))
    return curve


def _closed(figures: Figures) -> tuple[float | None, float]:
    """The share of time near the mean depth if the drive is always busy, and the depth to be had."""
    shown = figures["whole"]["completions"]
    if shown is None or not shown["span_ns"]:
        return None, 0.0
    depth = shown["queue_depth"]["all"]
    near = sum(ns for value, ns in depth["time_ns"] if abs(value - depth["mean"]) <= 1)
    is_busy = shown["busy_ns"] >= _CLOSED_BUSY * shown["span_ns"]
    share = near / shown["span_ns"]
    if is_busy and share >= _CLOSED_DEPTH:
        return share, depth["mean"]
    return (share if is_busy else 0.0), depth["max"]
