"""Where the search begins: what follows from figures by the model's own equations.

Each value is computed from the step that shows it most directly. What no step shows stays as in the preset
that the search begins from, and is named.
"""

import math
from bisect import bisect
from collections.abc import Callable, Iterator, Mapping
from itertools import takewhile
from statistics import median
from typing import Any, Final

from msgspec import Struct

from openpts.units import NS_PER_US
from openpts.vocabulary.stimulus import Stimulus
from openpts_twin.twin import parameters as names
from openpts_twin.twin.evidence import PARTS, Evidence, Figures, fills_of, share_until
from openpts_twin.twin.parameters import PAGE_BYTES, Values, preset_of, value_of

_LARGE_BYTES: Final = 128 * 1024
_NEAR_LINK: Final = 0.97
# what a cache does to a long sequential write, and what it counts if there is one on one side alone
_FALL: Final = 1.5
_OTHER_KIND: Final = 5.0
# of the capacity what is behind a cache, and before anything is written again in most active ranges; how much
# of a part is in the cache if it is one of the cache
_LATER: Final = 0.4
_FIRST: Final = 0.75
_HALF: Final = 0.5
_LEAST_DYNAMIC: Final = 0.02
_LEAST_STATIC: Final = 0.001
_SPACES: Final = 0.001
_US: Final = 1e6


class _Seen(Struct, frozen=True):
    content: Mapping[str, Any]
    evidence: Evidence
    by_link: bool

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


def starts_of(content: Mapping[str, Any], evidence: Evidence, dies: int) -> Iterator[dict[str, Any]]:
    """What steps show of values if the drive has so many dies: two answers where the link or the cells may
    be the limit of large reads.
    """
    for by_link in (False, True):
        seen = _Seen(content, evidence, by_link)
        if not by_link or _are_sizes_equal(seen):
            yield _start_of(seen, dies)


def _start_of(seen: _Seen, dies: int) -> dict[str, Any]:
    computed = (
        (names.GROUP, min(dies, int(seen.known(names.GROUP)))),
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
    if (chunk := _chunk(seen, dies, values.get(names.READ))) is not None:
        values[names.CHUNK] = chunk
    values |= _cache(seen, dies)
    if (space := _space(seen, values)) is not None:
        values[names.SPACE] = space
    return values


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
    compared = (names.READ, names.PROGRAM, names.FRONT_READ, names.LINK_READ, names.SLC_PROGRAM)
    course = _sequential_course(evidence)
    falls = course is not None and course.first > _FALL * course.later
    other_kind = _OTHER_KIND if falls != (value_of(content, names.STATIC) is not None) else 0.0
    return other_kind + min(
        sum(math.log(values[name] / value_of(content, name)) ** 2 for name in compared if name in values)
        for values in starts_of(content, evidence, dies_of(content, evidence))
    )


def _first_size(stimulus: Stimulus) -> int:
    return stimulus.block_sizes[0].block_size_bytes


def _reads(stimulus: Stimulus) -> bool:
    return stimulus.operations.read > 0 and not stimulus.changes_target


def _writes(stimulus: Stimulus) -> bool:
    return stimulus.operations.write > 0 and stimulus.operations.read == 0


def _large_reads(seen: _Seen) -> list[float]:
    """The most bytes per second of each size of large reads, the least first."""
    rates: dict[int, float] = {}
    for stimulus, figures in seen.of(lambda one: _reads(one) and one.toio > 1):
        if (size := _first_size(stimulus)) >= _LARGE_BYTES:
            rates[size] = max(rates.get(size, 0.0), figures["rate"] * size)
    return sorted(rates.values())


def _are_sizes_equal(seen: _Seen) -> bool:
    """Whether sizes of large reads are equally fast, as they are where the link is the limit."""
    *_, second, rate = (0.0, 0.0, *_large_reads(seen))
    return second > _NEAR_LINK * rate


def _link_read(seen: _Seen) -> float:
    """Bytes per second of large reads if the link is their limit, of the preset if it shows no more."""
    rate = max(_large_reads(seen), default=0.0) * 1.002
    return rate if seen.by_link else max(rate, seen.known(names.LINK_READ))


def _chunk(seen: _Seen, dies: int, read_us: float | None) -> int | None:
    """Pages in a row on a die, from the most that large reads have of all cells."""
    rate = max(_large_reads(seen), default=0.0)
    if not rate or read_us is None or seen.by_link:
        return None

    def far(chunk: int) -> float:
        busy_us = read_us + seen.known(names.TRANSFER) * (0.2 + 0.8 * chunk)
        return abs(math.log(dies * chunk / busy_us * PAGE_BYTES * _US / rate))

    return min((1 << power for power in range(7) if seen.known(names.UNIT) % (1 << power) == 0), key=far)


class _Course(Struct, frozen=True):
    """A long sequential write: times the capacity, rates until each share of it, in bytes per second."""

    fills: float
    rates: tuple[tuple[float, float], ...]

    @property
    def first(self) -> float:
        """The rate before it falls, if it does."""
        begin, between = self.rates[0][1], math.sqrt(self.rates[0][1] * self.later)
        return median(rate for _, rate in takewhile(lambda one: one[1] >= min(begin, between), self.rates))

    @property
    def later(self) -> float:
        """The rate behind a cache's, while the drive is filled for the first time."""
        behind = [rate for until, rate in self.rates if _LATER < until * self.fills < _FIRST]
        return median(behind or [self.rates[-1][1]])

    @property
    def held(self) -> float:
        """How many times the capacity is written before the first fall."""
        held = begin = 0.0
        slow_s = 1 / self.later - 1 / self.first
        for until, rate in self.rates:
            share = min(1.0, max(0.0, (1 / self.later - 1 / rate) / slow_s)) if slow_s > 0 else 0.0
            held, begin = held + share * (until - begin), until
            if share < _HALF:
                break
        return held * self.fills


def _sequential_course(evidence: Evidence) -> _Course | None:
    """The first long sequential write on a purged drive."""
    for part in evidence.parts:
        step, figures = part.steps[0], part.measured[0]
        if step.stimulus is None or not _writes(step.stimulus) or step.stimulus.random_pct:
            continue
        rates = [
            (share_until(number + 1), figures[f"rate {number}"] * 1e9)
            for number in range(PARTS)
            if f"rate {number}" in figures
        ]
        if rates:
            return _Course(fills_of(step, evidence.capacity_bytes) or 1.0, tuple(rates))
    return None


def _program_us(seen: _Seen, dies: int) -> float | None:
    """From the rate at which long sequential writing is programmed: at its end, if a cache takes some."""
    course = _sequential_course(seen.evidence)
    if course is None:
        return None
    rate = course.later if value_of(seen.content, names.STATIC) is None else course.rates[-1][1]
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
    rest_us = seen.known(names.FRONT_READ) if front_us is None else front_us
    rest_us += PAGE_BYTES / _link_read(seen) * _US
    rest_us += sum(map(seen.known, (names.FIXED_READ, names.COMMAND, names.TRANSFER)))
    return max(alone_us - rest_us, 0.1 * alone_us)


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
    rate, outstanding = max(
        (
            (figures["rate"], stimulus.toio)
            for stimulus, figures in seen.of(lambda one: _reads(one) and one.random_pct == 100)
            if _first_size(stimulus) <= PAGE_BYTES and stimulus.toio > 1
        ),
        default=(0.0, 0),
    )
    if not rate:
        return None
    dies = values[names.DIES]
    busy_us = values.get(names.READ, seen.known(names.READ)) + seen.known(names.TRANSFER)
    of_dies = dies * outstanding / (outstanding + dies - 1) / busy_us * _US
    return _US / rate if of_dies > rate * 1.15 else min(_US / rate, seen.known(names.FRONT_READ))


def _cache(seen: _Seen, dies: int) -> Values:
    """Single-bit cells: how much of a sequential fill goes into them, and how fast."""
    course = _sequential_course(seen.evidence)
    if course is None or value_of(seen.content, names.STATIC) is None:
        return {}
    program_us = dies * seen.known(names.SLC_UNIT) * PAGE_BYTES / course.first * _US
    if course.first > _NEAR_LINK * seen.known(names.LINK_WRITE):
        program_us = min(program_us, seen.known(names.SLC_PROGRAM))
    values = {names.SLC_PROGRAM: program_us}
    held, bits, space = course.held, seen.known(names.BITS), seen.known(names.SPACE)
    # what is mapped in them is not free for them any longer
    dynamic = (bits * held - seen.known(names.STATIC) * space) / (1 - held) if held < 1 else 1.0
    if dynamic > _LEAST_DYNAMIC:
        return {**values, names.DYNAMIC: min(1.0, dynamic)}
    return {**values, names.DYNAMIC: _LEAST_DYNAMIC, names.STATIC: max(_LEAST_STATIC, bits * held / space)}


def _space(seen: _Seen, values: Values) -> float | None:
    """From the last random 4 KiB writes: the space with which the model would write as fast."""
    rates = [
        figures["rate"]
        for stimulus, figures in seen.of(lambda one: _writes(one) and one.random_pct == 100)
        if _first_size(stimulus) == PAGE_BYTES and stimulus.toio > 1
    ]
    # where single-bit cells take some of them it says little
    if not rates or value_of(seen.content, names.STATIC) is not None:
        return None

    def rate(space: int) -> float:
        preset = preset_of(seen.content, {**values, names.SPACE: space * _SPACES})
        shape = preset.shape(seen.evidence.capacity_bytes, 1)
        return 0.0 if shape is None else shape.expected_iops(PAGE_BYTES, read_share=0, collects=True)

    spaces = range(round(1.01 / _SPACES), round(3 / _SPACES))
    return (spaces[0] + bisect(spaces, rates[-1], key=rate)) * _SPACES
