"""Fixtures of tests of reports, for their folders."""

from collections.abc import Callable

import pytest
from syrupy.assertion import SnapshotAssertion

from openpts.record.reader import Run
from openpts_pages.model import Report, Table
from tests.support.made_up_run import made_up_run
from tests.support.report_cases import Reports
from tests.support.transcript import Transcript


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Reports:
    return Reports(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="session")
def bare() -> Run:
    """A run whose record has nothing of its surroundings."""
    return made_up_run("xsr")


@pytest.fixture(scope="session")
def texts() -> Callable[[Report], list[str]]:
    """All that a report prints, in order."""

    def collect(report: Report) -> list[str]:
        found = [report.title, report.subtitle, report.run_name, report.footer, *report.alerts()]
        for section in report.sections:
            found += [row.value for group in section.header.groups for row in group.rows]
        for page in report.pages():
            found.append(page.title)
            for block in page.blocks:
                if isinstance(block, Table):
                    cells = [cell for row in block.rows for cell in (row.head, *row.cells)]
                    found += [
                        block.title,
                        block.note,
                        *(cell.text for cell in cells),
                        *(c.note for c in cells),
                    ]
                else:
                    found += [getattr(block, name, "") for name in ("title", "alt", "text")]
        return found

    return collect


@pytest.fixture
def transcript(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(Transcript)
