"""Builds the report of a run: record in, report model out; no clock, no device, no file."""

import hashlib
from typing import Final

import msgspec

from openpts.record.reader import Run
from openpts.report.conformance_page import conformance_page
from openpts.report.cover_page import cover_page
from openpts.report.header import drive_name
from openpts.report.model import SCHEMA_VERSION, Report, Section
from openpts.report.printable import brief, fact_text, printable
from openpts.report.setup_page import setup_page
from openpts.report.standing import standing_of
from openpts.report.tests import reported_test

_FOOTER: Final = "Format of SNIA SSS PTS 2.0.1; not certified by SNIA"


# PTS-FLOW-10
def build_report(run: Run, report_date: str) -> Report:
    """The report of a run, as data; ``report_date`` is ISO 8601, UTC.

    The same run and date give an equal report. Raises RecordError for a test whose report openpts
    does not know.
    """
    manifest = run.manifest
    standing = standing_of(run)
    test = reported_test(manifest.conditions.test)
    content = test.report(run)
    test_id = brief(printable(manifest.test_id))
    model = fact_text(manifest.dut, "model", printable(manifest.target.name))
    report = Report(
        schema_version=SCHEMA_VERSION,
        title=f"{'SIMULATED ' if manifest.target.simulation else ''}SSD Performance Test Report: "
        f"{test.title}",
        subtitle=f"{drive_name(manifest)} - {manifest.conditions.profile.revision}",
        run_name=f"{brief(model)} - {test_id}",
        report_date=report_date,
        red_line=standing.red_line,
        footer=f"{_FOOTER}  |  {test_id}",
        front=(
            cover_page(run, standing, content.verdicts, content.summary),
            setup_page(run, report_date),
            conformance_page(run, standing),
        ),
        sections=tuple(_wanted(section, run) for section in content.sections(standing, report_date)),
        deviation_count=len(run.ledger),
    )
    return msgspec.structs.replace(report, footer=f"{report.footer}  |  {_digest(report)}")


def _wanted(section: Section, run: Run) -> Section:
    """The section, without its optional pages if the operator wants none."""
    if run.manifest.conditions.secondary_metrics:
        return section
    return msgspec.structs.replace(section, pages=tuple(page for page in section.pages if page.mandatory))


def _digest(report: Report) -> str:
    """Eight digits that tell two reports apart, on paper as well."""
    return hashlib.sha256(msgspec.json.encode(report)).hexdigest()[:8]
