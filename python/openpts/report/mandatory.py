"""The plots and tables that the specification demands of each test; no report may lack them (PTS 7 to 14)."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from openpts.pages.kit import Required
from openpts.pages.model import Figure, Page, Section, Table, Verdict
from openpts.report.tests import REPORTS

REQUIRED_PLOTS: Final = {
    section: required for test in REPORTS.values() for section, required in test.required.items()
}


def missing_plots(sections: Iterable[Section]) -> list[str]:
    """What a test's sections lack of the plots and tables that they must have, one sentence each.

    A page on which a verdict says why there is no plot (a run that ended early, what no engine recorded) is
    not missing. Sections of tests beyond the specification lack nothing.
    """
    return [
        f"{section.title}: {plot.number} is missing"
        for section in sections
        if section.header.of_specification
        for plot in _required(section)
        if not any(_shows(page, plot.number) for page in _pages(section, plot.key))
    ]


def _required(section: Section) -> tuple[Required, ...]:
    names = (section.test, section.test.split("-")[0])
    return next((REQUIRED_PLOTS[name] for name in names if name in REQUIRED_PLOTS), ())


def _pages(section: Section, key: str) -> Iterator[Page]:
    """The page of a plot; of several points between, each has its own, numbered behind a point."""
    wanted = re.compile(rf"{re.escape(section.test)}-{re.escape(key)}(\.\d+)?")
    return (page for page in section.pages if wanted.fullmatch(page.id))


def _shows(page: Page, number: str) -> bool:
    for block in page.blocks:
        if isinstance(block, Figure) and re.fullmatch(rf"{re.escape(number)}(\.\d+)?", block.number):
            return True
        if isinstance(block, Table) and block.title.startswith(f"{number} - "):
            return True
        if isinstance(block, Verdict) and (block.tone == "fail" or "n/a (" in block.text):
            return True
    return False
