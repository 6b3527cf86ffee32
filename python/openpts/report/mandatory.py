"""The plots and tables that the specification demands of each test; no report may lack them (PTS 7 to 14)."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from openpts.pages.model import Figure, Page, Section, Table, Verdict

_DEMAND_PAGES: Final = range(1, 16)

# Number of the plot or table, and what its page's id has behind the section's name.
REQUIRED_PLOTS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "iops": (
        ("Plot A.1", "a1-rw0"),
        ("Plot A.1b", "a1-rw65"),
        ("Plot A.1c", "a1-rw100"),
        ("Plot A.2", "a2"),
        ("Plot A.3", "a3"),
        ("Plot A.4", "a4"),
        ("Plot A.5", "a5"),
        ("Plot A.6", "a6"),
        ("Plot A.7", "a7"),
        ("Plot A.8", "a8"),
    ),
    "tp-1024": (
        ("Plot 8-1", "write"),
        ("Plot 8-2", "read"),
        ("Plot 8-3", "window"),
        ("Plot 8-4", "tabular"),
        ("Plot 8-6", "bars"),
    ),
    "tp": (
        ("Plot 8-1", "write"),
        ("Plot 8-2", "read"),
        ("Plot 8-3", "window"),
        ("Plot 8-5", "tabular"),
        ("Plot 8-7", "bars"),
    ),
    "lat": (
        ("Plot 9-1", "convergence-rw0"),
        ("Plot 9-2", "window-1"),
        ("Plot 9-3", "table"),
        ("Plot 9-4", "clp"),
    ),
    "wsat": (
        ("Plot 10-1", "iops-time"),
        ("Plot 10-2", "iops-tgbw"),
        ("Plot 10-3", "iops-fills"),
        ("Plot 10-4", "clp"),
    ),
    "hir": (("Plot 11-1", "1"), ("Plot 11-2", "2"), ("Plot 11-3", "3")),
    "xsr": (
        ("Plot 12-1", "1"),
        ("Plot 12-1.1", "transition-1"),
        ("Plot 12-1.2", "transition-2"),
        ("Plot 12-2", "4"),
        ("Plot 12-3", "5"),
    ),
    "cbw": tuple((f"Plot 13-{number + 3}", str(number)) for number in _DEMAND_PAGES),
    "dirth": tuple((f"Plot 14-{number + 1}", str(number)) for number in _DEMAND_PAGES),
}
"""By test, for throughput by its size; the sections of other workloads and sizes have those of their test."""


def missing_plots(sections: Iterable[Section]) -> list[str]:
    """What a test's sections lack of the plots and tables that they must have, one sentence each.

    A page on which a verdict says why there is no plot (a run that ended early, what no engine recorded) is
    not missing. Sections of tests beyond the specification lack nothing.
    """
    return [
        f"{section.title}: {number} is missing"
        for section in sections
        if section.header.of_specification
        for number, key in _required(section)
        if not any(_shows(page, number) for page in _pages(section, key))
    ]


def _required(section: Section) -> tuple[tuple[str, str], ...]:
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
