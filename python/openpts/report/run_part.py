"""One run as a part of a report: its record, how it stands, and the pages of its test."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from openpts.errors import RecordError
from openpts.record.reader import Run
from openpts.report.content import TestContent
from openpts.report.health_page import health_alerts
from openpts.report.mandatory import missing_plots
from openpts.report.merge import prefixed
from openpts.report.model import Page, Section
from openpts.report.standing import Standing, standing_of
from openpts.report.tests import REPORTS, reported_test


@dataclass(frozen=True, slots=True)
class RunPart:
    """``name`` tells the run from the others of the report: ``IOPS``, or ``IOPS 2`` where there are two.

    ``title`` is that of its test. ``sections`` are its pages, each with the test's header. ``health_alerts``
    are the red lines that the drive's own log gives.
    """

    name: str
    title: str
    run: Run
    standing: Standing
    content: TestContent
    sections: tuple[Section, ...]
    health_alerts: tuple[str, ...] = ()


def parts_of(
    runs: Sequence[Run], report_date: str, begin: Callable[[Sequence[Page]], None] | None = None
) -> tuple[RunPart, ...]:
    """The parts of a report, in the order of the specification and after it that of the practice beyond it.

    ``begin`` is given the pages of each section as soon as they are made.
    Raises RecordError where the runs are none, not of one drive, or of a test that openpts does not know.
    """
    _refuse_mixed_drives(runs)
    order = list(REPORTS)
    tests = [run.manifest.conditions.test for run in runs]
    for test in tests:
        reported_test(test)
    times = Counter(tests)
    seen: Counter[str] = Counter()
    parts = []
    for run in sorted(runs, key=lambda run: (order.index(run.manifest.conditions.test), _started(run))):
        test = run.manifest.conditions.test
        seen[test] += 1
        parts.append(_part(run, report_date, seen[test] if times[test] > 1 else 0))
        if begin is not None:
            for section in parts[-1].sections:
                begin(section.pages)
    return tuple(parts)


def _part(run: Run, report_date: str, number: int) -> RunPart:
    """``number`` is 0 for the only run of its test."""
    test = run.manifest.conditions.test
    standing = standing_of(run)
    content = reported_test(test).report(run)
    alerts = health_alerts(run)
    own = content.sections(standing, report_date)
    if missing := missing_plots(own):
        raise RecordError(f"a report must not lack what the specification demands: {'; '.join(missing)}")
    sections = tuple(
        replace(_wanted(section, run), alerts=(*section.alerts, *alerts))
        for section in own
    )
    if number:
        sections = tuple(prefixed(section, f"{test}{number}-") for section in sections)
    name = f"{test.upper()} {number}" if number else test.upper()
    return RunPart(name, reported_test(test).title, run, standing, content, sections, alerts)


def _wanted(section: Section, run: Run) -> Section:
    """The section, without its optional pages if the operator wants none."""
    if run.manifest.conditions.secondary_metrics:
        return section
    return replace(section, pages=tuple(page for page in section.pages if page.mandatory))


def _started(run: Run) -> str:
    return run.manifest.started_at


def _refuse_mixed_drives(runs: Sequence[Run]) -> None:
    if not runs:
        raise RecordError("a report needs a run")
    drives = {_drive(run): run.folder for run in runs}
    if len(drives) > 1:
        told = "; ".join(f"{' '.join(drive)} in {folder}" for drive, folder in drives.items())
        raise RecordError(
            f"a report is of one drive, these runs are of several: {told}; openpts compare takes them"
        )


def _drive(run: Run) -> tuple[str, ...]:
    """What makes it the same drive; a simulated one has its preset's name for all that."""
    manifest = run.manifest
    facts = (manifest.dut.get(key) for key in ("manufacturer", "model", "serial"))
    known = [fact.value for fact in facts if fact is not None and fact.value]
    return tuple(known) if known else (manifest.target.name,)
