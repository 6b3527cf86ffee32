"""Shares of sizes and zones: SciPy's chi-square, and the standard error of a binomial in exact arithmetic."""

from fractions import Fraction

import pytest
from scipy import stats

from openpts.analysis.distribution import compare_shares, has_shares, period_shares
from openpts.vocabulary.sample import NOTHING, OperationSample, Sample, StepState
from openpts.vocabulary.stimulus import ActiveRange, Step, Stimulus
from openpts.vocabulary.stop import Duration
from openpts.vocabulary.workload import COMPOSITE, WORKLOADS

WEIGHTS = (4, 1, 1, 1, 1, 1, 1, 67, 10, 7, 3, 3)
ZONES = (50, 30, 20)


def composite(workload: str = "composite") -> Stimulus:
    return WORKLOADS[workload].stimulus(tc=32, qd=32, active_range=ActiveRange())


def counted(stimulus: Stimulus | None, sizes: tuple[int, ...] = (), zones: tuple[int, ...] = ()) -> Sample:
    ios = sum(sizes)
    return Sample(
        step=Step.of(stimulus, Duration(10**9)),
        state=StepState.COMPLETE,
        ended_by="duration",
        started_ns=0,
        elapsed_ns=10**9,
        gap_ns=0,
        read=OperationSample(ios, ios * 4096, ios, 1, 1, b"") if ios else NOTHING,
        write=NOTHING,
        interval_ns=10**9,
        intervals=(),
        cpu=None,
        failure=None,
        ios_by_block_size=sizes,
        ios_by_zone=zones,
    )


@pytest.mark.proves("PTS-CBW-08..11")
def test_the_weights_are_those_of_the_tables() -> None:
    assert tuple(size.weight for size in COMPOSITE.block_sizes) == WEIGHTS


@pytest.mark.proves("PTS-CBW-11")
@pytest.mark.parametrize("counts", [(500, 300, 200), (520, 290, 190), (5003, 2999, 1998), (1, 0, 999)])
def test_chi_square_is_that_of_scipy(counts: tuple[int, ...]) -> None:
    shares = compare_shares(counts, ZONES)
    total = sum(counts)
    found = stats.chisquare(counts, [total * weight / 100 for weight in ZONES])
    assert shares.chi_square == pytest.approx(float(found.statistic), rel=1e-12, abs=1e-12)
    assert shares.p_value == pytest.approx(float(found.pvalue), rel=1e-11, abs=1e-300)


@pytest.mark.proves("PTS-CBW-11")
def test_a_share_may_be_off_by_four_standard_errors_and_no_more() -> None:
    """n = 10,000 and p = 1/2: a standard error is 50 I/Os."""
    total, share = 10_000, Fraction(1, 2)
    variance = total * share * (1 - share)
    assert variance == 50**2
    at_the_limit = compare_shares((5200, 4800), (1, 1))
    assert at_the_limit.errors == (4.0, -4.0)
    assert at_the_limit.hold
    assert not compare_shares((5201, 4799), (1, 1)).hold
    assert compare_shares((5201, 4799), (1, 1)).worst == 0


def test_with_few_ios_chi_square_is_not_stated() -> None:
    """Of 499 I/Os 4.99 are expected of a kind with 1 %."""
    below = compare_shares((494, 5), (99, 1))
    assert (below.chi_square, below.p_value) == (None, None)
    assert compare_shares((495, 5), (99, 1)).p_value == pytest.approx(1)


def test_sizes_and_zones_of_a_step_are_held_against_its_own_pattern() -> None:
    sizes = tuple(10 * weight for weight in WEIGHTS)
    found = period_shares(counted(composite(), sizes, (500, 300, 200)))
    assert found.block_sizes is not None
    assert found.zones is not None
    assert found.block_sizes.shares_pct == pytest.approx(WEIGHTS)
    assert found.zones.shares_pct == pytest.approx(ZONES)
    assert all(shares.hold for shares in found.checked)


def test_a_scaled_drive_carried_out_fewer() -> None:
    """1 % too many are 4.47 standard errors of 50,000 I/Os, and less than one of a 67th of them."""
    zones = (25_500, 14_700, 9_800)
    sizes = tuple(500 * weight for weight in WEIGHTS)
    sample = counted(composite(), sizes, zones)
    alone, scaled = period_shares(sample).zones, period_shares(sample, 67).zones
    assert alone is not None
    assert scaled is not None
    assert not alone.hold
    assert scaled.hold
    assert alone.errors[0] == pytest.approx(500 / (50_000 * 0.25) ** 0.5)
    assert scaled.errors[0] == pytest.approx(alone.errors[0] / 67**0.5)


def test_what_was_not_counted_is_not_judged() -> None:
    assert period_shares(counted(composite())).checked == ()
    assert period_shares(counted(None)).checked == ()
    assert period_shares(counted(composite("oltp"), (100,))).checked == ()
    assert has_shares(composite())
    assert not has_shares(composite("oltp"))


def test_what_are_no_shares_is_refused() -> None:
    with pytest.raises(ValueError, match="two kinds"):
        compare_shares((0, 0), (1, 1))
    with pytest.raises(ValueError, match="two kinds"):
        compare_shares((7,), (1,))
