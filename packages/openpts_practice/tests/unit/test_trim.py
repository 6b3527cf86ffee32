"""What the test of trims asks of a drive: each LBA is written before it is trimmed, and trimmed once."""

from typing import Any

import pytest
from msgspec.structs import replace

from openpts.analysis.latency import Figures
from openpts.units import GB, GIB, KIB, MIB, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.requests import Apply, Purge, ReadTrimmed
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import ActiveRange, ByteAmount, Duration, FirstOf, FixedRate, Step, Stimulus
from openpts_practice.trim import AFTER, BEFORE, BESIDE
from openpts_practice.trim.results import Concurrent, Effect
from openpts_practice.trim.script import at_scale, points, standard_conditions, supported_on
from openpts_practice.trim.script import script as trim_test
from tests.support.interval_samples import operation_of
from tests.support.player import Drive, Played

CAPACITY_BYTES = 1000 * GB
MINUTE = Duration(60 * NS_PER_S)


def play(capacity_bytes: int = CAPACITY_BYTES, scale: int = 1, **changes: Any) -> Played:
    conditions = replace(standard_conditions(DriveClass.ENTERPRISE, 1), **changes)
    conditions = conditions if scale == 1 else at_scale(conditions, scale)
    rates = {100: 50_000, 0: 20_000}
    drive = Drive(capacity_bytes, lambda stimulus, _phase, _number: rates[round(stimulus.read_pct)])
    return drive.play(trim_test(conditions, capacity_bytes))


def steps(played: Played, phase: Phase, number: int) -> list[Step]:
    return [a.step for a in played.applied if (a.phase, a.number) == (phase, number)]


def only(step: Step) -> Stimulus:
    assert step.stimulus is not None
    return step.stimulus


def test_the_parts_in_their_order() -> None:
    played = play(sizes_bytes=(4 * KIB, MIB), qds=(1, 4))
    asked = [r for r in played.requests if isinstance(r, Purge | Apply | ReadTrimmed)]
    assert [(r.phase, r.number) if isinstance(r, Apply) else type(r) for r in asked] == [
        Purge,
        (Phase.CONDITIONING, 1),
        ReadTrimmed,
        *((Phase.SWEEP, number) for number in (1, 2, 3, 4)),
        (Phase.PROFILE, 1),
        *((Phase.LOAD, number) for number in (BEFORE, BESIDE, AFTER)),
    ]


@pytest.mark.parametrize("sector_bytes", [512, 4096])
def test_a_point_trims_once_what_was_written_just_before(sector_bytes) -> None:
    conditions = standard_conditions(DriveClass.ENTERPRISE, 1)
    played = play()
    found = list(points(conditions, CAPACITY_BYTES))
    # 32 GiB hold 16 trims of 2 GiB: none for each of 16 threads alike is left out
    assert [(p.size_bytes, p.qd, p.trims) for p in found if p.size_bytes == 2 * GIB] == [
        (2 * GIB, 1, 16),
        (2 * GIB, 4, 16),
        (2 * GIB, 16, 16),
    ]
    assert {p.trims for p in found if p.size_bytes == 4 * KIB} == {16_384}
    for point in found:
        written, trimmed = steps(played, Phase.SWEEP, point.number)
        amount_bytes = point.trims * point.size_bytes
        assert written.stop == ByteAmount(amount_bytes)
        assert trimmed.stop == FirstOf((ByteAmount(amount_bytes), MINUTE))
        trims = only(trimmed)
        assert (trims.operations.trim, trims.operations.write, trims.operations.read) == (1, 0, 0)
        assert (trims.tc, trims.qd, trims.random_pct) == (point.qd, 1, 0)
        for stimulus in (only(written), trims):
            assert stimulus.active_range.bytes_of(CAPACITY_BYTES, sector_bytes) == (0, amount_bytes)


def test_points_without_room_are_left_out() -> None:
    played = play(64 * MIB)
    sizes = {
        only(a.step).block_size_bytes for a in played.applied if a.phase is Phase.SWEEP and trims(a.step)
    }
    assert sizes == {4 * KIB, 64 * KIB, MIB, 16 * MIB}
    # two trims of 16 MiB fit into half of it
    assert [p.qd for p in points(standard_conditions(DriveClass.ENTERPRISE, 1), 64 * MIB)][-1] == 1


def trims(step: Step) -> bool:
    return any(stimulus.operations.trim for stimulus in step.stimuli)


def test_a_scaled_drive_has_room_for_the_same_trims() -> None:
    """A trim keeps its size, and the drive is 50 times smaller: each stands for 50."""
    played = play(scale=50, sizes_bytes=(256 * MIB,), qds=(4,), range_bytes=GIB)
    (_, trimmed) = steps(played, Phase.SWEEP, 1)
    assert trimmed.stop == FirstOf((ByteAmount(50 * GIB), MINUTE))
    start_bytes, end_bytes = only(trimmed).active_range.bytes_of(CAPACITY_BYTES, 4096)
    assert (start_bytes, end_bytes) == (0, 50 * GIB)


def test_the_loads_differ_in_the_trims_alone() -> None:
    played = play()
    loads = [steps(played, Phase.LOAD, number) for number in (BEFORE, BESIDE, AFTER)]
    assert loads[0] == loads[2]
    (written, alone), (written_too, beside) = loads[0], loads[1]
    assert written == written_too
    assert beside.streams[:2] == alone.streams
    assert alone.stop == beside.stop == MINUTE
    reads, writes, trimmed = beside.streams
    assert (reads.stimulus.pacing, writes.stimulus.pacing) == (FixedRate(15_000), FixedRate(2_000))
    assert trimmed.stimulus.pacing == FixedRate(10)
    # what is trimmed was written, and none of it is read or written beside
    part = trimmed.stimulus.active_range
    assert part.bytes_of(CAPACITY_BYTES, 512) == (0, 600 * 32 * MIB)
    assert only(written).active_range == part
    assert (
        part.end_pct < 50 == reads.stimulus.active_range.start_pct == writes.stimulus.active_range.start_pct
    )


def test_trims_beside_come_to_no_lba_twice() -> None:
    """512 MiB hold 16 trims of 32 MiB: in a minute there are no more."""
    played = play(GIB)
    *_, trimmed = steps(played, Phase.LOAD, BESIDE)[-1].streams
    assert trimmed.stimulus.block_size_bytes == 32 * MIB
    assert trimmed.stimulus.pacing == FixedRate(16 / 60)
    assert trimmed.stimulus.active_range.bytes_of(GIB, 512) == (0, 512 * MIB)


def test_trims_beside_are_smaller_where_there_is_no_room_for_the_queue() -> None:
    *_, trimmed = steps(play(64 * MIB), Phase.LOAD, BESIDE)[-1].streams
    assert trimmed.stimulus.block_size_bytes == 8 * MIB
    assert not [a for a in play(16 * KIB).applied if a.phase is Phase.LOAD]


def test_sizes_below_a_sector_are_left_out() -> None:
    conditions = replace(standard_conditions(DriveClass.ENTERPRISE, 1), sizes_bytes=(512, 4 * KIB))
    assert supported_on(conditions, 4 * KIB).sizes_bytes == (4 * KIB,)
    assert supported_on(replace(conditions, sizes_bytes=(512,)), 4 * KIB).sizes_bytes == (4 * KIB,)


@pytest.mark.parametrize("sector_bytes", [512, 4096])
def test_all_stays_within_the_active_range(sector_bytes) -> None:
    whole = ActiveRange(12.3, 61.7)
    low, high = whole.bytes_of(CAPACITY_BYTES, sector_bytes)
    played = play(active_range=whole, sizes_bytes=(4 * KIB,))
    for applied in played.applied:
        for stimulus in applied.step.stimuli:
            start_bytes, end_bytes = stimulus.active_range.bytes_of(CAPACITY_BYTES, sector_bytes)
            assert low <= start_bytes < end_bytes <= high
    _, trimmed = steps(played, Phase.SWEEP, 1)
    start_bytes, end_bytes = only(trimmed).active_range.bytes_of(CAPACITY_BYTES, sector_bytes)
    assert 0 <= end_bytes - start_bytes - 16_384 * 4 * KIB <= 2 * 4096


US = 1_000
MS = 1_000_000


def times(*counts: tuple[int, int]) -> Figures:
    """So many I/Os of each response time, in a second."""
    return Figures.of([operation_of(counts)], NS_PER_S)


QUICK = times((100 * US, 10_000))


@pytest.mark.parametrize(
    ("beside", "reasons"),
    [
        (QUICK, ()),
        # eleven of 10,000 are above the 99.9th percentile
        (times((100 * US, 9_989), (300 * US, 11)), ("percentile",)),
        (times((100 * US, 9_991), (300 * US, 9)), ()),
        (times((100 * US, 9_999), (11 * MS, 1)), ("longest",)),
        (times((100 * US, 9_999), (10 * MS, 1)), ()),
        (times((100 * US, 9_400)), ("rate",)),
        (times((200 * US, 9_000), (50 * MS, 400)), ("percentile", "longest", "rate")),
    ],
)
def test_the_rule(beside, reasons) -> None:
    judged = Concurrent(QUICK, beside, QUICK)
    assert judged.broken() == reasons
    assert judged.effect is (Effect.STALLED if reasons else Effect.CLEAN)


def test_the_slower_load_without_trims_counts() -> None:
    slower = times((160 * US, 10_000))
    beside = times((250 * US, 10_000))
    assert Concurrent(QUICK, beside, QUICK).effect is Effect.STALLED
    # between both loads without trims nothing can be told
    judged = Concurrent(QUICK, beside, slower)
    assert (judged.broken(), judged.broken(against_faster=True), judged.effect) == (
        (),
        ("percentile",),
        Effect.UNDECIDED,
    )
    assert judged.factor(99.9) == pytest.approx(250 / 160, rel=0.002)
    assert Concurrent(QUICK, times((320 * US, 10_000)), slower).effect is Effect.STALLED


def test_what_is_as_fast_as_the_faster_load_is_clean() -> None:
    slow = times((50 * MS, 9_000))
    assert Concurrent(QUICK, QUICK, slow).effect is Concurrent(slow, QUICK, QUICK).effect is Effect.CLEAN
    assert Concurrent(QUICK, slow, slow).broken(against_faster=True) == ("percentile", "longest", "rate")


def test_the_percentile_judged_is_one_that_all_loads_have_ios_for() -> None:
    assert Concurrent(QUICK, QUICK, QUICK).judged_pct == 99.9
    assert Concurrent(QUICK, times((100 * US, 999)), QUICK).judged_pct == 99
    few = times((100 * US, 9))
    assert Concurrent(few, few, few).judged_pct is None
    assert Concurrent(few, few, few).effect is Effect.UNDECIDED
    assert Concurrent(times(), times(), times()).effect is Effect.UNDECIDED
