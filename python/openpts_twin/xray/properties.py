"""The properties of a drive that an x-ray tells, with their evidence, or why they are left open."""

import math
from collections.abc import Iterator, Sequence
from statistics import fmean, median, stdev
from typing import Final

from openpts.procedures.kit.host_limits import busy_host
from openpts.units import KIB, NS_PER_S, format_block_size, format_capacity
from openpts_twin.findings import Finding, cannot_tell, told
from openpts_twin.rates import Fall, at_higher_rate, first_fall
from openpts_twin.xray import RANDOM_WINDOW, RESTS_S
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
_LEAST_GAIN: Final = 0.1
"""Of a burst, at the rate of a drive that has nothing to collect."""
_NO_GAIN: Final = 0.03
"""What bursts gain by more than chance beyond that, a rest has given back, if only little."""
_LEAST_ERROR: Final = 0.001
_SURE: Final = 3
"""Standard errors by which a gain has to be on one side."""
_MOST_WARMING_K: Final = 1


def findings_of(found: XrayRun) -> tuple[Finding, ...]:
    """All findings, told or not."""
    of_pages = (*_cache(found), *_spare(found), *_unit(found), *_victims(found), *_idle(found))
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
            evidence = f"{READS}: reads that wait take {layout.contrast:.2f} times as long"
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
    """Whether the drive collects in idle time, by what bursts gain by long rests over short ones before."""
    name, began = "collects_in_idle", found.began
    if found.cache is not None:
        yield cannot_tell(name, "what a cache gives back in idle time can't be told from it")
        return
    rates = found.random[:began], found.random[(began or 0) + 1 :], found.bursts
    gains = idle_gains(*([one.bytes_per_s for one in each] for each in rates)) if began else None
    if gains is None:
        yield cannot_tell(name, f"{RESTS}: not measured, or as fast after short rests")
        return
    gain, error = fmean(gains), stdev(gains) / math.sqrt(len(gains))
    evidence = (
        f"{RESTS}: after {RESTS_S[1]:g} s of rest bursts are {100 * gain:.0f} ± {100 * error:.0f} % nearer "
        "to the full rate"
    )
    sure = abs(gain - _LEAST_GAIN) / max(error, _LEAST_ERROR)
    if sure < _SURE or max(_NO_GAIN, _SURE * error) < gain < _LEAST_GAIN:
        yield cannot_tell(name, f"{evidence}, which is not clear")
    else:
        yield told(name, gain > _LEAST_GAIN, "", evidence, high=sure > 2 * _SURE)


def idle_gains(
    before: Sequence[float], collecting: Sequence[float], bursts: Sequence[float]
) -> list[float] | None:
    """What each long rest gives back after a short one, as shares of a burst at the full rate.

    Rates are those of random writes before the drive collects and since, and of bursts. Where a rest gives so
    much that bursts after short ones are at the full rate too, all are beside the first short one. None where
    short rests give back most of it by themselves.
    """
    if len(bursts) != len(RESTS_S):
        return None
    full_ns, collecting_ns = 1e9 / median(before), 1e9 / median(collecting)
    short_ns, long_ns = ([1e9 / one for one in bursts[first::2]] for first in (0, 1))
    if median(short_ns) < (1 + _ALIKE) * full_ns:
        short_ns = short_ns[:1] * len(short_ns)
    if min(short_ns) <= full_ns or median(short_ns) < (full_ns + collecting_ns) / 2:
        return None
    return [(short - long) / (short - full_ns) for short, long in zip(short_ns, long_ns, strict=True)]


def _read_ahead(found: XrayRun) -> Iterator[Finding]:
    if len(found.singles_ns) != 2 or not all(found.singles_ns):
        yield cannot_tell("read_ahead", "single reads were not measured")
        return
    in_sequence_ns, at_random_ns = found.singles_ns
    share = in_sequence_ns / at_random_ns
    evidence = f"single reads in sequence take {100 * share:.0f} % of those at random"
    yield told("read_ahead", share < _READ_AHEAD, "", evidence, high=abs(share - _READ_AHEAD) > 0.15)
