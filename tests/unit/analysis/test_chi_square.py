"""Chi-square against SciPy."""

import pytest
from scipy import stats

from openpts.analysis.distribution import chi_square_statistic, chi_square_survival


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 11, 12, 47, 100])
def test_survival_is_that_of_scipy(degrees: int) -> None:
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
