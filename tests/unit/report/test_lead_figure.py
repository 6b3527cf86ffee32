"""The plot of a report's front has six series at most, to be read at a glance; the page has all of them."""

import pytest

from openpts.pages.model import Figure
from openpts.report.run_part import part_of
from openpts.report.trend_figures import lead_figure
from tests.support.made_up_run import made_up_run

MOST = 6


@pytest.mark.parametrize("test", ["iops", "tp", "lat", "wsat", "hir"])
def test_the_front_has_some_of_all_over_the_series(test: str) -> None:
    part = part_of(made_up_run(test), "2026-02-03T04:05:06Z")
    lead = lead_figure(part)
    assert lead is not None
    blocks = [block for section in part.sections for page in section.pages for block in page.blocks]
    whole = next(one for one in blocks if isinstance(one, Figure) and f"lead-{one.id}" == lead.id).series
    places = [whole.index(one) for one in lead.series]
    assert places == sorted(places)
    assert len(places) == min(len(whole), MOST)
    assert {0, len(whole) - 1} <= set(places)
    assert {place for place, one in enumerate(whole) if one.emphasis} <= set(places)
    assert (f"{MOST} of {len(whole)} shown" in lead.alt) == (len(whole) > MOST)
