"""Reports of fixed runs, byte for byte: the snapshot has a digest of each of their files.

Runs of all tests, some of the specification together in each form, and records that were written and read.
Drawings are left out, which depend on the version of Vega: ``test_golden.py`` holds them.
"""

import hashlib
import re
from functools import cache
from pathlib import Path
from unittest import mock

import msgspec
import pytest
from msgspec.structs import replace

from openpts.escaped_text import with_texts
from openpts.procedures.registry import PROCEDURES
from openpts.record.reader import read_run
from openpts.report.build import report_of, short_report
from openpts.report.redaction import redacted
from openpts.report.run_part import RunPart, part_of
from openpts_pages import html
from openpts_pages.csv_files import csv_files
from openpts_pages.measure import Style
from openpts_pages.model import Report
from tests.support.made_up_run import telling_run

DATE = "2026-11-21T08:00:00Z"
TOGETHER = ("iops", "lat", "wsat", "iops")

NAMES_OF_TESTS = re.compile(r"[\w/]+\.(?:py|rs|go)::\w+")
"""Those that prove a requirement, on the page of conformance; the footer has a digest of all texts."""


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def digests(report: Report) -> dict[str, str]:
    plain = with_texts(msgspec.to_builtins(report), lambda text: NAMES_OF_TESTS.sub("TEST", text))
    report = replace(msgspec.convert(plain, type=Report), footer=report.footer.rpartition("|")[0])
    data = "".join(f"{name}\n{text}" for name, text in csv_files(report).items())
    with mock.patch.object(html, "packed", digest):  # whose bytes would depend on the machine's zlib
        page = html.render_html(report, {})
    contents = {"json": msgspec.json.encode(report), "html": page.encode(), "csv": data.encode()}
    return {name: digest(content) for name, content in contents.items()}


@cache
def part(name: str) -> RunPart:
    return part_of(telling_run(name), DATE)


@pytest.mark.full_matrix(most=8)
@pytest.mark.parametrize("name", PROCEDURES)
def test_reports_of_each_test(name, snapshot) -> None:
    assert digests(report_of([part(name)], DATE)) == snapshot


def test_reports_of_several_tests_in_each_form(snapshot) -> None:
    together = [part(name) for name in TOGETHER]
    full = report_of(together, DATE)
    forms = {
        "full": full,
        "redacted": redacted(full, [one.manifest for one in together]),
        "in the order of the specification": report_of(together, DATE, style=Style.SPECIFICATION),
        "short": short_report(together, DATE),
    }
    assert {name: digests(report) for name, report in forms.items()} == snapshot


@pytest.mark.parametrize("case", ["steady", "not steady", "failed", "hostile", "nothing", "simulated"])
def test_reports_of_records(reports, case, snapshot) -> None:
    run = replace(read_run(reports.folder(case)), folder=Path(case), zero_at=None)
    assert digests(report_of([part_of(run, DATE)], DATE)) == snapshot
