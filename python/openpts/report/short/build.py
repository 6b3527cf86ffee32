"""Builds the short report out of the full one: its head, its red lines, some of its figures and tables."""

from collections.abc import Sequence

from msgspec.structs import replace

from openpts.pages.kit import rows_table
from openpts.pages.model import Block, Page, Report, Verdict
from openpts.procedures.registry import procedure_of
from openpts.report.build import undigested
from openpts.report.run_part import RunPart, in_order
from openpts.report.short.setup import run_table, setup_page

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
        front=(setup_page(ordered), *_test_pages(ordered)),
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


def _test_pages(parts: Sequence[RunPart]) -> tuple[Page, ...]:
    """A page for each run of a test that TKperf knows, and one for all others."""
    pages = []
    others: list[Block] = []
    for part in parts:
        if short := procedure_of(part.test).part("short"):
            conditions = part.manifest.conditions
            introduction = Verdict(short.introduction(part.sections, conditions))
            blocks = (introduction, run_table(part), *short.blocks(part.sections, conditions))
            pages.append(Page(f"short-{_name(part)}", part.title, blocks))
        else:
            others += (run_table(part), *_by_key_values(part))
    if others:
        pages.append(Page("short-others", "Other tests" if pages else "Tests", tuple(others)))
    return tuple(pages)


def _by_key_values(part: RunPart) -> list[Block]:
    """For a test that TKperf does not know."""
    return [
        *part.verdicts,
        rows_table(
            f"short-{_name(part)}-values",
            f"{part.title}: key values",
            "Key value:<1.6 | Result | Unit:<0.5",
            ((one.label, one.noted_cell, one.unit) for one in part.measures if one.is_key),
        ),
    ]


def _name(part: RunPart) -> str:
    return part.name.lower().replace(" ", "")
