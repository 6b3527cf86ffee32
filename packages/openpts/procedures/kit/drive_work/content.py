"""Adds to what a test reports what its drive drew, wrote and did on its own, alike for all tests."""

from functools import cache

from msgspec import structs
from msgspec.structs import replace

from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.drive_work.dips_page import (
    LoadDip,
    Loads,
    dips_in,
    dips_page,
    dips_verdict,
    loads_of,
)
from openpts.procedures.kit.drive_work.energy_page import energy_measures, energy_page
from openpts.procedures.kit.drive_work.media_page import media_measures, media_page
from openpts.procedures.kit.drive_work.work import DriveWork
from openpts.procedures.kit.standing import Standing
from openpts.record.reader import Run
from openpts_pages.model import Page, Section


def with_drive_work(content: ReportContent, run: Run) -> ReportContent:
    """The content with measures and pages of energy, media writes and dips, as far as they are known."""
    work = DriveWork(run)

    @cache
    def found_dips() -> tuple[Loads, tuple[LoadDip, ...]]:
        loads = tuple(loads_of(work))
        return loads, dips_in(loads)

    def pages(test: str) -> tuple[Page, ...]:
        # Many dips are a single line in print, which would be alone on a sheet if it came last.
        made = (dips_page(work, found_dips()[1], test), energy_page(work, test), media_page(work, test))
        return tuple(page for page in made if page is not None)

    def sections(standing: Standing, report_date: str) -> tuple[Section, ...]:
        """The pages are the last ones of the last section: they are of the run and not of one workload."""
        *first, last = content.sections(standing, report_date)
        return (*first, structs.replace(last, pages=(*last.pages, *pages(run.manifest.conditions.test))))

    return replace(
        content,
        measures=(*content.measures, *energy_measures(work), *media_measures(work)),
        sections=sections,
        conditions=lambda: (*content.conditions(), *dips_verdict(*found_dips())),
    )
