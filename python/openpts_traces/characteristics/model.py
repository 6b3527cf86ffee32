"""A model of a trace: text of some kilobytes from which a trace like it is made, as a format of traces.

The arrivals are those of the candidate whose I/Os, made and measured, are nearest to the trace.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.errors import TraceError
from openpts.run_folder_files import write_files
from openpts.temporary_folder import temporary_folder
from openpts.units import KIB, MIB, NS_PER_S, NS_PER_US
from openpts_traces.characteristics.arrival_fit import ArrivalFit, Candidate, Segment, fitted
from openpts_traces.characteristics.distances import (
    area_between,
    dispersion_of,
    distances,
    gaps_of,
    wasserstein_log2,
)
from openpts_traces.characteristics.model_arrivals import (
    RUNGS,
    Group,
    arrivals_of,
    compact,
    gaps_text,
    groupings,
    in_trains,
    modulated,
    tables_at,
)
from openpts_traces.characteristics.native import Selection, figures_of, trains_and_places
from openpts_traces.characteristics.synthesis import left_out, zones_of
from openpts_traces.treatment import Span

Figures = Mapping[str, Any]

_MOST_BYTES: Final = 16 * KIB
_BYTES_PER_RATE: Final = 9
_CALIBRATIONS: Final = 3
_KINDS: Final = ("read", "write", "trim", "flush")
_PLACED: Final = ("read", "write")
_FOOTPRINTS: Final = ("read", "written", "read_and_written")
_ARRIVALS: Final = "\n[[arrivals]]"
_STREAM: Final = "\n[[stream]]"
_STACK: Final = "as long since the last use as in the trace (LRU stack)"
_ZONES: Final = "zones, the hottest first"
_MOST_STREAMS: Final = 16
_COVER: Final = 0.995
_ROOM: Final = 4
"""Range over footprint, so that new places are found, and what begins there meets no other."""
_SECTOR_BYTES: Final = 512
_BLOCK_BYTES: Final = 4 * KIB
_ALIGNED: Final = 9000
"""Of ten thousand runs of a size: so many begin at its multiples if all do in the model."""

_Tried = tuple[Candidate, str, Figures]


class PlaceCandidate(Struct, frozen=True):
    """A way to choose places, with the distances of its I/Os from the trace; None for what is not known."""

    places: str
    hot_cold: float | None
    miss_ratio: float | None

    @property
    def distance(self) -> float:
        """The larger of both: each is a mean difference of shares."""
        return max((one for one in (self.hot_cold, self.miss_ratio) if one is not None), default=math.inf)


class TraceModel(Struct, frozen=True):
    """A model: its text, the arrivals and places that were chosen, all that were tried, what is not in it.

    ``figures`` are those of the I/Os that are made of it.
    """

    text: str
    chosen: str
    chosen_places: str
    candidates: tuple[Candidate, ...]
    place_candidates: tuple[PlaceCandidate, ...]
    lost: tuple[str, ...]
    figures: Figures
    fit: ArrivalFit


def modeled(trace: Path, selection: Selection, figures: Figures, seconds: float | None = None) -> TraceModel:
    """The model of a trace with these figures; in ``seconds`` instead of its duration. Raises TraceError."""
    keys, lost = _streams(figures)
    if not keys:
        raise TraceError("can't model the trace: no read, write, trim or flush has a length of whole sectors")
    ways = groupings(figures, keys)
    start_ns, span_ns = figures["whole"]["start_ns"], figures["whole"]["span_ns"]
    whole = replace(selection, time_ns=Span(start_ns, start_ns + span_ns + NS_PER_US))
    couplings = [rung for way in ways for group in way for rung in group.rungs]
    measured = trains_and_places(trace, whole, keys, couplings)
    trains = iter(measured["trains"])
    for group in (group for way in ways for group in way):
        group.tables = [in_trains(group.numbers, next(trains)) for _ in group.rungs]
    fixed = len(
        _Parts(figures, keys, measured, (), seconds).text(max((tables_at(way, 0) for way in ways), key=len))
    )
    most = max(1, (_MOST_BYTES - fixed) // (len(keys) + 1) // _BYTES_PER_RATE)
    fit = fitted(figures, _steps(measured, keys, span_ns), most)
    parts = _Parts(figures, keys, measured, fit.segments, seconds)
    everything = list(range(len(keys)))
    if fit.is_closed:
        tried = [parts.tried("closed loop", arrivals_of(everything, 'process = "even"'))]
    else:
        tried = [parts.tried("Poisson", arrivals_of(everything, 'process = "poisson"'))]
        tried += [
            parts.tried("MMPP-2", arrivals_of(everything, text)) for text in modulated(figures, fit.segments)
        ]
        tried += [one for way in ways for one in _trains_tried(parts, way)]
    best, text, made = min(tried, key=lambda one: one[0].distance)
    arrivals = text[text.index(_ARRIVALS) : text.index(_STREAM)]
    parts, text, made = _calibrated(parts, arrivals, text, made)
    zoned = parts.text(arrivals, is_zoned=True)
    places = [
        (_place_candidate(name, figures, shown), words, shown)
        for name, words, shown in ((_STACK, text, made), (_ZONES, zoned, _made(zoned)))
    ]
    nearest, text, made = min(places, key=lambda one: one[0].distance)
    without = ["the order of reuse: places of a zone are drawn independently"] * (nearest.places == _ZONES)
    return TraceModel(
        text=text,
        chosen=best.process,
        chosen_places=nearest.places,
        candidates=tuple(one for one, _, _ in tried),
        place_candidates=tuple(one for one, _, _ in places),
        lost=(*lost, *left_out(figures, "zeroes", "other"), *without),
        figures=made,
        fit=fit,
    )


def _calibrated(parts: "_Parts", arrivals: str, text: str, made: Figures) -> tuple["_Parts", str, Figures]:
    """With the rates of streams changed so that as many I/Os are made of each as the trace has."""
    best = parts, text, made
    wanted = _ios(parts.figures, parts.keys)
    for _ in range(_CALIBRATIONS):
        found = _ios(made, parts.keys)
        ratios = {
            key: min(2.0, max(0.5, wanted[key] / found[key])) if found[key] else 1.0 for key in parts.keys
        }
        segments = [
            replace(one, ios_per_s={key: rate * ratios[key] for key, rate in one.ios_per_s.items()})
            for one in parts.segments
        ]
        parts = replace(parts, segments=segments)
        text = parts.text(arrivals)
        made = _made(text)
        if _missing(wanted, _ios(made, parts.keys)) < _missing(wanted, _ios(best[2], parts.keys)):
            best = parts, text, made
    return best


def _ios(figures: Figures, keys: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
    """I/Os of each operation and size."""
    ios = dict.fromkeys(keys, 0)
    for stream in figures["streams"]:
        if (key := (stream["kind"], stream["size_bytes"])) in ios:
            ios[key] += stream["ios"]
    return ios


def _missing(wanted: Mapping[tuple[str, int], int], found: Mapping[tuple[str, int], int]) -> float:
    """I/Os and bytes that are too many or too few, as shares."""
    ios = sum(abs(count - found[key]) for key, count in wanted.items())
    moved = sum(abs(count - found[key]) * key[1] for key, count in wanted.items())
    total, amount = sum(wanted.values()), sum(count * key[1] for key, count in wanted.items())
    return ios / max(1, total) + moved / max(1, amount)


def _steps(measured: Mapping[str, Any], keys: Sequence[tuple[str, int]], span_ns: int) -> list[Segment]:
    """The rates in each of the parts that the span has, of which the last one may be cut off."""
    part_ns, steps = measured["part_ns"], []
    for number, counts in enumerate(measured["parts"]):
        length_ns = min(part_ns, span_ns + 1 - number * part_ns)
        if length_ns > 0:
            rates = [ios * NS_PER_S / length_ns for ios in counts]
            steps.append(Segment(number * part_ns, length_ns, dict(zip(keys, rates, strict=True))))
    return steps


def _trains_tried(parts: "_Parts", way: Sequence[Group]) -> Iterator["_Tried"]:
    """With each rung, and with the best one of each group."""
    name = f"on-off, {'together' if len(way) == 1 else 'reads and others apart'}"
    best = [(math.inf, 0)] * len(way)
    for rung in range(len(RUNGS)):
        one = parts.tried(f"{name}: gaps up to {gaps_text(way, [rung] * len(way))}", tables_at(way, rung))
        yield one
        for number, group in enumerate(way):
            found = [value for value in _distances(parts.figures, one[2], group.kind) if value is not None]
            best[number] = min(best[number], (max(found, default=math.inf), rung))
    rungs = [rung for _, rung in best]
    if len(set(rungs)) > 1:
        arrivals = "".join(group.tables[rung] for group, rung in zip(way, rungs, strict=True))
        yield parts.tried(f"{name}: gaps up to {gaps_text(way, rungs)}", arrivals)


def _streams(figures: Figures) -> tuple[list[tuple[str, int]], tuple[str, ...]]:
    """Operations with their sizes until next to nothing is left, and what is."""
    merged: dict[tuple[str, int], list[int]] = {}
    for stream in figures["streams"]:
        if stream["kind"] in _KINDS and stream["size_bytes"] % _SECTOR_BYTES == 0:
            counts = merged.setdefault((stream["kind"], stream["size_bytes"]), [0, 0])
            counts[0] += stream["ios"]
            counts[1] += stream["bytes"]
    totals = [sum(stream[unit] for stream in figures["streams"]) for unit in ("ios", "bytes")]

    def shares(counts: Sequence[int]) -> list[float]:
        return [count / max(1, total) for count, total in zip(counts, totals, strict=True)]

    keys: list[tuple[str, int]] = []
    covered = [0.0, 0.0]
    for key, counts in sorted(merged.items(), key=lambda one: -max(shares(one[1]))):
        if len(keys) == _MOST_STREAMS or min(covered) >= _COVER:
            break
        keys.append(key)
        covered = [one + other for one, other in zip(covered, shares(counts), strict=True)]
    left = [f"{100 * (1 - covered[0]):.1f} % of I/Os, of rare sizes and operations"]
    return keys, tuple(left) if covered[0] < 1 - 1e-9 else ()


def _distances(figures: Figures, made: Figures, kind: str | None) -> tuple[float | None, float | None]:
    """Of the dispersion and of the gaps of all I/Os or one operation."""
    found = []
    for of, distance in ((dispersion_of, area_between), (gaps_of, wasserstein_log2)):
        one, other = of(figures["whole"], kind), of(made["whole"], kind)
        found.append(None if one is None or other is None else distance(one, other))
    return found[0], found[1]


def _mean_distances(figures: Figures, made: Figures) -> tuple[float | None, float | None]:
    """Means of those of all I/Os, of reads and of writes."""
    found = [_distances(figures, made, kind) for kind in (None, *_PLACED)]

    def mean(values: Iterable[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return sum(known) / len(known) if known else None

    return mean(one for one, _ in found), mean(other for _, other in found)


def _place_candidate(name: str, figures: Figures, made: Figures) -> PlaceCandidate:
    found = {one.figure: one.value for one in distances(figures, made) if one.group == "places"}
    hot_cold = [value for kind in _PLACED if (value := found[f"hot and cold, {kind}s"]) is not None]
    return PlaceCandidate(name, max(hot_cold, default=None), found["miss ratio"])


def _made(text: str) -> Figures:
    """The figures of the I/Os of a model."""
    with temporary_folder("model") as folder:
        write_files(folder, {"model.toml": text.encode()}, lasting=False)
        return figures_of(folder / "model.toml", Selection("model"))


class _Parts(Struct, frozen=True):
    """What the candidates have in common."""

    figures: Figures
    keys: Sequence[tuple[str, int]]
    measured: Mapping[str, Any]
    segments: Sequence[Segment]
    seconds: float | None

    def tried(self, name: str, arrivals: str) -> "_Tried":
        """The candidate with these arrivals, its text and its figures."""
        text = self.text(arrivals)
        made = _made(text)
        return Candidate(name, *_mean_distances(self.figures, made)), text, made

    def text(self, arrivals: str, *, is_zoned: bool = False) -> str:
        """The model with these arrivals."""
        whole, name = self.figures["whole"], self.figures["trace"]["files"][0].rpartition("/")[2]
        largest = max(size for _, size in self.keys)
        touched = whole["blocks"]["footprint"]["touched"]["bytes"]
        zones = self._zones() if is_zoned else {}
        least_bytes = sum(size for zone in zones.values() for _, size in zone)
        range_bytes = MIB * math.ceil(max(_ROOM * touched, 16 * largest, least_bytes, MIB) / MIB)
        length_ns = sum(segment.length_ns for segment in self.segments)
        scale = self.seconds * NS_PER_S / length_ns if self.seconds and length_ns else 1.0
        steps = [
            [
                float(f"{segment.length_ns * scale / NS_PER_S:.6g}"),
                [float(f"{segment.ios_per_s[key]:.5g}") for key in self.keys],
            ]
            for segment in self.segments
        ]
        return "\n".join(
            (
                f"# {whole['mix']['ios']:,} I/Os in {whole['span_ns'] / NS_PER_S:.3g} s",
                f"name = {json.dumps(f'like {name}')}",
                "seed = 1",
                f"range_bytes = {range_bytes}",
                f"steps = [{''.join(f'{chr(10)}  {compact(step)},' for step in steps)}\n]",
                arrivals,
                *self._streams(),
                *self._places(zones),
                "",
            )
        )

    def _streams(self) -> Iterator[str]:
        on, aligned = self.measured["continues_per_10k"], self.measured["aligned_per_10k"]
        for number, (kind, size) in enumerate(self.keys):
            yield f'\n[[stream]]\noperation = "{kind}"\nsize_bytes = {size}'
            if kind in _PLACED:
                is_aligned = size > _BLOCK_BYTES and size & (size - 1) == 0 and aligned[number] >= _ALIGNED
                yield from [f"aligned_bytes = {size}"] * is_aligned
                yield f"continues_per_10k = {compact(on[number])}"

    def _zones(self) -> dict[str, list[tuple[int, int]]]:
        largest = {kind: max((size for one, size in self.keys if one == kind), default=0) for kind in _PLACED}
        return {kind: zones_of(self.figures, kind, largest[kind]) for kind in _PLACED}

    def _places(self, zones: Mapping[str, list[tuple[int, int]]]) -> Iterator[str]:
        footprint = {
            name: one["bytes"]
            for name, one in self.figures["whole"]["blocks"]["footprint"].items()
            if name in _FOOTPRINTS
        }
        is_shared = 2 * footprint["read_and_written"] > min(footprint["read"], footprint["written"])
        from_bytes = 0
        for kind in _PLACED:
            if any(key[0] == kind for key in self.keys):
                values = dict(self.measured[kind])
                if zone := zones.get(kind):
                    values |= {"zones": zone, "zones_from_bytes": from_bytes, "distances": []}
                    from_bytes = 0 if is_shared else sum(size for _, size in zone)
                rows = (f"{name} = {compact(value)}" for name, value in values.items())
                yield "\n".join((f"\n[{kind}]", *rows))
