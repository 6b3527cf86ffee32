"""Ratios, claims and how long a load keeps them, by exact arithmetic and the talk's own figures."""

import pytest

from openpts.analysis.minutes import Piece
from openpts.procedures.extended.sustained.conditions import SHORT_FIGURES, Claim
from openpts.procedures.extended.sustained.results import HELD_INTERVALS, ClaimResult, Pair, held_ns, pairs_of
from openpts.units import NS_PER_S
from openpts.vocabulary.sample import NOTHING, Interval, OperationSample, Sample, StepState
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Step, Stimulus
from openpts.vocabulary.stop import Duration

RANDOM_WRITE = SHORT_FIGURES["random_write"]


def pieces(rates: list[float]) -> list[Piece]:
    """Intervals of a second with so many writes each."""
    return [
        Piece(
            index * NS_PER_S,
            Interval(
                index=index,
                elapsed_ns=NS_PER_S,
                read=NOTHING,
                write=OperationSample(round(rate), round(rate) * 4096, 0, 0, 0, b""),
                cpu=None,
                in_flight=0,
                errors=0,
            ),
        )
        for index, rate in enumerate(rates)
    ]


def sample(pattern: AccessPattern, size_bytes: int, read_pct: int, ios: int) -> Sample:
    one = OperationSample(ios, ios * size_bytes, ios, 1, 1, b"")
    reads, writes = (one, NOTHING) if read_pct else (NOTHING, one)
    return Sample(
        step=Step(Stimulus.of(pattern, size_bytes, read_pct, 1, 32, ActiveRange()), Duration(NS_PER_S)),
        state=StepState.COMPLETE,
        ended_by="duration",
        started_ns=0,
        elapsed_ns=NS_PER_S,
        gap_ns=0,
        interval_ns=NS_PER_S,
        intervals=(),
        failure=None,
        read=reads,
        write=writes,
        cpu=None,
    )


@pytest.mark.proves("HYP-SUS-02")
def test_the_ratio_is_that_of_the_talk() -> None:
    assert Pair(RANDOM_WRITE, 500, 431).ratio_pct == pytest.approx(86.2)


@pytest.mark.parametrize(("fresh", "sustained"), [(None, 1.0), (1.0, None), (0.0, 1.0)])
def test_without_both_runs_there_is_no_ratio(fresh: float | None, sustained: float | None) -> None:
    assert Pair(RANDOM_WRITE, fresh, sustained).ratio_pct is None


def test_figures_are_found_by_what_was_applied() -> None:
    fresh = [
        sample(AccessPattern.SEQUENTIAL, 131_072, 0, 8000),
        sample(AccessPattern.RANDOM, 4096, 100, 90_000),
    ]
    pairs = {pair.figure.name: pair for pair in pairs_of(fresh, fresh[:1])}
    assert pairs["sequential_write"].fresh == pytest.approx(8000 * 131_072 / 1e6)
    assert pairs["sequential_write"].ratio_pct == pytest.approx(100)
    assert (pairs["random_read"].fresh, pairs["random_read"].sustained) == (90_000, None)
    assert pairs["random_write"].fresh is None


@pytest.mark.parametrize(
    ("fresh", "sustained", "missed_fresh", "missed"),
    [
        (100.0, 95.0, False, False),  # the limit itself is kept
        (100.0, 94.9, False, True),
        (94.9, 96.0, True, False),
        (None, None, False, False),
    ],
)
def test_a_claim_is_missed_below_95_per_cent_of_it(
    fresh: float | None, sustained: float | None, missed_fresh: bool, missed: bool
) -> None:
    result = ClaimResult(Pair(RANDOM_WRITE, fresh, sustained), 100.0, None)
    assert (result.missed_fresh, result.missed) == (missed_fresh, missed)


def test_a_claim_holds_until_the_rate_falls() -> None:
    """1000 a second for a minute, then 100: the windows that reach beyond the minute are below 1000."""
    assert held_ns(pieces([1000.0] * 60 + [100.0] * 60), RANDOM_WRITE, 1000) == 60 * NS_PER_S


def test_a_single_dip_ends_nothing() -> None:
    rates = [1100.0] * 20 + [200.0] + [1100.0] * 20
    # ten in a row with the dip: 9 x 1100 + 200 = 1010 on average
    assert held_ns(pieces(rates), RANDOM_WRITE, 1000) == 41 * NS_PER_S
    assert held_ns(pieces(rates), RANDOM_WRITE, 1011) == 20 * NS_PER_S


def test_a_claim_that_was_never_kept() -> None:
    assert held_ns(pieces([500.0] * 30), RANDOM_WRITE, 1000) == 0
    assert held_ns([], RANDOM_WRITE, 1000) == 0


def test_a_load_shorter_than_the_window_is_judged_as_a_whole() -> None:
    rates = [1000.0, 900.0]
    assert len(rates) < HELD_INTERVALS
    assert held_ns(pieces(rates), RANDOM_WRITE, 950) == 2 * NS_PER_S
    assert held_ns(pieces(rates), RANDOM_WRITE, 951) == NS_PER_S


def test_a_claim_in_words() -> None:
    assert str(Claim("random_write", 520_000)) == "random write 520,000 IOPS"
    assert str(Claim("sequential_read", 3500)) == "sequential read 3,500 MB/s"
