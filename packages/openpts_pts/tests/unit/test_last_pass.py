"""The last full pass over a range."""

import pytest

from openpts.units import GB, MB
from openpts_pts.tests.unit.test_idle_recovery import group
from openpts_pts.tp.report import last_pass

# Minutes: a first pass of 96 GB at 100 MB/s, a second one at 150 and 250 in turn, and the start of a third.
RATES = [100] * 16 + [150, 250] * 4 + [700] * 2


def test_the_last_full_pass_counts_and_no_other() -> None:
    first, second = last_pass(group(0, RATES), 96 * GB, 100)
    assert (first.start_pct, first.middle_pct, first.end_pct) == (0, 25, 50)
    assert (second.start_pct, second.end_pct) == (50, 100)
    for stretch in (first, second):
        assert stretch.bytes_per_s == pytest.approx(200 * MB)
        assert stretch.lowest_bytes_per_s == pytest.approx(150 * MB)
        assert stretch.highest_bytes_per_s == pytest.approx(250 * MB)


@pytest.mark.parametrize(("rates", "range_bytes"), [([100] * 15, 96 * GB), ([100] * 7, 42 * GB), ([], 0)])
def test_without_a_full_pass_or_enough_intervals_there_is_nothing(rates, range_bytes) -> None:
    assert last_pass(group(0, rates) if rates else [], range_bytes, 100) == ()
