"""Uncertainty of figures by the GUM: scatter, correlation in time, drift, bounds, a choice among equals.

The noise of a drive is correlated in time: collection comes in cycles. So the scatter of a mean is that of
rounds or of batches of minutes, never of single seconds; where these follow each other closely, the seconds
show how far one tells of the next.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import groupby, pairwise
from math import fsum
from operator import itemgetter, mul
from statistics import NormalDist, fmean, median, stdev
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.latency import BUCKET_WIDTH, LatencyDistribution
from openpts.analysis.minutes import pieces_of
from openpts.analysis.ratio import critical_value
from openpts.analysis.steady_state import least_squares
from openpts.vocabulary.sample import Sample
from openpts.vocabulary.uncertainty import CONFIDENCE, Component, Uncertainty

SCATTER: Final = "scatter"
AUTOCORRELATION: Final = "autocorrelation"
DRIFT: Final = "drift"
ELEMENT: Final = "short elements"
STATE: Final = "state of the drive"
ORDER: Final = "order statistics"
WIDTH: Final = "histogram width"
_NORMAL: Final = NormalDist()
_LIKE_NORMAL: Final = 1000
"""From so many degrees of freedom on, t is 1.96 as far as two digits go."""
_SLACK: Final = 0.05
_CLEARLY: Final = 2
_SHORTEST_SHOWS: Final = 0.005
"""What is rarer than an element of some seconds may be missing from all of a window, or be in each."""
_ALONE: Final = 0.99
_ROUNDING: Final = 1e-9
_RARELY: Final = 0.005
_STANDS_OUT: Final = 4
"""Times the median: of normal noise one value in 140 does."""
_MOST_BATCHES: Final = 20
_FEWEST_BATCHES: Final = 5
_APART: Final = 10
_BATCH_NS: Final = 600 * 10**9
_STRETCHES: Final = 4
_FEWEST_STRETCHES: Final = 20
_PLACES: Final = (-math.sqrt(3), 0.0, math.sqrt(3))
_WEIGHTS: Final = (1 / 6, 2 / 3, 1 / 6)
"""Three values that have mean, deviation and kurtosis of the standard normal law."""

Spans = tuple[tuple[int, int], ...]


class Block(Struct, frozen=True):
    """A stretch of time of which a mean has a value: a round, or a batch of minutes.

    ``parts`` are the values of its intervals, each ``part_ns`` after the one before.
    """

    start_ns: int
    length_ns: int
    value: float
    parts: tuple[float, ...] = ()
    part_ns: int = 0


def rectangular(name: str, half_width: float) -> Component:
    """What is known by its bounds alone (GUM 4.3.7)."""
    return Component(name, half_width / math.sqrt(3), rectangular=True)


def budget(components: Iterable[Component], alike: int = 1, spans: Spans = ()) -> Uncertainty:
    """The components combined (GUM 5.1.2, G.4.1), of a figure that was measured in these spans of time."""
    found = tuple(components)
    variance = fsum(one.standard**2 for one in found)
    share = fsum(one.standard**4 / one.degrees_of_freedom for one in found)
    degrees = variance**2 / share if share else math.inf
    # what is nearly a single bound is not bell-shaped (GUM G.1.3)
    bounded = any(one.rectangular and one.standard**2 >= _ALONE * variance > 0 for one in found)
    factor = CONFIDENCE * math.sqrt(3) if bounded else coverage_factor(degrees, alike)
    return Uncertainty(found, "", alike, math.sqrt(variance), degrees, factor, spans)


def with_components(uncertainty: Uncertainty, *others: Component) -> Uncertainty:
    """The budget with further components; the same where none is stated."""
    if uncertainty.reason:
        return uncertainty
    return budget((*uncertainty.components, *others), uncertainty.alike, uncertainty.spans)


def scaled(uncertainty: Uncertainty, factor: float) -> Uncertainty:
    """The budget in another unit."""
    if uncertainty.reason:
        return uncertainty
    components = (replace(one, standard=one.standard * factor) for one in uncertainty.components)
    return budget(components, spans=uncertainty.spans)


def since(uncertainty: Uncertainty, moment_ns: int) -> Uncertainty:
    """Of a figure whose times count from a moment: with spans on the engine's clock."""
    spans = tuple((start_ns + moment_ns, end_ns + moment_ns) for start_ns, end_ns in uncertainty.spans)
    return replace(uncertainty, spans=spans)


@cache
def coverage_factor(degrees_of_freedom: float, alike: int = 1) -> float:
    """The t of the truncated degrees of freedom for 95 % (GUM G.4.1).

    What is nearly whole counts as whole: noise that is correlated ever so little leaves 3.99 of 4. Of figures
    that can't be distinguished the highest was chosen, so that it errs upwards: Bonferroni, on one side.
    """
    confidence = 1 - (1 - CONFIDENCE) * min(1.0, 2 / alike)
    if degrees_of_freedom >= _LIKE_NORMAL:
        return _NORMAL.inv_cdf((1 + confidence) / 2)
    return critical_value(confidence, max(1, math.floor(degrees_of_freedom + _SLACK)))


def of_mean(blocks: Sequence[Block], what: str = "Rounds", *, fitted: int = 0) -> Uncertainty:
    """The uncertainty of the mean of some blocks in their order, from which so much was ``fitted`` away."""
    count = len(blocks)
    if count < 2:
        return Uncertainty(reason=f"fewer than two {what}: no scatter is known")
    left = 1 - fitted / (count - 1)
    standard = stdev(one.value for one in blocks) / math.sqrt(count * left)
    ratio, degrees = _correlated(blocks)
    degrees *= left
    variance, more = standard**2, standard**2 * max(0.0, ratio - 1)
    found = [Component(SCATTER, standard, degrees)]
    if more:
        # it rises and falls with the scatter: with these degrees both count as one component
        found.append(Component(AUTOCORRELATION, math.sqrt(more), degrees * more / (2 * variance + more)))
    if (drift := _unexplained_drift(blocks)) > _ROUNDING * abs(fmean(one.value for one in blocks)):
        found.append(rectangular(DRIFT, drift / 2))
    return budget(found, spans=tuple((one.start_ns, one.start_ns + one.length_ns) for one in blocks))


def of_rounds(blocks: Sequence[Block], what: str = "Rounds") -> Uncertainty:
    """As ``of_mean``, around the course of the blocks where they have one: it is no scatter.

    That is a line through them, or another level in the first ones, if chance alone shows either but rarely.
    """
    count, mean = len(blocks), fmean(one.value for one in blocks) if blocks else 0.0
    if count < _FEWEST_BATCHES:
        return of_mean(blocks, what)
    values = [one.value for one in blocks]
    courses = [_line(values), *(_levels(values, first) for first in range(1, count - 2))]
    around, course = min(
        ((fsum((a - b) ** 2 for a, b in zip(values, one, strict=True)), one) for one in courses),
        key=itemgetter(0),
    )
    explained, degrees = fsum((one - mean) ** 2 for one in course), count - 2
    if explained * degrees <= around * critical_value(1 - _RARELY / len(courses), degrees) ** 2:
        return of_mean(blocks, what)
    level = [
        replace(one, value=one.value - off, parts=tuple(part - off for part in one.parts))
        for one, off in ((one, at - mean) for one, at in zip(blocks, course, strict=True))
    ]
    return of_mean(level, what, fitted=1)


def _line(values: Sequence[float]) -> list[float]:
    """The straight line through values, at each of them."""
    slope, intercept = least_squares(range(len(values)), values)
    return [slope * place + intercept for place in range(len(values))]


def _levels(values: Sequence[float], first: int) -> list[float]:
    """The mean of so many first values at each of these, and that of the others."""
    return [fmean(values[:first])] * first + [fmean(values[first:])] * (len(values) - first)


def of_short_elements(blocks: Sequence[Block], state: float) -> Uncertainty:
    """As ``of_mean``, of the short form: each block stands for a longer one, whose rest may be as its end.

    ``state`` is by what share at most the drive's state differs from that of long writing.
    """
    mean = abs(fmean(one.value for one in blocks)) if blocks else 0.0
    missed = max(late_excess(blocks), _SHORTEST_SHOWS * mean)
    found = (rectangular(ELEMENT, missed), rectangular(STATE, state * mean))
    return with_components(of_mean(blocks), *(one for one in found if one.standard))


def is_known(found: Uncertainty, mean: float, within: float) -> bool:
    """Whether a mean is known within such a share of it."""
    return found.expanded is not None and found.expanded <= within * mean


def late_excess(blocks: Sequence[Block]) -> float:
    """By how much second halves of blocks differ from the whole; 0 where their scatter may feign it."""
    halves = [one.parts[-(len(one.parts) // 2) :] for one in blocks if len(one.parts) > 1]
    if len(halves) < 2 or len(halves) < len(blocks):
        return 0.0
    found = [fmean(half) - one.value for half, one in zip(halves, blocks, strict=True)]
    excess, error = abs(fmean(found)), stdev(found) / math.sqrt(len(found))
    return excess if excess > _CLEARLY * error else 0.0


def blocks_of(samples: Sequence[Sample], value: Callable[[Any], float | None]) -> tuple[Block, ...]:
    """A block of each round; none where a round has no value.

    What a step has beyond its last whole interval is no part: too short for a value of its own.
    """
    values = [value(sample) for sample in samples]
    return tuple(
        Block(
            sample.started_ns,
            sample.elapsed_ns,
            found,
            tuple(
                part
                for one in pieces_of([sample])
                if not one.rest and (part := value(one.measured)) is not None
            ),
            sample.interval_ns,
        )
        for sample, found in zip(samples, values, strict=True)
        if found is not None and None not in values
    )


def batches(rates: Sequence[tuple[int, int, float]]) -> tuple[Block, ...]:
    """Stretches of some ten minutes, 5 to 20, of consecutive rates: each with its start and its length in ns.

    None where there are fewer than two rates for each.
    """
    if len(rates) < 2 * _FEWEST_BATCHES:
        return ()
    span_ns = rates[-1][0] + rates[-1][1] - rates[0][0]
    count = min(_MOST_BATCHES, len(rates) // 2, max(_FEWEST_BATCHES, span_ns // _BATCH_NS))
    first_ns, step_ns = rates[0][0], (rates[-1][0] - rates[0][0]) // (len(rates) - 1)
    grouped = groupby(rates, key=lambda one: (one[0] - first_ns) * count // span_ns)
    return tuple(_batch(list(group), span_ns // count, step_ns) for _, group in grouped)


def _batch(rates: Sequence[tuple[int, int, float]], length_ns: int, step_ns: int) -> Block:
    starts_ns, lengths_ns, values = zip(*rates, strict=True)
    mean = fsum(map(mul, lengths_ns, values)) / fsum(lengths_ns)
    return Block(starts_ns[0], length_ns, mean, values, step_ns)


def of_rates(rates: Iterable[tuple[int, int, float]]) -> Uncertainty:
    """Uncertainty of a mean over time of consecutive rates, each with its start and its length in ns."""
    return of_rounds(batches(list(rates)), "batches of intervals")


def of_course(rates: Sequence[tuple[int, int, float]]) -> Uncertainty:
    """As ``of_rates``, where a rate has a course, as after a change of load: that is no scatter.

    What scatters is how far each rate lies from the middle of its two neighbors. Noise that lasts leaves them
    alike: how much more it is in batches is known by medians, which a jump of the course does not reach.
    Where one rate has what the next lacks, batches scatter less than rates by themselves would let them, but
    rarely by chance: that scatter counts then, and with it what stands out among the rates.
    """
    blocks = batches(rates)
    if not blocks:
        return of_mean((), "batches of intervals")
    count, size = len(rates), len(rates) / len(blocks)
    own, of_batches = (
        _off_neighbors(values) for values in ([one[2] for one in rates], [b.value for b in blocks])
    )
    variance = 2 / 3 * fmean(off**2 for off in own) / count
    ratio = size * (median(of_batches) / (median(own) or math.inf)) ** 2
    degrees = max(1.0, (len(blocks) - 2) / 2)
    by_itself = _usual_square(own) / count
    # to have cut one rate of the first and the last, too, leaves an error
    together = _usual_square(of_batches, median(own) / size) / len(blocks) + by_itself / count
    if together < by_itself * _rarely_below(degrees):
        variance, ratio = variance - by_itself + together, 1.0
    found = [Component(SCATTER, math.sqrt(variance), degrees)]
    if ratio > 1:
        more = ratio - 1
        lasting = Component(AUTOCORRELATION, math.sqrt(variance * more), degrees * more / (more + 2))
        found.append(lasting)
    return budget(found, spans=((blocks[0].start_ns, rates[-1][0] + rates[-1][1]),))


def _usual_square(offs: Sequence[float], least_median: float = 0.0) -> float:
    """The variance of values by how far they lie from their neighbors, those that stand out cut down."""
    most = _STANDS_OUT * max(least_median, median(offs))
    return 2 / 3 * fmean(min(off, most) ** 2 for off in offs)


def _rarely_below(degrees: float) -> float:
    """Below which share of the true variance an estimate lies but rarely (Wilson and Hilferty)."""
    spread = 2 / (9 * degrees)
    return max(0.0, 1 - spread + _NORMAL.inv_cdf(_RARELY) * math.sqrt(spread)) ** 3


def _off_neighbors(values: Sequence[float]) -> list[float]:
    """How far each value but the first and the last lies from the middle of its neighbors."""
    return [abs(b - (a + c) / 2) for a, b, c in zip(values, values[1:], values[2:], strict=False)]


def of_percentile(
    intervals: Iterable[tuple[int, int, LatencyDistribution]], percentile: float
) -> Uncertainty:
    """Uncertainty of a percentile of all I/Os of a stretch of time, in ns, from those of its intervals.

    The true one lies between two order statistics: how many I/Os exceed the percentile in one batch of
    intervals and in another shows between which, at least as far apart as if each I/O were on its own.
    """
    known = [one for one in intervals if one[2].count]
    whole = LatencyDistribution.merged(())
    for _, _, distribution in known:
        whole.add(distribution)
    value_ns, ios, share = whole.percentile_ns(percentile) or 0, whole.count, 1 - percentile / 100
    found = of_rates(
        (start_ns, length_ns, 1 - one.counts_up_to([value_ns])[0] / one.count)
        for start_ns, length_ns, one in known
    )
    if found.reason:
        return found
    alone = math.sqrt(share * (1 - share) / ios)
    standard, degrees = max((found.standard, found.degrees_of_freedom), (alone, math.inf))
    factor = coverage_factor(degrees)
    if share - factor * standard < 1 / ios:
        return Uncertainty(reason=f"{ios:,} I/Os are too few for an upper bound of {percentile:g} %")
    sides_ns = (whole.percentile_ns(100 * (1 - share - side * factor * standard)) for side in (1, -1))
    reach_ns = max(abs((side_ns or 0) - value_ns) for side_ns in sides_ns)
    components = Component(ORDER, reach_ns / factor, degrees), rectangular(WIDTH, value_ns * BUCKET_WIDTH)
    return budget(components, spans=found.spans)


def noise_of(values: Sequence[float]) -> float:
    """The median difference of values some apart, so that what lasts for a few of them counts in full."""
    apart = max(1, min(_APART, len(values) // 2))
    steps = [abs(a - b) for a, b in zip(values, values[apart:], strict=False)]
    return median(steps) / _NORMAL.inv_cdf(0.75) if steps else 0.0


def places_alike(values: Sequence[float]) -> list[int]:
    """Where the highest of values in time is, and those that noise alone may set below it."""
    least = max(values) - noise_of(values) * _NORMAL.inv_cdf(1 - (1 - CONFIDENCE) / len(values))
    return [place for place, value in enumerate(values) if value >= least]


def of_ratio(
    numerator: tuple[str, float, Uncertainty], denominator: tuple[str, float, Uncertainty], unit: float = 1
) -> Uncertainty:
    """Uncertainty of a quotient in ``unit`` parts: each side has its name, its value, its uncertainty."""
    sides = (numerator, denominator)
    for name, value, found in sides:
        if found.reason or not value:
            return Uncertainty(reason=f"{name}: {found.reason or 'it is 0'}")
    quotient = unit * numerator[1] / denominator[1]
    components = (
        Component(name, abs(quotient * found.standard / value), found.degrees_of_freedom)
        for name, value, found in sides
    )
    return budget(components, spans=tuple(span for _, _, found in sides for span in found.spans))


def correlation_times_ns(blocks: Sequence[Block]) -> list[float]:
    """How long the noise lasts, as that of a first-order autoregression: at the least, as found, at the
    most; 0 for none.

    It is found from stretches of the blocks, as whole I/Os and jitter hide in single intervals what lasts.
    Kendall's correction mends most of the bias of the coefficient, whose deviation is Bartlett's.
    """
    count = max(_STRETCHES, -(-_FEWEST_STRETCHES // max(1, len(blocks))))
    parted = [(one.part_ns, one.parts, _stretches(one.parts, count)) for one in blocks if one.part_ns]
    parts = [value for _, _, values in parted for value in values]
    if len(parts) < 10:
        return [0.0] * len(_PLACES)
    mean, step_ns = fmean(parts), sum(ns * len(of) for ns, of, _ in parted) / len(parts)
    squares = fsum((value - mean) ** 2 for value in parts)
    products = fsum((a - mean) * (b - mean) for _, _, of in parted for a, b in pairwise(of))
    pairs = sum(len(of) - 1 for _, _, of in parted)
    if not squares or not pairs:
        return [0.0] * len(_PLACES)
    found = products / squares * len(parts) / pairs
    coefficient = found + (1 + 3 * found) / len(parts)
    deviation = math.sqrt(max(0.0, 1 - coefficient**2) / len(parts))
    longest_ns = len(parts) * step_ns / 4  # what is longer than that can't be distinguished from a drift
    return [_lasting_ns(coefficient + place * deviation, step_ns, longest_ns) for place in _PLACES]


def _stretches(parts: Sequence[float], count: int) -> Sequence[float]:
    """Means of so many stretches; the parts where there are not two for each."""
    if len(parts) < 2 * count:
        return parts
    edges = [len(parts) * number // count for number in range(count + 1)]
    return [fmean(parts[start:end]) for start, end in pairwise(edges)]


def _lasting_ns(coefficient: float, step_ns: float, longest_ns: float) -> float:
    """The time of a process of which the means of neighboring stretches have this correlation."""
    if coefficient <= 0:
        return 0.0
    times_ns = range(1, math.ceil(longest_ns))
    place = bisect_left(times_ns, coefficient, key=lambda time_ns: _correlation(step_ns, step_ns, time_ns))
    return min(longest_ns, 1.0 + place)


def _correlated(blocks: Sequence[Block]) -> tuple[float, float]:
    """How much larger the variance of the mean is than the scatter says; the scatter's degrees of freedom.

    Both are averaged over how long the noise may last: that is known but roughly.
    """
    ratios, degrees = zip(*(_lasting(blocks, ns) for ns in correlation_times_ns(blocks)), strict=True)
    return fsum(map(mul, _WEIGHTS, ratios)), fsum(map(mul, _WEIGHTS, degrees))


def _lasting(blocks: Sequence[Block], time_ns: float) -> tuple[float, float]:
    """Ratio and degrees of freedom under noise that lasts so long."""
    count = len(blocks)
    if not time_ns:
        return 1.0, count - 1.0
    length_ns = fmean(one.length_ns for one in blocks)
    matrix = [
        [
            _correlation(max(abs(a.start_ns - b.start_ns), abs(i - j) * length_ns), length_ns, time_ns)
            for j, b in enumerate(blocks)
        ]
        for i, a in enumerate(blocks)
    ]
    means = [fmean(row) for row in matrix]
    mean = fmean(means)
    # trace, and sum of squares, of the matrix less the means of its rows and columns
    trace = count * (1 - mean)
    squares = fsum(fsum(map(mul, row, row)) for row in matrix) - 2 * count * fsum(map(mul, means, means))
    return mean * (count - 1) / (1 - mean), trace**2 / (squares + (count * mean) ** 2)


def _correlation(distance_ns: float, length_ns: float, time_ns: float) -> float:
    """Of the means of two stretches of an Ornstein-Uhlenbeck process, their starts so far apart."""
    if not distance_ns:
        return 1.0
    x = length_ns / time_ns
    alone = 2 * (x - 1 + math.exp(-x))
    between = max(0.0, distance_ns - length_ns) / time_ns
    return math.exp(-between) * (1 - math.exp(-x)) ** 2 / alone


def _unexplained_drift(blocks: Sequence[Block]) -> float:
    """What the line through the values rises or falls beyond what their scatter may feign at 95 %."""
    if len(blocks) < 3:
        return 0.0
    middle, mean = (len(blocks) - 1) / 2, fmean(one.value for one in blocks)
    placed = [(place - middle, one.value - mean) for place, one in enumerate(blocks)]
    moment = fsum(place**2 for place, _ in placed)
    slope = fsum(place * value for place, value in placed) / moment
    degrees = len(blocks) - 2
    error = math.sqrt(fsum((value - slope * place) ** 2 for place, value in placed) / degrees / moment)
    return max(0.0, abs(slope) - coverage_factor(degrees) * error) * 2 * middle
