"""How far two traces are from each other, figure by figure; no grand total."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from msgspec import Struct

Figures = Mapping[str, Any]
Bins = Sequence[tuple[float, float]]

TOTAL_VARIATION: Final = "total variation"
WASSERSTEIN: Final = "Wasserstein-1, octaves"
AREA: Final = "area between curves"
DIFFERENCE: Final = "difference"


class Distance(Struct, frozen=True):
    """One distance: its group, its figure, how it is measured; None where a trace can't tell the figure."""

    group: str
    figure: str
    measure: str
    value: float | None


def total_variation(one: Mapping[str, float], other: Mapping[str, float]) -> float | None:
    """Half the sum of differences of shares, 0 to 1; None if one of them has nothing."""
    sums = sum(one.values()), sum(other.values())
    if not all(sums):
        return None
    keys = one.keys() | other.keys()
    return math.fsum(abs(one.get(key, 0) / sums[0] - other.get(key, 0) / sums[1]) for key in keys) / 2


def wasserstein_log2(one: Bins, other: Bins) -> float | None:
    """Octaves that the mass of one distribution must move; a value of 0 lies an octave below 1.

    ``one`` and ``other`` are pairs of a value and its count. None if one of them is empty.
    """
    sums = sum(count for _, count in one), sum(count for _, count in other)
    if not all(sums):
        return None
    steps: dict[float, float] = {}
    for bins, total, sign in ((one, sums[0], 1), (other, sums[1], -1)):
        for value, count in bins:
            place = math.log2(value) if value > 0 else -1.0
            steps[place] = steps.get(place, 0.0) + sign * count / total
    distance = difference = 0.0
    for place, following in pairwise(sorted(steps)):
        difference += steps[place]
        distance += abs(difference) * (following - place)
    return distance


def area_between(one: Bins, other: Bins) -> float | None:
    """Mean distance of two curves of shares over the logarithm of x, where both are known; else None."""
    if not one or not other:
        return None
    low, high = max(one[0][0], other[0][0]), min(one[-1][0], other[-1][0])
    if high <= low:
        return None
    places = sorted({x for x, _ in (*one, *other) if low <= x <= high})
    area = 0.0
    for x, following in pairwise(places):
        gaps = [_at(one, place) - _at(other, place) for place in (x, following)]
        width = math.log2(following / x)
        if gaps[0] * gaps[1] < 0:  # the curves cross: two triangles
            area += (gaps[0] ** 2 + gaps[1] ** 2) / (abs(gaps[0]) + abs(gaps[1])) / 2 * width
        else:
            area += abs(gaps[0] + gaps[1]) / 2 * width
    return area / math.log2(high / low)


def _at(curve: Bins, x: float) -> float:
    """The value of a curve, straight between its points over the logarithm of x."""
    for (left, low), (right, high) in pairwise(curve):
        if left <= x <= right:
            return low + (high - low) * math.log2(x / left) / math.log2(right / left)
    return curve[-1][1]


def distances(one: Figures, other: Figures) -> list[Distance]:
    """All distances of two traces, by the figures of the whole of each."""
    a, b = one["whole"], other["whole"]
    found: list[Distance] = []

    def add(group: str, figure: str, measure: str, value: float | None) -> None:
        found.append(Distance(group, figure, measure, value))

    def both(
        of: Callable[..., Any], distance: Callable[[Any, Any], float | None], *of_what: str
    ) -> float | None:
        mine, theirs = of(a, *of_what), of(b, *of_what)
        return None if mine is None or theirs is None else distance(mine, theirs)

    for unit in ("ios", "bytes"):
        name = "I/Os" if unit == "ios" else "bytes"
        value = total_variation(_by_operation(a, unit), _by_operation(b, unit))
        add("mix", f"operations by {name}", TOTAL_VARIATION, value)
        streams = (_by_stream(figures, unit) for figures in (one, other))
        add("mix", f"streams by {name}", TOTAL_VARIATION, total_variation(*streams))
    for kind in ("read", "write"):
        add("sizes", f"{kind}s", WASSERSTEIN, both(_sizes, wasserstein_log2, kind))
        for rule in ("strict", "windowed", "near"):
            share = both(_sequential, lambda x, y: abs(x - y), kind, rule)
            add("sequentiality", f"{kind}s, {rule}", DIFFERENCE, share)
        runs = both(_runs, wasserstein_log2, kind)
        add("sequentiality", f"lengths of runs of {kind}s", WASSERSTEIN, runs)
    for words, kinds in (("", ()), (" of reads", ("read",)), (" of writes", ("write",))):
        add("arrivals", f"gaps{words}", WASSERSTEIN, both(gaps_of, wasserstein_log2, *kinds))
        dispersion = both(dispersion_of, area_between, *kinds)
        add("arrivals", f"dispersion{words} over scales, octaves", AREA, dispersion)
    for kind in ("read", "write"):
        add("latency", f"{kind}s", WASSERSTEIN, both(_latency, wasserstein_log2, kind))
    add("queue depth", "time by depth", WASSERSTEIN, both(_depth, wasserstein_log2))
    add("queue depth", "busy share", DIFFERENCE, both(_busy, lambda x, y: abs(x - y)))
    for kind in ("read", "write"):
        add("places", f"hot and cold, {kind}s", AREA, both(_heat, area_between, kind))
    add("places", "footprint, octaves", DIFFERENCE, both(_footprint, lambda x, y: abs(math.log2(x / y))))
    add("places", "miss ratio", AREA, both(_misses, area_between))
    return found


def by_group(found: Sequence[Distance]) -> dict[str, dict[str, float | None]]:
    """One number for each group and measure: the mean of its known distances."""
    groups: dict[str, dict[str, float | None]] = {}
    for group, measure in dict.fromkeys((d.group, d.measure) for d in found):
        known = [d.value for d in found if (d.group, d.measure) == (group, measure) and d.value is not None]
        groups.setdefault(group, {})[measure] = sum(known) / len(known) if known else None
    return groups


def _by_operation(figures: Figures, unit: str) -> dict[str, float]:
    return {kind: counts[unit] for kind, counts in figures["mix"]["by_operation"].items()}


def _by_stream(figures: Figures, unit: str) -> dict[str, float]:
    return {stream["name"]: stream[unit] for stream in figures["streams"]}


def _bins(distribution: Any) -> Bins | None:
    return None if distribution is None else distribution["bins"]


def _sizes(figures: Figures, kind: str) -> Bins | None:
    operation = figures["mix"]["by_operation"].get(kind)
    return None if operation is None else _bins(operation["lengths"]["distribution"])


def _sequential(figures: Figures, kind: str, rule: str) -> float | None:
    operation = figures["places"]["by_operation"].get(kind)
    return None if operation is None else operation[rule]["share_of_ios"]


def _runs(figures: Figures, kind: str) -> Bins | None:
    operation = figures["places"]["by_operation"].get(kind)
    return None if operation is None else _bins(operation["windowed"]["run_ios"])


def gaps_of(figures: Figures, kind: str | None = None) -> Bins | None:
    """Gaps between all I/Os of a part, or between those of one operation, with their counts."""
    arrivals = figures["arrivals"]
    shown = arrivals["all"] if kind is None else arrivals["by_operation"].get(kind)
    return None if shown is None else _bins(shown["gap_ns"])


def dispersion_of(figures: Figures, kind: str | None = None) -> Bins | None:
    """Index of dispersion by scale in s, of all I/Os or one operation, in octaves; None if unknown."""
    rates = figures["rates"]
    curve = rates["dispersion"] if kind is None else rates["dispersion_by_operation"][kind]
    return [(scale, math.log2(value)) for scale, value in curve if value > 0] or None


def _latency(figures: Figures, kind: str) -> Bins | None:
    shown = figures["completions"]
    if shown is None or kind not in shown["latency"]:
        return None
    return _bins(shown["latency"][kind]["all"])


def _depth(figures: Figures) -> Bins | None:
    shown = figures["completions"]
    return None if shown is None else [(depth, ns) for depth, ns in shown["queue_depth"]["all"]["time_ns"]]


def _busy(figures: Figures) -> float | None:
    shown = figures["completions"]
    return None if shown is None or not shown["span_ns"] else shown["busy_ns"] / shown["span_ns"]


def _heat(figures: Figures, kind: str) -> Bins | None:
    heat = figures["blocks"]["heat"][kind]
    return None if heat is None else heat["curve"]


def _footprint(figures: Figures) -> float | None:
    return figures["blocks"]["footprint"]["touched"]["bytes"] or None


def _misses(figures: Figures) -> Bins | None:
    reuse = figures["reuse"]
    if reuse is None:
        return None
    return [(point["cache_bytes"], point["miss_ratio"]) for point in reuse["miss_ratio_curve"]]
