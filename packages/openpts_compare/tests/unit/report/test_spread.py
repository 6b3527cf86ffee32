"""The odd one out of several drives against published tables and SciPy, and E_n against exact arithmetic."""

import math
from io import StringIO

import numpy as np
import pytest
from scipy import stats

from openpts.record.reader import Run, read_run
from openpts_compare.cli.compare import print_comparison
from openpts_compare.compare.build import build_comparison
from openpts_compare.compare.contenders import Grubbs, NamedRun, compare_runs, grubbs_test
from openpts_compare.compare.figures import ComparedSet, SpreadFigures, comparison_document
from openpts_compare.tests.unit.report.test_comparison import at, compared, with_facts
from tests.support.report_cases import Reports

KEY = "rnd_4_kib_rw0.iops"
# ISO 5725-2, table 5: critical values of Grubbs' test for one outlier, 1 % and 5 %
PUBLISHED = {5: (1.764, 1.715), 10: (2.482, 2.290), 20: (3.001, 2.709), 40: (3.381, 3.036)}


@pytest.fixture(scope="module")
def run(reports: Reports) -> Run:
    return read_run(reports.folder("steady"))


def of_statistic(count: int, statistic: float) -> Grubbs | None:
    """The test of values with such a G: all others are at two points around their mean."""
    others = np.array([(-1.0) ** place for place in range(count - 1)])
    others -= others.mean()

    def found(far: float) -> float:
        values = np.append(others, far)
        return float((far - values.mean()) / values.std(ddof=1))

    low, high = 1.0, 1e9
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if found(middle) < statistic else (low, middle)
    return grubbs_test([*others, high])


@pytest.mark.parametrize("count", [5, 10, 20, 40])
def test_published_critical_values_have_their_chance(count) -> None:
    for critical, chance in zip(PUBLISHED[count], (0.01, 0.05), strict=True):
        below, above = of_statistic(count, critical - 0.0015), of_statistic(count, critical + 0.0015)
        assert above.chance < chance < below.chance


@pytest.mark.parametrize("count", [3, 4, 7, 24, 100])
def test_the_chance_is_scipys(count) -> None:
    values = np.random.default_rng(count).normal(100, 3, count)
    found = grubbs_test(list(values))
    statistic = np.max(np.abs(values - values.mean())) / values.std(ddof=1)
    assert found.statistic == pytest.approx(statistic)
    assert found.place == int(np.argmax(np.abs(values - values.mean())))
    t = statistic * math.sqrt(count * (count - 2) / ((count - 1) ** 2 - count * statistic**2))
    assert found.chance == pytest.approx(min(1.0, 2 * count * stats.t.sf(t, count - 2)), rel=1e-6)


def test_drives_that_are_alike_are_called_odd_as_seldom_as_the_chance_says() -> None:
    draw = np.random.default_rng(1969)
    odd = sum(
        (one := grubbs_test(list(draw.normal(0, 1, 6)))) is not None and one.chance <= 0.05
        for _ in range(4000)
    )
    assert stats.binomtest(odd, 4000, 0.05).pvalue > 0.001


def test_equal_values_have_no_odd_one() -> None:
    assert grubbs_test([4.0] * 5) is None


def of_drives(run: Run, *shares: float) -> list[Run]:
    return [with_facts(at(run, share), serial=f"N-{place}") for place, share in enumerate(shares, start=1)]


def spread_of(runs: list[Run], least: float = 2.0) -> SpreadFigures | None:
    document = comparison_document(compare_runs([NamedRun(one) for one in runs], "", least), ())
    return next(value.spread for value in document.tests[0].key_values if value.key == KEY)


def test_a_drive_that_is_slower_than_the_others_lies_out(run, golden) -> None:
    shares = (1.0, 1.004, 0.997, 1.002, 0.95)
    runs = of_drives(run, *shares)
    found = spread_of(runs)
    assert (found.drives, found.lies_out) == (5, True)
    assert found.farthest.endswith("N-5")
    assert found.off_pct == pytest.approx(100 * (0.95 / np.mean(shares[:-1]) - 1), abs=1e-6)
    assert found.standard_deviation / found.mean == pytest.approx(
        np.std(shares, ddof=1) / np.mean(shares), rel=1e-6
    )
    answers = [
        block.text for block in build_comparison(compared(*runs)).front[0].blocks if hasattr(block, "text")
    ]
    assert [text for text in answers if "lies out" in text] == golden
    # nor is one that is off by less than is of interest
    assert (other := spread_of(runs, least=6)) is not None
    assert not other.lies_out


def test_drives_with_an_ordinary_spread_have_no_odd_one(run) -> None:
    assert (found := spread_of(of_drives(run, 1.0, 1.03, 0.97, 1.01))) is not None
    assert not found.lies_out


def test_two_drives_have_no_spread(run) -> None:
    assert spread_of(of_drives(run, 1.0, 1.03)) is None
    assert "compare-iops-spread" not in build_comparison(compared(*of_drives(run, 1.0, 1.03))).tables()


def compared_set(run: Run, share: float) -> tuple[ComparedSet, ComparedSet]:
    document = comparison_document(compared(*of_drives(run, 1.0, share)), ())
    base, other = next(value.sets for value in document.tests[0].key_values if value.key == KEY)
    return base, other


def test_e_n_is_the_difference_over_both_uncertainties(run) -> None:
    for share in (0.9, 1.0, 1.02):
        base, other = compared_set(run, share)
        assert base.median is not None
        assert other.median is not None
        assert base.e_n is None
        reaches = base.expanded_uncertainty, other.expanded_uncertainty
        assert reaches[0] is not None
        assert reaches[1] is not None
        expected = (other.median - base.median) / np.hypot(*reaches)
        assert other.e_n == pytest.approx(expected)


def test_conditions_that_differ_come_before_what_is_said_of_figures(run, golden) -> None:
    other = with_facts(of_drives(run, 1.0, 0.9)[1], "host", cpu="another")
    comparison = compared(run, other)
    stream = StringIO()
    print_comparison(stream, build_comparison(comparison), comparison)
    assert stream.getvalue().partition(": medians")[0] == golden
