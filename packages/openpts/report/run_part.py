"""One run as a part of a report: the pages made of it, and what the shared pages need of it.

It holds nothing of the run's steps: so it is small, and can be made in another process.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from openpts.errors import RecordError
from openpts.plugins import Kind, calling, load, offers
from openpts.procedures.kit.header import drive_name, target_kind
from openpts.procedures.kit.judge import the_judge
from openpts.procedures.kit.red_line import red_line_of
from openpts.procedures.kit.standing import Standing
from openpts.procedures.registry import in_test_order, procedure_of
from openpts.record.manifest import Manifest
from openpts.record.reader import Run, StepRecord
from openpts.report.imported_run import import_items
from openpts.report.merge import prefixed
from openpts.report.purpose_box import PurposeRow, purpose_rows
from openpts.report.run_conditions_page import run_conditions_page
from openpts.report.setup_page import setup_page
from openpts.report.simulated_drive import simulated_time, simulation_items
from openpts.report.summary import summarize
from openpts.units import format_capacity
from openpts.vocabulary.sample import StepState
from openpts_pages.kit import Required
from openpts_pages.measure import Measured
from openpts_pages.model import Figure, Page, Section, Table, Verdict
from openpts_pages.plots.stacked_panels import with_aligned_panels
from openpts_pages.texts import capitalised, fact_text

Applied = tuple[int, int]
"""Thread count and queue depth."""


class RunPart(msgspec.Struct, frozen=True):
    """``name`` is the run's name in the report: ``IOPS``, or ``IOPS 2`` where there are two; then
    the ids of its pages begin with ``prefix``.

    ``title`` and ``short_title`` are those of its test, ``path`` that of its run folder, which need not be
    text. ``verdicts`` and ``measures`` are the test's own; ``failures`` are I/Os that failed,
    ``health_alerts`` the red lines that the drive's own log gives, ``drive`` what the cover says of the
    drive, ``purpose`` what that is for, ``simulated_time`` how long a simulated one was at work, ``applied``
    the demands of the steps. ``sections`` are the test's pages; the other pages are shared with other runs.
    ``figures`` are those that ``--json`` prints, in ASCII: a path need not be text.
    ``limits`` is None for a run that was ordered without a limits file. ``pages`` come in by the door, each
    with its place: ``conformance``, ``audit``, ``back``, or an empty text for behind the conditions.
    """

    name: str
    title: str
    short_title: str
    path: bytes
    manifest: Manifest
    deviation_count: int
    standing: Standing
    verdicts: tuple[Verdict, ...]
    measures: tuple[Measured, ...]
    failures: tuple[Verdict, ...]
    health_alerts: tuple[str, ...]
    drive: tuple[tuple[str, str], ...]
    purpose: tuple[PurposeRow, ...]
    simulated_time: str
    applied: tuple[Applied, ...]
    sections: tuple[Section, ...]
    setup: Page
    conditions: Page
    figures: str
    limits: Page | None = None
    pages: tuple[tuple[str, Page], ...] = ()
    prefix: str = ""

    @property
    def folder(self) -> Path:
        """The run folder."""
        return Path(os.fsdecode(self.path))

    @property
    def test(self) -> str:
        """The test's short name."""
        return self.manifest.conditions.test

    def pages_at(self, place: str) -> list[Page]:
        """The pages of a place, in their order."""
        return [page for at, page in self.pages if at == place]


def _pages_of_plug_ins(run: Run) -> Iterator[tuple[str, Page]]:
    for offer in offers(Kind.PAGE).values():
        page_of = load(offer)
        with calling(offer):
            page: Page | None = page_of(run)
        if page is not None:
            yield offer.name.rpartition(".")[0], page


def _standing(run: Run) -> tuple[Standing, tuple[Page, ...]]:
    """Where the run stands by the judge of the specification, with the page on that."""
    offer = next(iter(offers(Kind.REQUIREMENTS).values()), None)
    if offer is None:
        return Standing(red_line_of(run), conformant=False, bottom_line=_NOT_JUDGED), ()
    standing, page = load(offer)(run)
    return standing, (page,)


_NOT_JUDGED = "Nothing that is installed judges the run against the specification."


def _alerts(run: Run) -> tuple[str, ...]:
    return tuple(alert for offer in offers(Kind.ALERT).values() for alert in load(offer)(run))


def part_of(run: Run, report_date: str) -> RunPart:
    """The part of a run, with the name that it has where no other run is of its test.

    Raises RecordError for a test that openpts does not know, and where a test that was made as the
    specification has it lacks a page that it demands.
    """
    manifest, judge = run.manifest, the_judge()
    test = procedure_of(manifest.conditions.test)
    standing, on_standing = _standing(run)
    content, alerts = test.report(run), _alerts(run)
    sections = content.sections(standing, report_date)
    if not _has_own_way(run) and (missing := missing_plots(sections)):
        raise RecordError(
            f"cannot make the report: the specification demands what it lacks: {'; '.join(missing)}"
        )
    return RunPart(
        name=manifest.conditions.test.upper(),
        title=test.title,
        short_title=test.short_title,
        path=os.fsencode(run.folder),
        manifest=manifest,
        deviation_count=len(run.ledger),
        standing=standing,
        verdicts=content.verdicts,
        measures=content.measures,
        failures=failures(run),
        health_alerts=alerts,
        drive=tuple(drive_items(run)),
        purpose=purpose_rows(run),
        simulated_time=simulated_time(run),
        applied=applied_demand(run),
        sections=tuple(
            replace(with_aligned_panels(_wanted(section, run)), alerts=(*section.alerts, *alerts))
            for section in sections
        ),
        setup=setup_page(run, report_date),
        conditions=run_conditions_page(run, content.conditions()),
        figures=json.dumps(summarize(run, content)),
        limits=None if judge is None else judge.part("page")(run, content),
        pages=(*(("conformance", page) for page in on_standing), *_pages_of_plug_ins(run)),
    )


def in_order(parts: Sequence[RunPart]) -> tuple[RunPart, ...]:
    """In the order of the specification and after it that of the practice beyond it; like ones are numbered.

    Raises RecordError where there are none, or not of one drive.
    """
    _refuse_mixed_drives(parts)
    order = in_test_order({part.test for part in parts})
    times = Counter(part.test for part in parts)
    seen: Counter[str] = Counter()
    ordered = []
    for part in sorted(parts, key=lambda part: (order.index(part.test), part.manifest.started_at)):
        seen[part.test] += 1
        ordered.append(_numbered(part, seen[part.test]) if times[part.test] > 1 else part)
    return tuple(ordered)


def _numbered(part: RunPart, number: int) -> RunPart:
    """The part with a number in its name and IDs, where a report has several of its test."""
    prefix = f"{part.test}{number}-"
    sections = tuple(prefixed(section, prefix) for section in part.sections)
    return replace(part, name=f"{part.name} {number}", prefix=prefix, sections=sections)


def _has_own_way(run: Run) -> bool:
    """Whether the test deviates from the specification's: what was not run has no plot."""
    own_rules = f"PTS-{run.manifest.conditions.test.upper()}-"
    return any(entry.rule_id.startswith(own_rules) for entry in run.ledger)


def _wanted(section: Section, run: Run) -> Section:
    """The section, without its optional pages if the operator wants none."""
    if run.manifest.conditions.secondary_metrics:
        return section
    return replace(section, pages=tuple(page for page in section.pages if page.mandatory))


def _refuse_mixed_drives(parts: Sequence[RunPart]) -> None:
    if not parts:
        raise RecordError("cannot make a report: no run is given")
    drives = {_drive(part.manifest): part.folder for part in parts}
    if len(drives) > 1:
        folders = "; ".join(f"{' '.join(drive)} in {folder}" for drive, folder in drives.items())
        raise RecordError(f"cannot make one report of several drives ({folders}): use openpts compare")


def _drive(manifest: Manifest) -> tuple[str, ...]:
    """What makes it the same drive; a simulated one has its preset's name for all that."""
    facts = (manifest.dut.get(key) for key in ("manufacturer", "model", "serial"))
    known = [fact.value for fact in facts if fact is not None and fact.value]
    return tuple(known) if known else (manifest.target.name,)


def missing_plots(sections: Iterable[Section]) -> list[str]:
    """What a test's sections lack of the plots and tables that they must have, one sentence each.

    A page with a verdict on why there is no plot (a run that ended early, what no engine recorded) is
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
    """The required plots of the section, or else of its test: the first part of the section's name."""
    test = section.test.split("-")[0]
    plots = procedure_of(test).required
    return plots.get(section.test) or plots.get(test, ())


def _pages(section: Section, key: str) -> Iterator[Page]:
    """The page of a plot; each of several MidIOPS points has its own, numbered behind a point (``.2``)."""
    pattern = re.compile(rf"{re.escape(section.test)}-{re.escape(key)}(\.\d+)?")
    return (page for page in section.pages if pattern.fullmatch(page.id))


def _shows(page: Page, number: str) -> bool:
    for block in page.blocks:
        if isinstance(block, Figure) and re.fullmatch(rf"{re.escape(number)}(\.\d+)?", block.number):
            return True
        if isinstance(block, Table) and block.title.startswith(f"{number} - "):
            return True
        if isinstance(block, Verdict) and (block.tone == "fail" or "n/a (" in block.text):
            return True
    return False


def applied_demand(run: Run) -> tuple[Applied, ...]:
    """The demands of the steps, each once, in the order in which they came."""
    stimuli = [stimulus for step in run.steps for stimulus in step.sample.step.stimuli]
    return tuple(dict.fromkeys((stimulus.tc, stimulus.qd) for stimulus in stimuli))


def drive_items(run: Run) -> list[tuple[str, str]]:
    """The drive: name, numbers, size, what stands behind the target, interface."""
    dut, target = run.manifest.dut, run.manifest.target
    return [
        ("Drive", drive_name(run.manifest)),
        ("S/N, firmware", f"{fact_text(dut, 'serial')}, {fact_text(dut, 'firmware')}"),
        ("User capacity", format_capacity(target.user_capacity_bytes)),
        ("Target", f"{target.name} - {target_kind(run.manifest)}"),
        *simulation_items(run),
        *import_items(run.manifest),
        ("Interface", fact_text(dut, "interface")),
    ]


def failures(run: Run) -> tuple[Verdict, ...]:
    """Each failed I/O with all that is known of it."""
    return tuple(
        Verdict(_failure_sentence(step), "fail")
        for step in run.steps
        if step.sample.state is StepState.FAILED
    )


def _failure_sentence(step: StepRecord) -> str:
    where = capitalised(str(step.place))
    failure = step.sample.failure
    if failure is None:
        return f"{where} ({step.sample.step}) failed; the reason was not recorded."
    what = failure.operation
    if failure.length_bytes:  # a flush has neither length nor place
        what += f" of {failure.length_bytes:,} bytes at offset {failure.offset_bytes:,}"
    return f"{where} ({step.sample.step}): {what} failed: {failure.reason}"
