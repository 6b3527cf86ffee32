"""What the test of trims says of loads without trims and beside them, by its rule."""

import pytest

from openpts.analysis.figures import Figures
from openpts.analysis.latency import encode_counts
from openpts.units import GIB, KIB, MIB, NS_PER_S
from openpts.vocabulary.sample import NOTHING, OperationSample
from openpts_practice.trim.results import Concurrent, Effect, size_name

US = 1_000
MS = 1_000_000


def times(*counts: tuple[int, int]) -> Figures:
    """So many I/Os of each response time, in a second."""
    if not counts:
        return Figures.of([NOTHING], NS_PER_S)
    ios = sum(count for _, count in counts)
    latencies = [latency_ns for latency_ns, _ in counts]
    total_ns = sum(latency_ns * count for latency_ns, count in counts)
    sample = OperationSample(ios, ios * 4096, total_ns, min(latencies), max(latencies), encode_counts(counts))
    return Figures.of([sample], NS_PER_S)


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
def test_the_rule(beside: Figures, reasons: tuple[str, ...]) -> None:
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


def test_sizes_by_name() -> None:
    assert [size_name(size) for size in (512, 4 * KIB, 1536 * KIB, 32 * MIB, 2 * GIB)] == [
        "0.5 KiB",
        "4 KiB",
        "1536 KiB",
        "32 MiB",
        "2 GiB",
    ]
