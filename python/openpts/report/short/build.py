"""Builds the short report out of the full one: its head, its red lines, some of its figures and tables."""

from collections.abc import Sequence

from msgspec.structs import replace

from openpts.pages.model import Report
from openpts.report.build import undigested
from openpts.report.run_part import RunPart, in_order
from openpts.report.short.setup import setup_page, terms_page
from openpts.report.short.tests import test_pages

_FOOTER = "Short report of openpts, not in the format of SNIA SSS PTS"


def short_report(parts: Sequence[RunPart], report_date: str, *, paper: str = "a4") -> Report:
    """The short report of the parts that runs of one drive gave; ``report_date`` is ISO 8601, UTC.

    Raises RecordError as ``report_of`` does.
    """
    ordered = in_order(parts)
    full = undigested(ordered, report_date, paper=paper)
    return replace(
        full,
        title=full.title.replace("Test Report", "Short Report"),
        footer=f"{_FOOTER}  |  {full.footer.partition('  |  ')[2]}",
        red_line="; ".join(line for line in (full.red_line, *_health_lines(ordered)) if line),
        front=(setup_page(ordered), terms_page(), *test_pages(ordered)),
        sections=(),
        back=(),
        style="short",
        stem=f"{full.stem}_short",
    )


def _health_lines(parts: Sequence[RunPart]) -> list[str]:
    """What the full report has on the pages of its tests."""
    return [
        alert if len(parts) == 1 else f"{part.name}: {alert}"
        for part in parts
        for alert in part.health_alerts
    ]
