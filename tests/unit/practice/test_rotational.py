"""What the test of rotational disks asks of a disk, and what is worked out of it."""

from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from openpts.analysis.figures import Figures
from openpts.units import GB, KIB, MB, MIB, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.requests import Apply, Purge, SetWriteCache
from openpts.vocabulary.sample import OperationSample
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Stimulus
from openpts.vocabulary.stop import Duration
from openpts_practice.hdd.report import harmonic_mean, last_to_first, zone_rates
from openpts_practice.hdd.script import script as rotational_test
from openpts_practice.hdd.script import standard_conditions
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


def sequential(*rates_mb: int, read: bool = True) -> list[tuple[Stimulus, Figures]]:
    """A second in each of as many zones as there are rates."""
    ends = [100 * n / len(rates_mb) for n in range(len(rates_mb) + 1)]
    zones = [ActiveRange(*span) for span in pairwise(ends)]
    moved = [OperationSample(rate, rate * MB, 0, None, None, b"") for rate in rates_mb]
    return [
        (Stimulus.of(AccessPattern.SEQUENTIAL, MIB, 100 * read, 1, 4, zone), Figures.of([one], NS_PER_S))
        for zone, one in zip(zones, moved, strict=True)
    ]


def test_all_zones_together_take_the_time_of_each() -> None:
    """A third at 300, 200 and 100 MB/s takes (1/300 + 1/200 + 1/100) / 3: 1800/11 MB/s."""
    exact = 1 / (sum(Fraction(1, rate) for rate in (300, 200, 100)) / 3)
    assert exact == Fraction(1800, 11)
    rates = zone_rates(sequential(300, 200, 100), 3, "Read")
    assert harmonic_mean(rates) == pytest.approx(float(exact) * MB)


def test_the_last_zone_over_the_first() -> None:
    rows = sequential(250, 200, 125) + sequential(240, 90, read=False)
    assert last_to_first(zone_rates(rows, 3, "Read")) == pytest.approx(0.5)
    assert last_to_first(zone_rates(rows, 2, "Write")) == pytest.approx(0.375)


def test_zones_are_in_the_order_of_their_places() -> None:
    assert zone_rates(reversed(sequential(300, 200, 100)), 3, "Read") == [300 * MB, 200 * MB, 100 * MB]


def test_what_was_not_measured_has_no_figure() -> None:
    assert last_to_first([]) is None
    assert last_to_first(zone_rates(sequential(100), 1, "Read")) is None
    assert harmonic_mean([]) is None
    assert zone_rates(sequential(100, 0), 2, "Read") == []


def test_some_of_the_zones_are_not_all_of_them() -> None:
    """A run that was stopped, or a zone that failed: what is left is neither the whole disk nor its end."""
    rows = sequential(300, 200, 100)
    assert zone_rates(rows, 16, "Read") == []
    assert zone_rates([rows[0], rows[2]], 3, "Read") == []
