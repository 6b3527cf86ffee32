"""Arrivals that a model may have: in trains of the streams of a group, or at two rates (MMPP-2)."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, field

from openpts.units import NS_PER_S, NS_PER_US
from openpts_traces.characteristics.arrival_fit import Segment, step_dispersion
from openpts_traces.characteristics.distances import dispersion_of, gaps_of

Figures = Mapping[str, Any]

RUNGS: Final = (1, 8, 64, 512)
"""Multiples of the gap that parts short from long ones best: there are trains of trains."""
_LEAST_GAP_NS: Final = 1


class Group(Struct):
    """Streams with trains of their own, and the operation by which they are judged.

    ``rungs`` have the largest gap of a train, ``tables`` the arrivals with it.
    """

    numbers: list[int]
    kind: str | None
    rungs: list[tuple[list[int], int]]
    tables: list[str] = field(default_factory=list)


def groupings(figures: Figures, keys: Sequence[tuple[str, int]]) -> list[list[Group]]:
    """Trains of all I/Os, and those of reads beside those of others; with tighter and with looser ones."""
    reads = [number for number, (kind, _) in enumerate(keys) if kind == "read"]
    others = [number for number in range(len(keys)) if number not in reads]

    def group(numbers: list[int], kind: str | None) -> Group:
        gap_ns = _train_gap_ns(figures, kind)
        return Group(numbers, kind, [(numbers, times * gap_ns) for times in RUNGS])

    together = [group(list(range(len(keys))), None)]
    return [together, [group(reads, "read"), group(others, "write")]] if reads and others else [together]


def in_trains(numbers: Sequence[int], measured: Mapping[str, Any]) -> str:
    """Arrivals in trains; independent ones if all is one train."""
    is_one = not measured["gaps_between_ns"]
    return arrivals_of(numbers, 'process = "poisson"' if is_one else _table("on-off", measured))


def tables_at(grouping: Sequence[Group], rung: int) -> str:
    """The arrivals of all groups with one rung."""
    return "".join(group.tables[rung] for group in grouping)


def gaps_text(grouping: Sequence[Group], rungs: Sequence[int]) -> str:
    """The largest gaps within trains."""
    gaps = (group.rungs[rung][1] for group, rung in zip(grouping, rungs, strict=True))
    return " and ".join(f"{gap_ns / NS_PER_US:.3g} us" for gap_ns in gaps)


def arrivals_of(numbers: Iterable[int], process: str) -> str:
    """The model's text for the arrivals of the streams with these numbers."""
    return f"\n[[arrivals]]\nstreams = {compact(list(numbers))}\n{process}\n"


def _table(process: str, values: Mapping[str, Any]) -> str:
    rows = (f"{name} = {compact(value)}" for name, value in values.items())
    return "\n".join((f"[arrivals.process.{process}]", *rows))


def _train_gap_ns(figures: Figures, kind: str | None) -> int:
    """The gap that parts short from long ones best: largest variance between both, in octaves (Otsu)."""
    gaps = gaps_of(figures["whole"], kind) or []
    places = [(math.log2(max(gap, _LEAST_GAP_NS)), count) for gap, count in gaps]
    total, mass = sum(count for _, count in places), sum(place * count for place, count in places)
    best, limit_ns, below, below_mass = 0.0, _LEAST_GAP_NS, 0.0, 0.0
    for number, (place, count) in enumerate(places[:-1]):
        below, below_mass = below + count, below_mass + place * count
        above, above_mass = total - below, mass - below_mass
        variance = below * above * (below_mass / below - above_mass / above) ** 2
        if variance > best:
            best, limit_ns = variance, int(gaps[number + 1][0]) - 1
    return max(_LEAST_GAP_NS, limit_ns)


def compact(value: Any) -> str:
    """Numbers and lists of them as TOML has them."""
    return json.dumps(value, separators=(",", ":"))


def modulated(figures: Figures, segments: Sequence[Segment]) -> Iterator[str]:
    """MMPP-2 by the dispersion that the steps leave: its limit and its rate, then two shares of time."""
    observed = dispersion_of(figures["whole"])
    rate = figures["whole"]["mix"]["ios"] / max(1, figures["whole"]["span_ns"]) * NS_PER_S
    if not observed or not segments:
        return
    scales = [width for width, _ in observed]
    in_steps = step_dispersion(segments, scales)
    rest = [
        (width, max(0.0, 2**value - 2**of_steps))
        for (width, value), (_, of_steps) in zip(observed, in_steps, strict=True)
    ]
    if max(value for _, value in rest) < 1 / 16:
        return
    limit, switching_per_s = _fitted_modulation(rest)
    square = limit * switching_per_s / (2 * rate)
    for part in (1.0, 0.5):
        share = part / (1 + square)
        rates = (
            1 + math.sqrt(square * (1 - share) / share),
            max(0.0, 1 - math.sqrt(square * share / (1 - share))),
        )
        times = 1 / ((1 - share) * switching_per_s), 1 / (share * switching_per_s)
        numbers = [[float(f"{value:.6g}") for value in pair] for pair in (rates, times)]
        yield _table("mmpp", {"rates": numbers[0], "seconds": numbers[1]})


def _fitted_modulation(rest: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Limit A and rate r of A (1 - (1 - exp(-r t)) / (r t)): least squares of log2(1 + y) over a grid."""

    def error(limit: float, per_s: float) -> float:
        shapes = ((per_s * width, value) for width, value in rest)
        return sum(
            (math.log2(1 + limit * (1 + math.expm1(-x) / x)) - math.log2(1 + value)) ** 2
            for x, value in shapes
        )

    highest = max(value for _, value in rest)
    limits = [highest * 2 ** (step / 4) for step in range(-8, 25)]
    rates = [2 ** (step / 4) / rest[-1][0] for step in range(-16, 57)]
    return min(((limit, rate) for limit in limits for rate in rates), key=lambda pair: error(*pair))
