"""What a test adds to a report: its key values, its verdicts, its pages."""

from dataclasses import dataclass
from typing import Any

from openpts.report.model import Section, Table, Verdict


@dataclass(frozen=True, slots=True)
class TestContent:
    """``verdicts`` and ``summary`` go on the cover; each of ``sections`` has its own common header.

    ``figures`` is what ``--json`` prints of the test, JSON-ready, under names with units.
    """

    __test__ = False  # the name is the field's, not pytest's

    verdicts: tuple[Verdict, ...]
    summary: Table
    sections: tuple[Section, ...]
    figures: dict[str, Any]
