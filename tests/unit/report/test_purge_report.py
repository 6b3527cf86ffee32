"""What a report tells of a purge beside its method: the proof, the drive's own word, and what was tried."""

from dataclasses import replace

import pytest

from openpts.pages.model import Report, Verdict
from openpts.procedures.kit.header import purge_method
from openpts.record.reader import Run
from openpts.report.build import build_report
from openpts.vocabulary.facts import Fact, PurgeAttempt, PurgeReport
from tests.support.made_up_run import made_up_run
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


@pytest.fixture(scope="module")
def run() -> Run:
    return made_up_run("iops")


def report_of(run: Run, purge: PurgeReport) -> Report:
    return build_report(replace(run, manifest=replace(run.manifest, purges=(purge,))), "2026-02-03T04:05:06Z")


def rows_of(report: Report) -> dict[str, str]:
    (table,) = [table for name, table in report.tables().items() if name.endswith("-purge")]
    return {row.head.text: row.cells[0].text for row in table.rows}


def test_all_that_is_known_of_a_purge_is_told(run: Run) -> None:
    rows = rows_of(report_of(run, FULL))
    assert rows["Proof: marked places changed"] == "64 of 64"
    assert rows["Proof: places with older data changed"] == "61 of 61"
    assert rows["Blank afterwards (all zeros or ones)"] == "125 of 125 places"
    assert rows["Utilisation of the namespace"] == "0 B = 0.0% (NUSE of NSZE; before: 900 GB = 90.0%)"
    assert rows["Deallocated blocks read as"] == "not reported (DLFEAT 0x0)"
    assert rows["Last sanitize"] == "never sanitized (Sanitize Status log (81h))"
    assert rows["Not taken: nvme-sanitize-block"] == "has no Sanitize"


def test_an_older_record_tells_what_it_has(run: Run) -> None:
    assert [
        head for head in rows_of(report_of(run, purge_report())) if "lank" in head or "older" in head
    ] == []


@pytest.mark.proves("PTS-PRG-02")
def test_a_drive_that_was_only_written_over_was_not_purged(run: Run) -> None:
    purge = replace(FULL, ran=False, name="overwrite", method="one pass")
    report = report_of(run, purge)
    verdicts = [block for page in report.pages() for block in page.blocks if isinstance(block, Verdict)]
    assert any(
        verdict.text == "No purge was run before this test (one pass); PTS 3.2 requires one."
        and verdict.tone == "fail"
        for verdict in verdicts
    )
    assert rows_of(report)["Purge Method"] == purge_method(purge) == "NOT RUN (one pass)"
    assert rows_of(report)["Proof: marked places changed"] == "64 of 64"
