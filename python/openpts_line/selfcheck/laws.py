"""Metamorphic checks of the analysis: what must not change, or change with, when its input is changed.

Another unit, another order or another first round is the same measurement. Values that are expected are those
of published tables.
"""

import math
import random
from collections.abc import Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from statistics import fmean
from typing import Final

from msgspec.structs import astuple

from openpts.analysis.comparison import holm, relative_standard_error_pct
from openpts.analysis.distribution import chi_square_survival, compare_shares
from openpts.analysis.latency import LatencyDistribution, encode_counts, ios_needed
from openpts.analysis.ratio import chance_of, ratio_of
from openpts.analysis.response_times import log_bins
from openpts.analysis.run_comparison import measured_median
from openpts.analysis.sessions import drift_chance
from openpts.analysis.steady_state import judge, window_ending_at
from openpts.analysis.student_t import critical_value
from openpts.vocabulary.better import Better
from openpts.vocabulary.verdict import SteadyStateReport
from openpts_line.selfcheck.finding import Expectations, Finding

_SEED: Final = 36
_SERIES: Final = 40
_EXACT: Final = 1e-9
_PERCENTILES: Final = (1.0, 10.0, 50.0, 90.0, 99.0, 99.9, 100.0)
# Abramowitz and Stegun, tables 26.10 and 26.8
_STUDENT: Final = ((0.95, 5, 2.571), (0.95, 1, 12.706), (0.99, 10, 3.169), (0.9, 4, 2.132))
_CHI_SQUARE: Final = ((3.841, 1, 0.05), (11.070, 5, 0.05), (23.209, 10, 0.01))


def check(_folder: Path) -> Finding:
    """All laws, on series that a seed makes."""
    found, chance = Expectations(), random.Random(_SEED)  # noqa: S311 the same each time
    for _ in range(_SERIES):
        level = chance.uniform(10, 1e6)
        spread = chance.choice((0.01, 0.05, 0.1, 0.3))
        values = [level * (1 + chance.uniform(-spread, spread)) for _ in range(12)]
        _steady_state(found, values[:5])
        _window(found, values)
        _sets(found, values[:6], values[6:])
        _distribution(found, [round(chance.lognormvariate(11, 1.5)) + 1 for _ in range(300)])
    _exact_buckets(found)
    _published(found)
    return found.finding("analysis", f"{_SERIES} series scaled, shifted, permuted and merged")


def _steady_state(found: Expectations, values: Sequence[float]) -> None:
    rounds = range(1, 6)
    plain = judge(rounds, values)
    for factor in (1e-3, 7.0, 1e6):
        scaled = judge(rounds, [factor * value for value in values])
        _same(found, "steady state of scaled rounds", _verdicts(scaled), _verdicts(plain))
        wanted = [factor * value for value in _lengths(plain)]
        _same(found, "figures of scaled rounds", _lengths(scaled), wanted)
    later = judge([number + 9 for number in rounds], values)
    _same(found, "steady state of later rounds", _verdicts(later), _verdicts(plain))
    _same(found, "fit of later rounds", [later.slope], [plain.slope])
    _same(found, "line of later rounds", [later.intercept + 9 * later.slope], [plain.intercept])
    back = judge(rounds, values[::-1])
    _same(found, "steady state backwards", _verdicts(back), _verdicts(plain))
    _same(found, "fit backwards", [back.slope, back.r or 0], [-plain.slope, -(plain.r or 0)])
    line = [plain.intercept + number * plain.slope for number in rounds]
    _same(found, "a line through the fit", [sum(line)], [sum(values)])
    found.holds("the limits are not 20 and 10 % of the average", _has_limits(plain))
    found.holds("a disturbed round is steady", not judge(rounds, [1.0] * 5, {3}).steady)


def _has_limits(report: SteadyStateReport) -> bool:
    limits = (report.allowed_range, report.allowed_slope_excursion)
    inside = report.maximum - report.minimum <= limits[0], report.slope_excursion <= limits[1]
    wanted = (0.2 * report.average, 0.1 * report.average)
    return all(map(math.isclose, limits, wanted)) and inside == (report.range_ok, report.slope_ok)


def _window(found: Expectations, values: Sequence[float]) -> None:
    for last in range(5, len(values) + 1):
        window = window_ending_at(values, last)
        found.equal("rounds of a window", tuple(window.rounds), tuple(range(last - 4, last + 1)))
        found.equal("values of a window", tuple(window.values), tuple(values[last - 5 : last]))


def _verdicts(report: SteadyStateReport) -> list[float]:
    return [report.steady, report.range_ok, report.slope_ok, report.inside_band]


def _lengths(report: SteadyStateReport) -> list[float]:
    return [report.average, report.minimum, report.maximum, report.slope, report.intercept]


def _sets(found: Expectations, base: Sequence[float], other: Sequence[float]) -> None:
    """Two sets of runs: another unit, other order, other side."""
    one, swapped = ratio_of(base, other), ratio_of(other, base)
    scaled = ratio_of([3 * value for value in base[::-1]], [3 * value for value in other[::-1]])
    if one is None or swapped is None or scaled is None:
        found.holds("two sets have no ratio", holds=False)
        return
    _same(found, "ratio of scaled sets", astuple(scaled), astuple(one))
    exchanged = [1 / swapped.value, 1 / swapped.high(0.025)]
    _same(found, "ratio of exchanged sets", exchanged, [one.value, one.low(0.025)])
    found.holds("a ratio lies outside its interval", one.low(0.025) < one.value < one.high(0.025))
    chances = [chance_of(base, other) or 0, chance_of(other, base) or 0, chance_of(base, base) or 0]
    _same(found, "chances of two sets", chances[1:], [chances[0], 1.0])
    sets = (base, [5 * value for value in base[::-1]])
    errors = [relative_standard_error_pct(values) or 0 for values in sets]
    _same(found, "standard error of a scaled set", errors[1:], errors[:1])
    _same(found, "chances of three lines", holm([0.2, 0.01, 0.04]), [0.2, 0.03, 0.08])
    few = base[:5]  # each order of them is tried
    drifts = [drift_chance(values) for values in (few, few[::-1], [9 * value for value in few])]
    _same(found, "drift of a scaled set", drifts[1:], [drifts[0]] * 2)
    for better in (Better.HIGHER, Better.LOWER):
        middle = measured_median(base, better)
        found.equal("median of another order", measured_median(base[::-1], better), middle)
        found.holds("a median is no value of its set", middle in base)


def _distribution(found: Expectations, values_ns: Sequence[int]) -> None:
    halves = [encode_counts((value, 1) for value in part) for part in (values_ns[::2], values_ns[1::2])]
    whole = LatencyDistribution.merged([encode_counts((value, 1) for value in values_ns)])
    for order in (halves, halves[::-1]):
        found.equal("buckets of merged parts", LatencyDistribution.merged(order).buckets(), whole.buckets())
    again = LatencyDistribution.merged([whole.encode()])
    found.equal("buckets as encoded", again.buckets(), whole.buckets())
    levels = [whole.percentile_ns(percentile) or 0 for percentile in _PERCENTILES]
    found.holds("percentiles fall", all(low <= high for low, high in pairwise(levels)))
    in_order = sorted(values_ns)
    for percentile, level in zip(_PERCENTILES, levels, strict=True):
        wanted = in_order[max(0, math.ceil(percentile * len(in_order) / 100 - _EXACT) - 1)]
        found.near(f"{percentile:g} % of values", level, wanted, 0.001 * wanted + 1)
    low, _, _, high, least, most = whole.bounds() or (0,) * 6
    found.holds("the mean is outside the extremes", low <= fmean(values_ns) <= high)
    found.holds("the sum is outside its bounds", least <= sum(values_ns) <= most)
    bins = log_bins(whole, in_order[-1])
    found.equal("I/Os of the bins", sum(one.ios for one in bins), len(values_ns))
    found.holds("bins have a break", all(one.high_ns == other.low_ns for one, other in pairwise(bins)))
    found.equal("level of the last bin", bins[-1].level_pct, 100)


def _exact_buckets(found: Expectations) -> None:
    """Below 2048 ns each value has a bucket of its own: what is counted comes back exactly."""
    counts = {value + value * value // 16: value for value in range(1, 130)}  # at distances from 1 on
    encoded = encode_counts(counts.items())
    whole = LatencyDistribution.merged([encoded, encoded])
    buckets = [(value, value, 2 * count) for value, count in counts.items()]
    found.equal("exact buckets", whole.buckets(), buckets)
    sum_ns, ends = 2 * sum(value * count for value, count in counts.items()), (min(counts), max(counts))
    found.equal("exact bounds", whole.bounds(), (ends[0], ends[0], ends[1], ends[1], sum_ns, sum_ns))
    seen = list(accumulate(2 * count for count in counts.values()))
    found.equal("counts up to each value", whole.counts_up_to(list(counts)), seen)
    wide = LatencyDistribution.merged([encode_counts([(1_000_000, 3)])])
    ((low, high, _),) = wide.buckets()
    found.equal("a bucket in part", wide.counts_up_to([low, high - 1, high]), [0, 0, 3])
    thousand = LatencyDistribution.merged([encode_counts([(10, 999), (20, 1)])])
    found.equal("99.9 % of 1,000", (thousand.percentile_ns(99.9), thousand.percentile_ns(99.91)), (10, 20))


def _published(found: Expectations) -> None:
    for confidence, degrees, wanted in _STUDENT:
        t = critical_value(confidence, degrees)
        found.near(f"Student's t of {confidence:g}, {degrees}", t, wanted, 5e-4)
    for value, degrees, wanted in _CHI_SQUARE:
        found.near(f"chi square of {value:g}, {degrees}", chi_square_survival(value, degrees), wanted, 5e-5)
    shares = compare_shares([30.0, 70.0], [1, 1])
    _same(found, "chi square of 30 and 70", [shares.chi_square or 0, *shares.errors], [16.0, -4.0, 4.0])
    found.equal("I/Os that 99.999 % takes", ios_needed(99.999), 100_000)


def _same(found: Expectations, what: str, values: Sequence[float], wanted: Sequence[float]) -> None:
    """The same but for rounding."""
    near = [math.isclose(a, b, rel_tol=_EXACT, abs_tol=_EXACT) for a, b in zip(values, wanted, strict=True)]
    found.holds(f"{what}: {values!r}, and not {wanted!r}", all(near))
