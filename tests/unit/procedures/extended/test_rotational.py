"""What the test of rotational disks asks of a disk, and what is worked out of it."""

from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from openpts.procedures.extended.hdd.results import ZoneRate, inner_to_outer, mean_bytes_per_s
from openpts.procedures.extended.hdd.script import script as rotational_test
from openpts.procedures.extended.hdd.script import standard_conditions
from openpts.units import GB, KIB, MB, MIB, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.requests import Apply, Purge, SetWriteCache
from openpts.vocabulary.stimulus import ActiveRange, Stimulus
from openpts.vocabulary.stop import Duration
from tests.unit.procedures.pts.trace.player import Drive

CAPACITY_BYTES = 8000 * GB


def requests(drive_class: DriveClass = DriveClass.ENTERPRISE, **changes: Any) -> list[Any]:
    conditions = replace(standard_conditions(drive_class, 1), **changes)
    drive = Drive(CAPACITY_BYTES, lambda _stimulus, _phase, _number: 150)
    return drive.play(rotational_test(conditions, CAPACITY_BYTES)).requests


def applies(**changes: Any) -> list[Apply]:
    return [request for request in requests(**changes) if isinstance(request, Apply)]


def stimuli(apply: Apply) -> list[Stimulus]:
    return [step.stimulus for step in apply.steps if step.stimulus is not None]


def test_there_is_no_purge_and_the_cache_is_that_of_the_class() -> None:
    for drive_class, enabled in ((DriveClass.ENTERPRISE, False), (DriveClass.CLIENT, True)):
        asked = requests(drive_class)
        assert asked[0] == SetWriteCache(enabled)
        assert not any(isinstance(request, Purge) for request in asked)


def test_each_zone_is_written_and_read_in_sequence_and_then_at_random() -> None:
    *zones, whole = applies()
    assert [(a.phase, a.number) for a in zones] == [(Phase.SWEEP, n) for n in range(1, 17)]
    assert (whole.phase, whole.number) == (Phase.PROFILE, 1)
    random = [(4 * KIB, 100, 1, 1), (4 * KIB, 0, 1, 1), (4 * KIB, 100, 1, 32), (4 * KIB, 0, 1, 32)]
    for apply in zones:
        asked = [(s.block_size_bytes, s.read_pct, s.tc, s.qd) for s in stimuli(apply)]
        assert asked == [(MIB, 0, 1, 4), (MIB, 100, 1, 4), *random]
        assert [s.random_pct for s in stimuli(apply)] == [0, 0, 100, 100, 100, 100]
    assert [(s.block_size_bytes, s.read_pct, s.tc, s.qd) for s in stimuli(whole)] == random
    assert {s.active_range for s in stimuli(whole)} == {ActiveRange(0, 100)}
    assert {step.stop for apply in (*zones, whole) for step in apply.steps} == {Duration(30 * NS_PER_S)}


@pytest.mark.parametrize(("first", "last", "zones"), [(0, 100, 16), (10, 80, 7), (0, 100, 3), (25, 75, 1)])
def test_zones_tile_the_range_in_equal_parts(first: float, last: float, zones: int) -> None:
    *swept, _whole = applies(active_range=ActiveRange(first, last), zones=zones)
    spans = [{s.active_range for s in stimuli(apply)} for apply in swept]
    assert all(len(span) == 1 for span in spans)
    ranges = [span.pop() for span in spans]
    assert (ranges[0].start_pct, ranges[-1].end_pct) == (first, last)
    assert all(a.end_pct == b.start_pct for a, b in pairwise(ranges))
    for one in ranges:
        assert one.end_pct - one.start_pct == pytest.approx((last - first) / zones)


def sequential(*rates_mb: float, read: bool = True) -> list[ZoneRate]:
    step = 100 / len(rates_mb)
    return [
        ZoneRate(n * step, (n + 1) * step, False, read, 4, rate * MB, rate, None, None)
        for n, rate in enumerate(rates_mb)
    ]


def test_all_zones_together_take_the_time_of_each() -> None:
    """A third at 300, 200 and 100 MB/s takes (1/300 + 1/200 + 1/100) / 3: 1800/11 MB/s."""
    exact = 1 / (sum(Fraction(1, rate) for rate in (300, 200, 100)) / 3)
    assert exact == Fraction(1800, 11)
    assert mean_bytes_per_s(sequential(300, 200, 100), 3, read=True) == pytest.approx(float(exact) * MB)


def test_the_last_zone_over_the_first() -> None:
    rates = sequential(250, 200, 125) + sequential(240, 90, read=False)
    assert inner_to_outer(rates, 3, read=True) == pytest.approx(0.5)
    assert inner_to_outer(rates, 2, read=False) == pytest.approx(0.375)


def test_what_was_not_measured_has_no_figure() -> None:
    assert inner_to_outer([], 2, read=True) is None
    assert inner_to_outer(sequential(100), 1, read=True) is None
    assert mean_bytes_per_s([], 2, read=True) is None
    assert mean_bytes_per_s(sequential(100, 0), 2, read=True) is None


def test_some_of_the_zones_are_not_all_of_them() -> None:
    """A run that was stopped, or a zone that failed: what is left is neither the whole disk nor its end."""
    rates = sequential(300, 200, 100)
    assert inner_to_outer(rates, 16, read=True) is None
    assert mean_bytes_per_s(rates, 16, read=True) is None
    assert inner_to_outer([rates[0], rates[2]], 3, read=True) is None
