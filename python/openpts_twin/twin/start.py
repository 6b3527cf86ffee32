"""Where the search begins: what follows from figures by the model's own equations.

Each value is computed from the step that shows it most directly. What no step shows stays as in the preset
that the search begins from, and is named.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from statistics import median
from typing import Any, Final

from msgspec import Struct

from openpts.units import NS_PER_US
from openpts.vocabulary.stimulus import Stimulus
from openpts_twin.twin import parameters as names
from openpts_twin.twin.evidence import PARTS, Evidence, Figures
from openpts_twin.twin.parameters import PAGE_BYTES, Values, preset_of, value_of

_LARGE_BYTES: Final = 128 * 1024
_NEAR_LINK: Final = 0.95
# the link is what is seen of reads where all else would allow so many times as much
_OTHERS_ALLOW: Final = 1.5
# what a cache does to a long sequential write, and what it counts if there is one on one side alone
_FALL: Final = 1.5
_OTHER_KIND: Final = 5.0
_US: Final = 1e6


class Start(Struct, frozen=True):
    """Values to begin with, and the names of those that no step shows."""

    values: dict[str, Any]
    assumed: tuple[str, ...]


class _Seen(Struct, frozen=True):
    content: Mapping[str, Any]
    evidence: Evidence

    def of(
        self, wanted: Callable[[Stimulus], bool], *, cached: bool = False
    ) -> Iterator[tuple[Stimulus, Figures]]:
        """Steps of one stimulus that is wanted, with what was measured; ``cached``: with the cache on."""
        for step, figures in self.evidence.steps(cached=cached):
            if step.stimulus is not None and figures and wanted(step.stimulus):
                yield step.stimulus, figures

    def known(self, name: str) -> float:
        """A value of the preset that the search begins from."""
        return float(value_of(self.content, name, 0.0))


def start_of(content: Mapping[str, Any], evidence: Evidence, dies: int) -> Start:
    """Where the search begins if the drive has so many dies."""
    seen = _Seen(content, evidence)
    computed = (
        (names.GROUP, _group(seen, dies)),
        (names.LINK_READ, _link_read(seen)),
        (names.PROGRAM, _program_us(seen, dies)),
        (names.FRONT_WRITE, _front_write_us(seen)),
    )
    values: dict[str, Any] = {names.DIES: dies}
    values |= {name: found for name, found in computed if found is not None}
    for _ in range(2):  # each needs the other
        if (read_us := _read_us(seen, values.get(names.FRONT_READ))) is not None:
            values[names.READ] = read_us
        if (front_us := _front_read_us(seen, values)) is not None:
            values[names.FRONT_READ] = front_us
    values |= _cache(seen, dies)
    if (space := _space(seen, values)) is not None:
        values[names.SPACE] = space
    sought = {each.name for each in names.CONTINUOUS if value_of(content, each.name) is not None}
    return Start(values, tuple(sorted(sought - values.keys())))


def dies_of(content: Mapping[str, Any], evidence: Evidence) -> int:
    """Dies that a drive of the preset would have."""
    per_die = value_of(content, names.BYTES_PER_DIE)
    dies = int(value_of(content, names.DIES))
    if per_die is None:
        return dies
    wanted = evidence.capacity_bytes / per_die
    return min(dies, max(int(value_of(content, names.GROUP)), 1 << max(0, round(math.log2(wanted)))))


def distance(content: Mapping[str, Any], evidence: Evidence) -> float:
    """How far what can be computed is from the values of a preset: the sum of squared logarithms."""
    seen = _Seen(content, evidence)
    start = start_of(content, evidence, dies_of(content, evidence)).values
    compared = (names.READ, names.PROGRAM, names.FRONT_READ, names.LINK_READ, names.SLC_PROGRAM)
    found = sum(math.log(start[name] / seen.known(name)) ** 2 for name in compared if name in start)
    course = _sequential_course(seen)
    falls = course is not None and course[0] > _FALL * course[-1]
    return found + (_OTHER_KIND if falls != (names.SLC_PROGRAM in start) else 0.0)


def _group(seen: _Seen, dies: int) -> int:
    return min(dies, int(seen.known(names.GROUP)))


def _first_size(stimulus: Stimulus) -> int:
    return stimulus.block_sizes[0].block_size_bytes


def _reads(stimulus: Stimulus) -> bool:
    return stimulus.operations.read > 0 and not stimulus.changes_target


def _writes(stimulus: Stimulus) -> bool:
    return stimulus.operations.write > 0 and stimulus.operations.read == 0


def _link_read(seen: _Seen) -> float:
    """Bytes per second of large reads, unless it may be the cells or the channels that allow no more."""
    rates = [
        figures["rate"] * _first_size(stimulus)
        for stimulus, figures in seen.of(lambda one: _reads(one) and _first_size(one) >= _LARGE_BYTES)
    ]
    known = seen.known(names.LINK_READ)
    rate = max(rates, default=known)
    dies, chunk = seen.known(names.DIES), seen.known(names.CHUNK)
    transfer_us = seen.known(names.TRANSFER)
    of_cells = dies * chunk / (seen.known(names.READ) + transfer_us * (0.2 + 0.8 * chunk))
    of_channels = seen.known(names.CHANNELS) / transfer_us if transfer_us else math.inf
    if rate < known and min(of_cells, of_channels) * PAGE_BYTES * _US < _OTHERS_ALLOW * rate:
        return known
    return rate * 1.002


def _sequential_course(seen: _Seen) -> list[float] | None:
    """Bytes per second in parts of the first long sequential write on a purged drive."""
    for part in seen.evidence.parts:
        step, figures = part.steps[0], part.measured[0]
        if step.stimulus is None or not _writes(step.stimulus) or step.stimulus.random_pct:
            continue
        course = [figures[f"rate {number}"] * 1e9 for number in range(PARTS) if f"rate {number}" in figures]
        if course:
            return course
    return None


def _program_us(seen: _Seen, dies: int) -> float | None:
    """From the rate at which long sequential writing is programmed, at its end: behind a cache's."""
    course = _sequential_course(seen)
    if course is None:
        return None
    rate = median(course[PARTS // 2 :] or course)
    program_us = dies * seen.known(names.UNIT) * PAGE_BYTES / rate * _US
    if rate > _NEAR_LINK * seen.known(names.LINK_WRITE):
        # the link is what is seen: the cells are faster, by how much only random writes show
        return min(program_us, seen.known(names.PROGRAM))
    return program_us


def _alone_us(
    seen: _Seen, wanted: Callable[[Stimulus], bool], figure: str, *, cached: bool = False
) -> float | None:
    """Median response time of 4 KiB one at a time, in us."""
    found = [
        figures[figure] / NS_PER_US
        for stimulus, figures in seen.of(lambda one: wanted(one) and one.toio == 1, cached=cached)
        if figure in figures and _first_size(stimulus) == PAGE_BYTES
    ]
    return median(found) if found else None


def _read_us(seen: _Seen, front_us: float | None) -> float | None:
    """From the response time of a read alone, less what is no time of the cells."""
    alone_us = _alone_us(seen, _reads, "read p50")
    if alone_us is None:
        return None
    wire_us = PAGE_BYTES / _link_read(seen) * _US
    front_us = seen.known(names.FRONT_READ) if front_us is None else front_us
    rest = front_us + wire_us + sum(map(seen.known, (names.FIXED_READ, names.COMMAND, names.TRANSFER)))
    return max(alone_us - rest, 0.1 * alone_us)


def _front_write_us(seen: _Seen) -> float | None:
    """From the response time of a write alone, which waits for no cells behind a buffer."""
    alone_us = _alone_us(seen, _writes, "write p50", cached=True)
    if alone_us is None:
        return None
    wire_us = PAGE_BYTES / seen.known(names.LINK_WRITE) * _US
    rest = seen.known(names.FIXED_WRITE) + seen.known(names.COMMAND) + wire_us
    return max(alone_us - rest, 0.1)


def _front_read_us(seen: _Seen, values: Values) -> float | None:
    """From the most small reads in a second, unless so many dies could not do more."""
    best: tuple[float, int] | None = None
    for stimulus, figures in seen.of(lambda one: _reads(one) and one.random_pct == 100):
        if _first_size(stimulus) <= PAGE_BYTES and stimulus.toio > 1:
            best = max(best or (0.0, 0), (figures["rate"], stimulus.toio))
    if best is None:
        return None
    rate, outstanding = best
    dies = values[names.DIES]
    busy_us = values.get(names.READ, seen.known(names.READ)) + seen.known(names.TRANSFER)
    of_dies = dies * outstanding / (outstanding + dies - 1) / busy_us * _US
    return _US / rate if of_dies > rate * 1.15 else min(_US / rate, seen.known(names.FRONT_READ))


def _cache(seen: _Seen, dies: int) -> Values:
    """Single-bit cells: how much of a sequential fill goes into them, and how fast."""
    course = _sequential_course(seen)
    if course is None or value_of(seen.content, names.STATIC) is None:
        return {}
    program_us = dies * seen.known(names.SLC_UNIT) * PAGE_BYTES / course[0] * _US
    return {names.SLC_PROGRAM: program_us}


def _space(seen: _Seen, values: Values) -> float | None:
    """From the last random 4 KiB writes: the space with which the model would write as fast."""
    rates = [
        figures["rate"]
        for stimulus, figures in seen.of(lambda one: _writes(one) and one.random_pct == 100)
        if _first_size(stimulus) == PAGE_BYTES and stimulus.toio > 1
    ]
    if not rates:
        return None
    low, high = 1.01, 3.0
    for _ in range(30):
        middle = (low + high) / 2
        preset = preset_of(seen.content, {**values, names.SPACE: middle})
        shape = preset.shape(seen.evidence.capacity_bytes, 1)
        faster = (
            shape is not None and shape.expected_iops(PAGE_BYTES, read_share=0, collects=True) > rates[-1]
        )
        low, high = (low, middle) if faster else (middle, high)
    return (low + high) / 2
