"""One run as a part of a report: the pages made of it, and what the shared pages need of it.

It holds nothing of the run's steps: so it is small, and can be made in another process.
"""

from collections import Counter
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from openpts.errors import RecordError
from openpts.pages.measure import Measured
from openpts.pages.model import Page, Section, Verdict
from openpts.plots.stacked_panels import with_aligned_panels
from openpts.record.manifest import Manifest
from openpts.record.reader import Run
from openpts.report.conformance_page import conformance_page
from openpts.report.health_page import health_alerts, health_page
from openpts.report.host_page import host_page, no_audit
from openpts.report.mandatory import missing_plots
from openpts.report.merge import prefixed
from openpts.report.run_conditions_page import run_conditions_page
from openpts.report.run_facts import Applied, applied_demand, drive_items, failures
from openpts.report.setup_page import setup_page
from openpts.report.standing import Standing, requirements_of, standing_of
from openpts.report.tests import REPORTS, reported_test


class RunPart(msgspec.Struct, frozen=True):
    """``name`` tells the run from the others of the report: ``IOPS``, or ``IOPS 2`` where there are two.

    ``title`` and ``short_title`` are those of its test, ``folder`` its run folder. ``verdicts`` and
    ``measures`` are the test's own; ``failures`` are I/Os that failed, ``health_alerts`` the red lines that
    the drive's own log gives, ``drive`` what the cover says of the drive, ``applied`` the demands of the
    steps. ``sections`` are the test's pages; the other pages are shared with other runs. ``host`` is None
    where there is no host to audit.
    """

    name: str
    title: str
    short_title: str
    folder: str
    manifest: Manifest
    deviation_count: int
    standing: Standing
    verdicts: tuple[Verdict, ...]
    measures: tuple[Measured, ...]
    failures: tuple[Verdict, ...]
    health_alerts: tuple[str, ...]
    drive: tuple[tuple[str, str], ...]
    applied: tuple[Applied, ...]
    sections: tuple[Section, ...]
    setup: Page
    conformance: Page
    host: Page | None
    conditions: Page
    health: Page

    @property
    def test(self) -> str:
        """The test's short name."""
        return self.manifest.conditions.test


def part_of(run: Run, report_date: str) -> RunPart:
    """The part of a run, with the name that it has where no other run is of its test.

    Raises RecordError for a test that openpts does not know, and where a test that was made as the
    specification has it lacks a page that it demands.
    """
    manifest = run.manifest
    test = reported_test(manifest.conditions.test)
    requirements = requirements_of(run)
    standing, content, alerts = standing_of(run, requirements), test.report(run), health_alerts(run)
    sections = content.sections(standing, report_date)
    if not _has_own_way(run) and (missing := missing_plots(sections)):
        raise RecordError(f"a report must not lack what the specification demands: {'; '.join(missing)}")
    return RunPart(
        name=manifest.conditions.test.upper(),
        title=test.title,
        short_title=test.short_title,
        folder=str(run.folder),
        manifest=manifest,
        deviation_count=len(run.ledger),
        standing=standing,
        verdicts=content.verdicts,
        measures=content.measures,
        failures=failures(run),
        health_alerts=alerts,
        drive=tuple(drive_items(run)),
        applied=applied_demand(run),
        sections=tuple(
            replace(with_aligned_panels(_wanted(section, run)), alerts=(*section.alerts, *alerts))
            for section in sections
        ),
        setup=setup_page(run, report_date),
        conformance=conformance_page(run, standing, requirements),
        host=host_page(run) if no_audit(run) is None else None,
        conditions=run_conditions_page(run, content.conditions),
        health=health_page(run),
    )


def in_order(parts: Sequence[RunPart]) -> tuple[RunPart, ...]:
    """In the order of the specification and after it that of the practice beyond it; like ones are numbered.

    Raises RecordError where there are none, or not of one drive.
    """
    _refuse_mixed_drives(parts)
    order = list(REPORTS)
    times = Counter(part.test for part in parts)
    seen: Counter[str] = Counter()
    ordered = []
    for part in sorted(parts, key=lambda part: (order.index(part.test), part.manifest.started_at)):
        seen[part.test] += 1
        ordered.append(_numbered(part, seen[part.test]) if times[part.test] > 1 else part)
    return tuple(ordered)


def _numbered(part: RunPart, number: int) -> RunPart:
    """With a name and ids of its own."""
    sections = tuple(prefixed(section, f"{part.test}{number}-") for section in part.sections)
    return replace(part, name=f"{part.name} {number}", sections=sections)


def _has_own_way(run: Run) -> bool:
    """Whether the test was made otherwise than the specification has it: what was not asked has no plot."""
    own_rules = f"PTS-{run.manifest.conditions.test.upper()}-"
    return any(entry.rule_id.startswith(own_rules) for entry in run.ledger)


def _wanted(section: Section, run: Run) -> Section:
    """The section, without its optional pages if the operator wants none."""
    if run.manifest.conditions.secondary_metrics:
        return section
    return replace(section, pages=tuple(page for page in section.pages if page.mandatory))


def _refuse_mixed_drives(parts: Sequence[RunPart]) -> None:
    if not parts:
        raise RecordError("a report needs a run")
    drives = {_drive(part.manifest): part.folder for part in parts}
    if len(drives) > 1:
        told = "; ".join(f"{' '.join(drive)} in {folder}" for drive, folder in drives.items())
        raise RecordError(
            f"a report is of one drive, these runs are of several: {told}; openpts compare takes them"
        )


def _drive(manifest: Manifest) -> tuple[str, ...]:
    """What makes it the same drive; a simulated one has its preset's name for all that."""
    facts = (manifest.dut.get(key) for key in ("manufacturer", "model", "serial"))
    known = [fact.value for fact in facts if fact is not None and fact.value]
    return tuple(known) if known else (manifest.target.name,)
