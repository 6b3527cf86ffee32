"""How often the interval of a key value has the true one: in 95 % of all runs, whatever the noise is like."""

import pytest
from scipy import stats

from tests.support.noisy_runs import LAWS, TESTS, coverages

RUNS = 150
LOW, HIGH = 0.93, 0.97
"""What is allowed of a very large number of runs; of ``RUNS`` the binomial's own reach comes on top."""


@pytest.mark.full_matrix(most=1)
@pytest.mark.parametrize("law", LAWS)
# a run of tp takes a fifth of the time of the others
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "tp" else pytest.mark.slow) for name in TESTS]
)
def test_intervals_hold_as_often_as_they_say(name, law) -> None:
    found = coverages(name, LAWS[law], RUNS)
    assert found
    for key, (held, stated) in found.items():
        assert stated >= 0.9 * RUNS, key
        low, high = stats.binom.ppf(0.001, stated, LOW), stats.binom.ppf(0.999, stated, HIGH)
        assert low <= held <= high, f"{key}: {held} of {stated}"
