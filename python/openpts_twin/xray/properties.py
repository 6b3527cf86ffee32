"""The properties of a drive that an x-ray tells, with their evidence, or why they are left open."""

import math
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final

from msgspec import Struct

from openpts.procedures.kit.host_limits import busy_host
from openpts.units import KIB, NS_PER_S, format_block_size, format_capacity
from openpts_twin.findings import Finding, cannot_tell, told
from openpts_twin.rates import Fall, at_higher_rate, first_fall
from openpts_twin.write_buffer import Filled
from openpts_twin.xray import RANDOM_WINDOW, RESTS_S
from openpts_twin.xray.collection import Pace, Victims
from openpts_twin.xray.frontiers import Frontiers, frontiers_of, kept_share
from openpts_twin.xray.geometry import Geometry
from openpts_twin.xray.results import ALIGNMENT, CACHE, PART, RANDOM, READS, REFILL, RESTS, XrayRun

_PAGE_BYTES: Final = 4 * KIB
_FOLDED, _FULL = 0.45, 0.1
"""What a cache that was folded takes in at least of what it took in before, and a full one at most."""
_ALIKE: Final = 0.05
_READ_AHEAD: Final = 0.7
_MERGED: Final = 30
"""So many times slower than in sequence, random writes move more than pages of collected blocks can be."""
_LEAST_FLASH: Final = 1.04
"""A drive that maps pages has more, if only by what 1 GB is less than 1 GiB."""
_EXACT: Final = 1.05
"""How exact it is what a burst took in."""
_AS_FAST: Final = 0.95
_MOST_LEFT: Final = 0.3
"""Of what a burst took in; by half of it its size is known."""
_LEAST_GAIN, _NO_GAIN = 0.2, 0.06
"""Of a burst, at the rate of a drive that has nothing to collect; up to the second, rates vary so much."""
_AS_MUCH, _LEAST_BEFORE = 0.9, 0.15
"""The longest rest gives back the most, and half of it a part of that."""
_MOST_WARMING_K: Final = 1


def findings_of(found: XrayRun) -> tuple[Finding, ...]:
    """All findings, told or not."""
    of_pages = (
        *_cache(found),
        *_spare(found),
        *_unit(found),
        *_victims(found),
        *_pace(found),
        *_frontiers(found),
        *_idle(found),
        *_buffer(found),
    )
    if why := _map_of_blocks(found):
        of_pages = tuple(cannot_tell(one.name, f"{RANDOM}: {why}") for one in of_pages)
    findings = (*of_pages, *_layout(found), *_read_ahead(found), *_heat(found))
    if why := busy_host(found.run):
        return tuple(cannot_tell(one.name, f"{why}: measure again on an idle one") for one in findings)
    return findings


def _map_of_blocks(found: XrayRun) -> str:
    """Why the map may be one of blocks with a log before them, whose end looks as that of a cache does."""
    if found.slowdown > _MERGED:
        return f"1/{found.slowdown:.0f} of the rate in sequence, as where a map of blocks merges them"
    if found.flash is not None and found.flash < _LEAST_FLASH:
        return f"the rate falls after {found.flash - 1:.3f} user capacities, as at the end of a log of blocks"
    return ""


def _cache(found: XrayRun) -> Iterator[Finding]:
    fall = found.cache
    if fall is None:
        if found.fill:
            yield told("cache_bytes", 0, "bytes", f"{CACHE}: one rate up to half of the drive", high=True)
        else:
            yield cannot_tell("cache_bytes", "the fill was not measured")
        return
    factor = fall.before_bytes_per_s / fall.after_bytes_per_s
    evidence = f"{CACHE}: the rate falls to 1/{factor:.1f} once"
    size = fall.at_bytes - found.buffered_bytes
    yield told("cache_bytes", round(size), "bytes", evidence, high=factor > 2)
    taken = _again(found, fall)
    if taken is None:
        yield cannot_tell("page_mapped.idle.folds", "writes after idle time were not measured")
        return
    again = max(0.0, taken - found.buffered_bytes)
    rest = f"{found.rest_ns / NS_PER_S:.0f} s of idle time"
    folds = again > _FOLDED * size
    if not folds and again > _FULL * size:
        yield cannot_tell("page_mapped.idle.folds", f"{CACHE}: after {rest} neither full nor empty")
        return
    evidence = f"{CACHE}: after {rest} {format_capacity(round(again))} at the higher rate"
    yield told("page_mapped.idle.folds", folds, "", evidence, high=again > size / 2 or again == 0)
    if not folds:
        yield cannot_tell("cache_policy", f"{rest} did not empty the cache: its size at half is not known")
        return
    yield told("cache_half_full_bytes", round(again), "bytes", evidence, high=True)
    change = again / size - 1
    policy = "static" if abs(change) <= _ALIKE else "dynamic"
    if change > _ALIKE:
        yield cannot_tell("cache_policy", "the cache takes in more on a half full drive")
    else:
        yield told("cache_policy", policy, "", f"{evidence}, {100 * change:+.0f} %", high=True)


def _again(found: XrayRun, fall: Fall) -> float | None:
    """Bytes at the higher rate after idle time."""
    if not found.after_rest:
        return None
    again = first_fall(found.after_rest)
    if (
        again is not None
        and again.before_bytes_per_s > (fall.before_bytes_per_s + fall.after_bytes_per_s) / 2
    ):
        return again.at_bytes
    high = fall.before_bytes_per_s, fall.after_bytes_per_s
    return sum(at_higher_rate(window, *high) for window in found.after_rest[1:])


def _spare(found: XrayRun) -> Iterator[Finding]:
    flash = found.flash
    name = "page_mapped.mapping.physical_per_user"
    if flash is None:
        yield cannot_tell(name, "the rate of random writes never fell for good")
        return
    evidence = f"{RANDOM}: free blocks run out after {flash - 1:.3f} user capacities of random writes"
    if found.cache is not None:
        evidence += ", if the cache has given back by then what it took of them"
    high = found.cache is None and flash > 1 + 4 * RANDOM_WINDOW
    yield told(name, round(flash, 4), "user capacities", evidence, high=high)


def _unit(found: XrayRun) -> Iterator[Finding]:
    unit, name = found.unit, "page_mapped.mapping.unit_pages"
    if unit.unit_bytes is None:
        yield cannot_tell(name, f"{ALIGNMENT}: {unit.why}")
    else:
        size = format_block_size(unit.unit_bytes)
        evidence = (
            f"{ALIGNMENT}: writes of {size} take {unit.ratio:.2f} times as long at half of their alignment, "
            "larger ones do not"
        )
        yield told(name, unit.unit_bytes // _PAGE_BYTES, "pages of 4 KiB", evidence, high=True)


def _layout(found: XrayRun) -> Iterator[Finding]:
    layout = found.geometry
    values = {
        "page_mapped.geometry.chunk_pages": (layout.chunk_pages, "pages"),
        "page_mapped.geometry.dies": (layout.units, "units"),
    }
    for name, (value, unit) in values.items():
        if value is None:
            yield cannot_tell(name, f"{READS}: {layout.why}")
        else:
            evidence = f"{READS}: pairs that wait take {layout.contrast:.2f} times as long"
            yield told(name, value, unit, evidence, high=layout.is_clear)


def _victims(found: XrayRun) -> Iterator[Finding]:
    victims = found.victims
    name = "page_mapped.collection.victim"
    if victims.victims is None:
        yield cannot_tell(name, f"{PART}: {victims.why}")
        return
    evidence = f"{PART}: at least {100 * (victims.lowest or 0):.0f} % of the rate once free blocks ran out"
    if victims.agrees:
        evidence += f"; {REFILL} agrees"
    yield told(name, str(victims.victims), "", evidence, high=victims.agrees)


def _pace(found: XrayRun) -> Iterator[Finding]:
    name = "page_mapped.collection.pace"
    if found.pace is None or found.responses is None:
        yield cannot_tell(name, f"{RANDOM}: response times do not tell doses from whole blocks")
        return
    before, after = found.responses
    evidence = (
        f"{RANDOM}: while the drive collects response times are {after.mean_ns / before.mean_ns:.1f} times "
        f"as long on average, their median {after.median_ns / before.median_ns:.1f} times"
    )
    yield told(name, str(found.pace), "", evidence, high=False)


def _frontiers(found: XrayRun) -> Iterator[Finding]:
    """Pages that do not lie as before have moved ones between them.

    Those that do need not be separate: whole blocks that are moved at a time leave long stretches of the
    host's pages as they are, and so do full ones, as of the oldest.
    """
    name, kept = "page_mapped.collection.frontiers", kept_share(found.pairs_ns, found.pairs_again_ns)
    if kept is None:
        why = "pairs were not read in what was written while the drive collects, or beside other work"
        yield cannot_tell(name, f"{READS}: {why}")
        return
    evidence = f"{READS}: of what is written while the drive collects {100 * kept:.0f} % lies as before"
    frontiers = frontiers_of(kept)
    in_doses = found.pace is Pace.PACED and found.victims.victims in {Victims.GREEDY, Victims.CHOICES}
    # what was read before lay in the cache
    if frontiers is None or found.cache is not None or not (in_doses or frontiers is Frontiers.MIXED):
        yield cannot_tell(name, f"{evidence}, which may have other reasons")
        return
    yield told(name, str(frontiers), "", evidence, high=False)


def _buffer(found: XrayRun) -> Iterator[Finding]:
    """The buffer holds whole program units of all units of the flash, one group of which may wait to be full.

    What it took in leaves at the rate of the flash at most: collection may begin behind the burst.
    """
    name, buffer, layout = "write_buffer_bytes", found.buffer, found.geometry
    if buffer is None:
        yield cannot_tell(name, "bursts of writes while the drive collects never meet a full buffer")
        return
    taken = buffer.taken_bytes
    evidence = f"bursts while the drive collects: {format_capacity(round(taken))} at the interface's rate"
    if found.pace is None or found.unit.unit_bytes != _PAGE_BYTES:
        yield cannot_tell(name, f"{evidence}, but what is moved or written beside them may end them")
        return
    left = max(buffer.after_bytes_per_s, found.flash_bytes_per_s) / buffer.before_bytes_per_s
    rows = _whole_rows(layout, buffer, left, found.pace) if found.cache is None else None
    if rows is not None:
        evidence += f", {taken / rows.bytes:.2f} times what all units program at once"
        yield told(name, rows.count * rows.bytes, "bytes", evidence, high=True)
    elif found.cache is not None and found.pace is Pace.PACED and left <= _MOST_LEFT:
        yield told(name, round(buffer.bytes), "bytes", evidence, high=False)
    else:
        yield cannot_tell(name, f"{evidence}, and how much of it in whole program units is not clear")


class _Rows(Struct, frozen=True):
    """Program units of all units of the flash."""

    count: int
    bytes: int


def _whole_rows(layout: Geometry, buffer: Filled, left: float, pace: Pace) -> _Rows | None:
    """How many rows a buffer holds, if one number fits what it took in.

    ``left`` is the rate of the flash beside that of the interface: so fast what was taken in leaves at most,
    from the end of the first programs on, which is as long as the flash takes for a row.
    """
    if left > _AS_FAST:
        return None
    if layout.units is None or layout.program_pages is None or layout.group_units is None:
        return None
    row_bytes = layout.units * layout.program_pages * _PAGE_BYTES
    taken, waiting = buffer.taken_bytes / row_bytes, layout.group_units / layout.units
    if pace is Pace.BURST and buffer.scatter_bytes > waiting * row_bytes:
        return None
    least, most = (taken - max(0.0, left * taken - 1)) / _EXACT, taken * _EXACT + waiting
    fitting = range(max(1, math.ceil(least)), math.floor(most) + 1)
    return _Rows(fitting[0], row_bytes) if len(fitting) == 1 else None


def slowed_at(readings: Sequence[tuple[float, bool]]) -> list[float]:
    """Temperatures before, in and after the first interval that heat slowed down; none without one."""
    for place in range(1, len(readings)):
        if readings[place][1] and not readings[place - 1][1]:
            return [celsius for celsius, _ in readings[place - 1 : place + 2]]
    return []


def _heat(found: XrayRun) -> Iterator[Finding]:
    """The temperatures of the intervals before and in which the drive first told that heat slows it down."""
    name = "throttles_from_c"
    told_of = [
        (one.temperature_c, one.throttled)
        for step in found.run.steps
        for one in step.sample.intervals
        if one.temperature_c is not None and one.throttled is not None
    ]
    limits = slowed_at(told_of)
    if not limits:
        upto = f", up to {max(told_of)[0]:g} °C" if told_of else ""
        yield cannot_tell(name, f"the drive never told that heat slows it down{upto}")
        return
    low_c, high_c, *_ = limits
    evidence = f"at {low_c:g} to {high_c:g} °C the drive first told that heat slows it down"
    if max(limits) - min(limits) > _MOST_WARMING_K:
        yield cannot_tell(name, f"{evidence}: it warms too quickly there")
    else:
        yield told(name, round((low_c + high_c) / 2), "°C", evidence, high=False)


def _idle(found: XrayRun) -> Iterator[Finding]:
    """Whether the drive collects in idle time, by what bursts gain by rests."""
    if found.cache is not None:
        yield cannot_tell("collects_in_idle", "what a cache gives back in idle time can't be told from it")
        return
    gains = _gains(found)
    if gains is None:
        yield cannot_tell("collects_in_idle", "random writes after rests were not measured")
        return
    rests = ", ".join(f"{100 * gain:.0f} %" for gain in gains)
    evidence = f"{RESTS}: at the full rate after {', '.join(f'{rest:g} s' for rest in RESTS_S[1:])}: {rests}"
    # what bursts lose by a rest is chance
    noise = max(0.0, -min(gains))
    grows = gains[-1] >= _AS_MUCH * max(gains) and gains[-2] >= _LEAST_BEFORE * gains[-1]
    if max(*gains, noise) <= _NO_GAIN:
        yield told("collects_in_idle", False, "", evidence, high=max(gains) < _NO_GAIN / 2)
    elif max(gains) < max(_LEAST_GAIN, noise) or not grows:
        yield cannot_tell("collects_in_idle", f"{evidence}: too little, or not more after more rest")
    else:
        yield told("collects_in_idle", True, "", evidence, high=max(gains) > _LEAST_GAIN * 3 / 2)


def _gains(found: XrayRun) -> list[float] | None:
    """What each rest but the first gives back, as shares of a burst."""
    began = found.began
    if began is None or len(found.bursts) != len(RESTS_S):
        return None
    full = median(one.bytes_per_s for one in found.random[:began])
    reference, *others = found.bursts
    saved_ns = 1e9 * (1 / reference.bytes_per_s - 1 / full)
    if saved_ns <= 0:
        return None
    return [(reference.elapsed_ns - one.elapsed_ns) / (saved_ns * one.bytes) for one in others]


def _read_ahead(found: XrayRun) -> Iterator[Finding]:
    if len(found.singles_ns) != 2 or not all(found.singles_ns):
        yield cannot_tell("read_ahead", "single reads were not measured")
        return
    in_sequence_ns, at_random_ns = found.singles_ns
    share = in_sequence_ns / at_random_ns
    evidence = f"single reads in sequence take {100 * share:.0f} % of those at random"
    yield told("read_ahead", share < _READ_AHEAD, "", evidence, high=abs(share - _READ_AHEAD) > 0.15)
