"""Shares of sizes and zones: SciPy's chi-square, and the standard error of a binomial in exact arithmetic."""

import math
from fractions import Fraction

import pytest
from scipy import stats
from scipy.special import lambertw

from openpts.analysis.ratio import chi_square_survival
from openpts.vocabulary.sample import NOTHING, OperationSample, Sample
from openpts.vocabulary.stimulus import ActiveRange, Duration, Step, Stimulus
from openpts.vocabulary.workload import COMPOSITE, WORKLOADS
from openpts_pts.shared.demand.distribution import (
    chi_square_statistic,
    compare_shares,
    has_shares,
    period_shares,
)
from openpts_pts.shared.one_pass import (
    WINDOWS,
    amplification,
    at_rest,
    collection_began,
    pieces,
    unrest,
    warms_up,
)
from tests.support.interval_samples import sample_of

WEIGHTS = (4, 1, 1, 1, 1, 1, 1, 67, 10, 7, 3, 3)
ZONES = (50, 30, 20)


def composite(workload: str = "composite") -> Stimulus:
    return WORKLOADS[workload].stimulus(tc=32, qd=32, active_range=ActiveRange())


def counted(stimulus: Stimulus | None, sizes: tuple[int, ...] = (), zones: tuple[int, ...] = ()) -> Sample:
    ios = sum(sizes)
    return sample_of(
        Step.of(stimulus, Duration(10**9)),
        read=OperationSample(ios, ios * 4096, ios, 1, 1, b"") if ios else NOTHING,
        ios_by_block_size=sizes,
        ios_by_zone=zones,
    )


@pytest.mark.proves("PTS-CBW-08..11")
def test_the_weights_are_those_of_the_tables() -> None:
    assert tuple(size.weight for size in COMPOSITE.block_sizes) == WEIGHTS


@pytest.mark.proves("PTS-CBW-11")
@pytest.mark.parametrize("counts", [(500, 300, 200), (520, 290, 190), (5003, 2999, 1998), (1, 0, 999)])
def test_chi_square_is_that_of_scipy(counts) -> None:
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
    assert found.block_sizes.shares_pct == pytest.approx(WEIGHTS)
    assert found.zones.shares_pct == pytest.approx(ZONES)
    assert all(shares.hold for shares in found.checked)


def test_a_scaled_drive_carried_out_fewer() -> None:
    """1 % too many are 4.47 standard errors of 50,000 I/Os, and less than one of a 67th of them."""
    zones = (25_500, 14_700, 9_800)
    sizes = tuple(500 * weight for weight in WEIGHTS)
    sample = counted(composite(), sizes, zones)
    alone, scaled = period_shares(sample).zones, period_shares(sample, 67).zones
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


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 11, 12, 47, 100])
def test_survival_is_that_of_scipy(degrees) -> None:
    values = [0, 1e-9, 0.3, 1, 4.5, 11, 30, 150, 1400]
    expected = stats.chi2.sf(values, degrees)
    found = [chi_square_survival(value, degrees) for value in values]
    assert found == pytest.approx(expected, rel=1e-11, abs=1e-300)


def test_statistic_and_survival_are_those_of_scipys_test() -> None:
    counts, shares = [47, 9, 12, 660, 104, 68], [0.05, 0.01, 0.01, 0.73, 0.12, 0.08]
    expected = [sum(counts) * share for share in shares]
    found = stats.chisquare(counts, expected)
    assert chi_square_statistic(counts, expected) == pytest.approx(float(found.statistic), rel=1e-12)
    assert chi_square_survival(chi_square_statistic(counts, expected), 5) == pytest.approx(
        float(found.pvalue), rel=1e-11
    )


def test_what_is_no_chi_square_is_refused() -> None:
    with pytest.raises(ValueError, match="degrees of freedom"):
        chi_square_survival(1, 0)
    with pytest.raises(ValueError, match="degrees of freedom"):
        chi_square_survival(-0.1, 3)
    with pytest.raises(ValueError, match=r"longer|shorter"):
        chi_square_statistic([1], [1, 2])


@pytest.mark.parametrize("flash", [1.02, 1.07, 1.15, 1.28, 1.5, 2.0])
def test_the_amplification_is_that_of_the_oldest_block_first(flash) -> None:
    # Desnoyers 2014
    published = flash / (flash + lambertw(-flash * math.exp(-flash)).real)
    assert amplification(flash) == pytest.approx(published, rel=1e-9)


@pytest.mark.parametrize("flash", [1.02, 1.28, 2.0])
def test_a_pass_writes_each_lba_once_in_sequence_and_fills_the_flash(flash) -> None:
    found = pieces(flash, 100)
    assert [piece.start for piece in found] == [0, *(piece.end for piece in found[:-1])]
    assert found[-1].end == 1
    assert 1 + sum(piece.overwritten for piece in found) == pytest.approx(flash, rel=1e-6)


@pytest.mark.parametrize("flash", [1.07, 1.28, 2.0])
def test_pages_of_each_age_are_overwritten_as_often_as_in_the_steady_state(flash) -> None:
    # what was written survives if no later overwrite, uniform below the end of its piece, hit it
    found = pieces(flash, 1000)
    factor = amplification(flash)
    later = 0.0
    for number in reversed(range(len(found))):
        later += found[number].overwritten / found[number].end
        age = flash * (len(found) - number) / len(found)
        assert math.exp(-later) == pytest.approx(math.exp(-age / factor), rel=1e-2)


def test_collection_begins_where_the_rate_stays_low() -> None:
    assert collection_began([100, 101, 99, 100, 60, 100, 100]) is None
    assert collection_began([100, 101, 99, 100, 60, 55, 50]) == 4
    assert collection_began([100, 101, 99, 100, 60, 55]) is None
    assert collection_began([]) is None


def test_at_rest_is_neither_a_slope_nor_a_beginning() -> None:
    level = [100.0, 104.0] * (WINDOWS // 2)
    assert at_rest(level)
    assert not at_rest(level[1:])
    # where it was not at rest at once, it may only turn about: twice as many windows have to be
    assert not at_rest([300.0, *level])
    assert at_rest([300.0, *level, *level])
    assert not at_rest([100.0 + window for window in range(WINDOWS)])


def test_what_keeps_windows_from_being_at_rest_is_the_slope_or_the_range() -> None:
    assert unrest([100.0 + place for place in range(20)]) == "it still moves by 17 % over 20 windows"
    # up and down about 100: 40 % of it, along a line of 2 %
    assert unrest([120.0, 80.0, 80.0, 120.0] * 5) == "20 windows range over 40 % of their mean"


def test_a_drive_warms_up_where_heat_may_yet_slow_it_down() -> None:
    climbs = [67, 69, 70, 71, 71, 72, 73, 73, 74, 74]
    assert warms_up(climbs, 115)
    assert warms_up([celsius - 10 for celsius in climbs], 115)
    # what drives bear is too far off for the minutes in which they get warm
    assert not warms_up([celsius - 35 for celsius in climbs], 115)
    assert not warms_up([74, 75] * 5, 115)
    # 2 K in 20 s are 30 K in five minutes, and those in an hour are 2 K
    assert warms_up([50, 52], 20)
    assert not warms_up([50, 52], 3600)
    # a drive that tells no temperature
    assert not warms_up([], 115)
