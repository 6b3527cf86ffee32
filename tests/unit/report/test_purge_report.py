"""What a report tells of a purge beside its method: the proof, the drive's own word, and what was tried."""

import pytest
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from openpts.procedures.kit.header import purge_method
from openpts.report.build import build_report
from openpts.vocabulary.facts import Fact, PurgeAttempt
from tests.support.made_up_run import made_up_run
from tests.support.page_transcript import transcript_of
from tests.support.synthetic_run import purge_report

FULL = replace(
    purge_report(),
    name="nvme-format",
    attempts=(PurgeAttempt("nvme-sanitize-block", "has no Sanitize"),),
    status={
        "utilisation": Fact("0 B = 0.0%", "NUSE of NSZE"),
        "reads_as": Fact(None, "DLFEAT 0x0"),
        "sanitize_status": Fact("never sanitized", "Sanitize Status log (81h)"),
    },
    status_before={"utilisation": Fact("900 GB = 90.0%", "NUSE of NSZE")},
    other_samples=61,
    blank_samples=125,
)
PURGES = {
    "all that is known": FULL,
    "an older record": purge_report(),
    "only written over": replace(FULL, ran=False, name="overwrite", method="one pass"),
}
RUN = made_up_run("iops")


@pytest.mark.proves("PTS-PRG-02")
@pytest.mark.parametrize("case", PURGES)
def test_what_is_told_of_a_purge(case: str, transcript: SnapshotAssertion) -> None:
    run = replace(RUN, manifest=replace(RUN.manifest, purges=(PURGES[case],)))
    assert transcript_of(build_report(run, "2026-02-03T04:05:06Z"), "iops-preparation") == transcript


def test_a_drive_that_was_only_written_over_was_not_purged() -> None:
    manifest = replace(RUN.manifest, purges=(PURGES["only written over"],))
    assert purge_method(manifest) == "NOT RUN (one pass)"
