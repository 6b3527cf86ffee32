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


@pytest.mark.proves(
    "PTS-PRG-04", "PTS-PRE-04", "PTS-HDR-03..08", "PTS-SSV-01..07", "PTS-FLOW-04", "PTS-GEN-11"
)
@pytest.mark.proves("PTS-RPT-03", "PTS-RPT-04", "PTS-IOPS-20", "PTS-IOPS-26..29", "PTS-IOPS-31")
@pytest.mark.proves("PTS-IOPS-33..35", "PTS-IOPS-37", "PTS-TP-22..23", "PTS-LAT-16", "PTS-LAT-24")
@pytest.mark.proves("PTS-LAT-27..28", "PTS-LAT-30", "PTS-LAT-32..36", "PTS-LAT-38", "PTS-WSAT-09")
@pytest.mark.proves("PTS-WSAT-19", "PTS-WSAT-25", "PTS-WSAT-29..31", "PTS-HIR-20", "PTS-HIR-24..26")
@pytest.mark.proves("PTS-HIR-28", "PTS-XSR-17..23", "PTS-CBW-11", "PTS-CBW-43..59", "PTS-DIRTH-35..51")
@pytest.mark.proves("PTS-DIRTH-53")
@pytest.mark.parametrize("name", PTS)
def test_what_is_on_the_pages(name: str, transcript: SnapshotAssertion) -> None:
    assert transcript_of(build_report(telling_run(name), "2026-02-03T04:05:06Z")) == transcript
