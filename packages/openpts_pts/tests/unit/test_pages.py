"""All that is on the pages of each test of the specification: a file for each, to be read.

After a change that is meant: ``pytest packages/openpts_pts/tests/unit/test_pages.py --snapshot-update``,
and read the difference.
"""

from fractions import Fraction

import pytest
from msgspec.structs import replace

from openpts.report.build import build_report
from openpts.vocabulary.facts import Fact
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import Stimulus
from openpts_pts.conformance.catalogue import PTS
from tests.support.made_up_run import made_up_run, restless_rate, telling_run
from tests.support.page_transcript import transcript_of

DATE = "2026-02-03T04:05:06Z"
SHARES = {1: "2", 2: "1.5", 3: "0.98", 4: "1", 5: "1.02", 6: "1.01", 7: "0.99"}
"""Of the rate, or of the latency, in each round: steady in the seventh, first in the third."""


def settling_rate(stimulus: Stimulus, _phase: Phase, number: int) -> Fraction:
    """With a single I/O outstanding the latency follows the shares, otherwise the rate."""
    share = Fraction(SHARES.get(number, "1"))
    return 10_000 / share if stimulus.toio == 1 else 10_000 * share


def climbing_rate(_stimulus: Stimulus, _phase: Phase, number: int) -> float:
    return 1_000.0 * number


@pytest.mark.proves("PTS-RPT-03", "PTS-RPT-04", "PTS-IOPS-20", "PTS-IOPS-28")
@pytest.mark.proves("PTS-IOPS-33..35", "PTS-LAT-16", "PTS-LAT-33..36", "PTS-LAT-38", "PTS-WSAT-09")
@pytest.mark.proves("PTS-WSAT-19", "PTS-WSAT-30..31", "PTS-HIR-24..26", "PTS-XSR-18..23", "PTS-CBW-11")
@pytest.mark.proves("PTS-CBW-44..59", "PTS-DIRTH-36..51")
@pytest.mark.proves("PTS-GEN-11", "PTS-PRG-04", "PTS-PRE-04", "PTS-HDR-03..08", "PTS-IOPS-26..27")
@pytest.mark.proves("PTS-IOPS-29", "PTS-IOPS-31", "PTS-IOPS-37", "PTS-TP-22..23", "PTS-LAT-27..28")
@pytest.mark.proves("PTS-LAT-32", "PTS-WSAT-25", "PTS-WSAT-29", "PTS-HIR-20", "PTS-HIR-28", "PTS-XSR-17")
@pytest.mark.proves("PTS-CBW-43", "PTS-DIRTH-35", "PTS-DIRTH-53")
@pytest.mark.parametrize("name", PTS)
def test_what_is_on_the_pages(name, transcript) -> None:
    assert transcript_of(build_report(telling_run(name), DATE)) == transcript


COURSES = {
    "iops settling": settling_rate,
    "tp settling": settling_rate,
    "lat settling": settling_rate,
    "iops restless": restless_rate,
    "iops climbing": climbing_rate,
}


@pytest.mark.proves("PTS-SSV-01..07", "PTS-FLOW-04", "PTS-IOPS-29", "PTS-TP-26", "PTS-LAT-24", "PTS-LAT-30")
@pytest.mark.proves("PTS-HDR-03", "PTS-HDR-05..06")
@pytest.mark.parametrize("course", COURSES)
def test_what_the_window_shows(course, transcript) -> None:
    """Rounds 3 to 7: their mean is 1, their slope 0.003 of it a round, their r 0.3."""
    run = made_up_run(course.split(maxsplit=1)[0], rate=COURSES[course])
    software = {"test_software": Fact("openpts 9.8", "made up"), "kernel": Fact("Linux 6.1", "made up")}
    report = build_report(replace(run, manifest=replace(run.manifest, software=software)), DATE)
    assert transcript_of(report) == transcript
