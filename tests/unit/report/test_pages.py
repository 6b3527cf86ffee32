"""All that is on the pages of each test of the specification: a file for each, to be read.

After a change that is meant: ``pytest tests/unit/report/test_pages.py --snapshot-update``, and read the
difference.
"""

import pytest
from syrupy.assertion import SnapshotAssertion

from openpts.procedures.registry import PTS
from openpts.report.build import build_report
from tests.support.made_up_run import telling_run
from tests.support.page_transcript import transcript_of


@pytest.mark.proves("PTS-RPT-03", "PTS-RPT-04", "PTS-IOPS-20", "PTS-IOPS-28")
@pytest.mark.proves("PTS-IOPS-33..35", "PTS-LAT-16", "PTS-LAT-33..36", "PTS-LAT-38", "PTS-WSAT-09")
@pytest.mark.proves("PTS-WSAT-19", "PTS-WSAT-30..31", "PTS-HIR-24..26", "PTS-XSR-18..23", "PTS-CBW-11")
@pytest.mark.proves("PTS-CBW-44..59", "PTS-DIRTH-36..51")
@pytest.mark.parametrize("name", PTS)
def test_what_is_on_the_pages(name: str, transcript: SnapshotAssertion) -> None:
    assert transcript_of(build_report(telling_run(name), "2026-02-03T04:05:06Z")) == transcript
