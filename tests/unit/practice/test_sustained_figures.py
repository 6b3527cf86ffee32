"""Ratios, claims and how long a load keeps them, by exact arithmetic and the talk's own figures."""

import pytest

from openpts.analysis.minutes import Piece
from openpts.analysis.run_comparison import SetRule
from openpts.units import NS_PER_S
from openpts.vocabulary.sample import NOTHING, Interval, OperationSample, Sample, StepState
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, BlockSize, Step, Stimulus
from openpts.vocabulary.stop import Duration
from openpts_practice.rows import FigureUnit, ProfileRow
from openpts_practice.rows.sustained import DATA_SHEET_FIGURES, Claim
from openpts_practice.rows.sustained.results import HELD_INTERVALS, ClaimResult, Pair, claim_result, held_ns
from openpts_practice.rows.tables import MeasuredRow

RANDOM_WRITE = DATA_SHEET_FIGURES["random_write"]


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
    one = OperationSample(ios, ios * size_bytes, NS_PER_S, 1, NS_PER_S, b"") if ios else NOTHING
    reads, writes = (one, NOTHING) if read_pct else (NOTHING, one)
    return Sample(
        step=Step.of(Stimulus.of(pattern, size_bytes, read_pct, 1, 32, ActiveRange()), Duration(NS_PER_S)),
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


def row(
    random_pct: int = 100,
    read_pct: int = 0,
    qd: int = 1,
    units: tuple[FigureUnit, ...] = (FigureUnit.IOPS,),
    size_bytes: int = 4096,
) -> ProfileRow:
    sizes = (BlockSize(size_bytes, 1),)
    return ProfileRow(
        name=f"QD{qd}",
        random_pct=random_pct,
        block_sizes=sizes,
        read_pct=read_pct,
        tc=1,
        qd=qd,
        pass_ns=NS_PER_S,
        units=units,
    )


def measured(of: ProfileRow, ios: int | None) -> MeasuredRow:
    """One pass of a second with so many I/Os, each of them 1 s / I/Os long; None: not measured."""
    if ios is None:
        return MeasuredRow(of, (), SetRule())
    pattern = AccessPattern.RANDOM if of.random_pct else AccessPattern.SEQUENTIAL
    return MeasuredRow(
        of, (sample(pattern, of.block_sizes[0].block_size_bytes, of.read_pct, ios),), SetRule()
    )


def pair(of: ProfileRow, fresh: int | None, sustained: int | None) -> Pair:
    return Pair("", measured(of, fresh), measured(of, sustained))


@pytest.mark.proves("HYP-SUS-02")
def test_the_ratio_is_that_of_the_talk() -> None:
    assert pair(row(), 500, 431).ratio_pct(FigureUnit.IOPS) == pytest.approx(86.2)


@pytest.mark.parametrize(("fresh", "sustained"), [(None, 1), (1, None), (0, 1)])
def test_without_both_runs_there_is_no_ratio(fresh: int | None, sustained: int | None) -> None:
    assert pair(row(), fresh, sustained).ratio_pct(FigureUnit.IOPS) is None


def test_a_slower_answer_is_a_loss_in_every_unit() -> None:
    """Half as many I/Os a second, each taking twice as long."""
    found = pair(row(), 1000, 500)
    assert [found.ratio_pct(unit) for unit in FigureUnit] == pytest.approx([50] * len(FigureUnit))


def test_a_claim_is_held_against_the_row_with_the_most_outstanding() -> None:
    pairs = [pair(row(qd=1), 100, 90), pair(row(qd=32), 5000, 4000), pair(row(read_pct=100, qd=64), 9, 9)]
    result = claim_result(Claim("random_write", 5000), pairs, (), None)
    assert (result.name, result.fresh, result.sustained, result.missed) == ("QD32 Write", 5000, 4000, True)
    unmeasured = claim_result(Claim("sequential_write", 10), pairs, (), None)
    assert (unmeasured.name, unmeasured.fresh, unmeasured.missed) == ("sequential write", None, False)


def test_iops_of_a_data_sheet_are_of_4_kib() -> None:
    pairs = [pair(row(size_bytes=524_288, qd=32), 700, 600)]
    assert claim_result(Claim("random_write", 700), pairs, (), None).fresh is None


def test_only_a_load_of_the_claims_own_kind_has_kept_it() -> None:
    pairs = [pair(row(qd=32), 1000, 900)]
    load = Stimulus.of(AccessPattern.RANDOM, 4096, 0, 4, 32, ActiveRange())
    reads = Stimulus.of(AccessPattern.RANDOM, 4096, 100, 4, 32, ActiveRange())
    course = pieces([1000.0] * 20)
    claim = Claim("random_write", 900)
    assert claim_result(claim, pairs, course, load).held_ns == 20 * NS_PER_S
    assert claim_result(claim, pairs, course, reads).held_ns is None
    assert claim_result(claim, pairs, course, None).held_ns is None


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
    result = ClaimResult("a row", RANDOM_WRITE, 100.0, fresh, sustained)
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
