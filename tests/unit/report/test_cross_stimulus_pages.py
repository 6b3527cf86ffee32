"""The change from one access group to the next, against numbers worked out by hand."""

import pytest

from openpts.pages.model import Figure, Table, points_of
from openpts.procedures.pts.suite import PTS
from openpts.procedures.pts.xsr import CrossStimulusConditions
from openpts.procedures.pts.xsr.pages import transition_page
from openpts.procedures.pts.xsr.results import analyze_cross_stimulus
from openpts.vocabulary.drive_class import DriveClass
from tests.unit.analysis.test_cross_stimulus import MINUTE_NS, group


def test_a_transition_shows_ten_minutes_before_it_and_sixty_after_it() -> None:
    rates = ([500] * 100, [90] * 50, [100, 250, *[480] * 78])
    starts_ns = (0, 100 * MINUTE_NS, 150 * MINUTE_NS)
    groups = [group(start_ns, rate) for start_ns, rate in zip(starts_ns, rates, strict=True)]
    conditions = PTS["xsr"].standard_conditions(DriveClass.ENTERPRISE, 1)
    assert isinstance(conditions, CrossStimulusConditions)
    results = analyze_cross_stimulus(groups, MINUTE_NS)
    page = transition_page(results, conditions, groups[1], groups[2], 2)
    (figure,) = (block for block in page.blocks if isinstance(block, Figure))
    (table,) = (block for block in page.blocks if isinstance(block, Table))
    intervals, minutes = figure.series
    expected = [(n - 9.5, 90.0) for n in range(10)] + [(0.5, 100.0), (1.5, 250.0)]
    expected += [(n + 0.5, 480.0) for n in range(2, 60)]
    for series in (intervals, minutes):  # its intervals are minutes
        points = points_of(series, table)
        assert [x for x, _ in points] == pytest.approx([x for x, _ in expected])
        assert [y for _, y in points] == pytest.approx([y for _, y in expected])
    assert figure.x.domain == (-10, 60)
    # 95 % of group 1's 500 MB/s are first reached in the third minute
    (mark,) = figure.marks
    assert (mark.x, mark.y) == pytest.approx((3, 475))
