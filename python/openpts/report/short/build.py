"""Builds the short report out of the full one: its head, its red lines, some of its figures and tables."""

from collections.abc import Sequence

from msgspec.structs import replace

from openpts.record.reader import Run
from openpts.report.build import report_of
from openpts.report.model import Report
from openpts.report.run_part import parts_of
from openpts.report.short.setup import setup_page, terms_page
from openpts.report.short.tests import test_pages

_FOOTER = "Short report of openpts, not in the format of SNIA SSS PTS"


def short_report(runs: Sequence[Run], report_date: str, *, paper: str = "a4") -> Report:
    """The short report of runs of one drive, as data; ``report_date`` is ISO 8601, UTC.

    Raises RecordError as ``build_combined`` does.
    """
    parts = parts_of(runs, report_date)
    full = report_of(parts, report_date, (), paper)
    return replace(
        full,
        title=full.title.replace("Test Report", "Short Report"),
        footer=f"{_FOOTER}  |  {full.footer.partition('  |  ')[2]}",
        front=(setup_page(parts), terms_page(), *test_pages(parts)),
        sections=(),
        back=(),
        style="short",
        stem=f"{full.stem}_short",
    )
