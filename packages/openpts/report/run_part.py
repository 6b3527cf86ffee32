"""One run as a part of a report: its pages, its figures for machines, merging with other runs.

It holds nothing of the run's steps: so it is small, and can be made in another process.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NotRequired, TypedDict

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from openpts.analysis.run_comparison import measured_median
from openpts.errors import RecordError
from openpts.plugins import Kind, calling, first, load, offers
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.header import drive_name, target_kind
from openpts.procedures.kit.judge import the_judge
from openpts.procedures.kit.standing import (
    Standing,
    import_mark,
    red_line_of,
    simulation_mark,
    simulation_name,
)
from openpts.procedures.registry import in_test_order, procedure_of
from openpts.record.manifest import Manifest, RunState
from openpts.record.reader import Run, StepRecord
from openpts.report.run_conditions_page import run_conditions_page
from openpts.report.setup_page import PurposeRow, purpose_rows, setup_page, simulated_time, size_text
from openpts.units import format_capacity
from openpts.vocabulary.facts import TargetFacts
from openpts.vocabulary.limit import JudgedLimit, Judgement
from openpts.vocabulary.sample import StepState
from openpts.vocabulary.verdict import Better, Deviation
from openpts_pages.kit import Required
from openpts_pages.measure import Measured, measure_figures
from openpts_pages.model import Block, Figure, Page, Repeat, Row, Section, Table, Verdict
from openpts_pages.plots.axes import with_aligned_panels
from openpts_pages.texts import capitalised, fact_text


def merged_page(pages: Sequence[tuple[str, Page]]) -> Page:
    """One page of the same page of several runs, each with its run's name; a single one stays as it is.

    Tables with the same id are merged row by row, equal sentences are shown once. Figures and their tables
    belong to one run: they keep its name in their titles and ids.
    """
    first = pages[0][1]
    if len(pages) == 1:
        return first
    names = tuple(name for name, _ in pages)
    merging = _Merging(names)
    for name, page in pages:
        merging.add(name, page)
    return replace(first, blocks=merging.blocks(), mandatory=any(page.mandatory for _, page in pages))


def _with_prefix(block: Block, prefix: str) -> Block:
    match block:
        case Table():
            return replace(block, id=f"{prefix}{block.id}")
        case Figure():
            names = ("id", "table_id", "detail_table_id", "contour_table_id", "zoom_group")
            return replace(
                block, **{name: f"{prefix}{value}" for name in names if (value := getattr(block, name))}
            )
        case Repeat(table_id):
            return Repeat(f"{prefix}{table_id}")
        case _:
            return block


class _Rows(Struct):
    """The rows of a table as the runs came: each with the names of the runs that have it."""

    table: Table
    rows: list[tuple[Row, list[str]]] = field(default_factory=list)

    def add(self, name: str, table: Table) -> None:
        """New rows go beside rows of the same head, otherwise where their run has them."""
        place = 0
        for row in table.rows:
            found = next((n for n, (known, _) in enumerate(self.rows) if known == row), None)
            if found is not None:
                names = self.rows[found][1]
                if name not in names:
                    names.append(name)
                place = found + 1
                continue
            likes = [n for n, (known, _) in enumerate(self.rows) if known.head.text == row.head.text]
            place = likes[-1] + 1 if likes else place
            self.rows.insert(place, (row, [name]))
            place += 1

    def merged(self, all_names: Sequence[str]) -> Table:
        """The table; rows that not all runs have name theirs."""
        rows = []
        for row, names in self.rows:
            of_all = len(names) == len(all_names)
            text = row.head.text if of_all else f"{row.head.text} ({', '.join(names)})"
            rows.append(replace(row, head=replace(row.head, text=text)))
        return replace(self.table, rows=tuple(rows))


class _Merging(Struct):
    """Blocks of pages in the order in which they came; tables by their ids, sentences by their text."""

    all_names: Sequence[str]
    tables: dict[str, _Rows] = field(default_factory=dict)
    sentences: dict[Verdict, list[str]] = field(default_factory=dict)
    order: list[Block | str] = field(default_factory=list)

    def add(self, name: str, page: Page) -> None:
        """Take in the page of one more run."""
        own = {block.table_id for block in page.blocks if isinstance(block, Figure)}
        place = 0
        for block in page.blocks:
            entry: Block | str = block
            match block:
                case Table() if block.id not in own:
                    self.tables.setdefault(block.id, _Rows(block)).add(name, block)
                    entry = block.id
                case Verdict():
                    self.sentences.setdefault(block, []).append(name)
                case Table():
                    entry = replace(_of_run(block, name), title=f"{name}: {block.title}")
                case Figure():
                    entry = replace(_of_run(block, name), number=f"{block.number} {name}")
                case Repeat():
                    entry = _of_run(block, name)
            place = self._placed(entry, place) + 1

    def blocks(self) -> tuple[Block, ...]:
        """What the merged page shows."""
        return tuple(self._block(entry) for entry in self.order)

    def _placed(self, entry: Block | str, place: int) -> int:
        """Where it is; a new one comes behind the blocks that other runs have at this place."""
        if entry in self.order:
            return self.order.index(entry)
        while place < len(self.order) and not isinstance(self.order[place], str):
            place += 1
        self.order.insert(place, entry)
        return place

    def _block(self, entry: Block | str) -> Block:
        if isinstance(entry, str):
            return self.tables[entry].merged(self.all_names)
        if isinstance(entry, Verdict):
            names = self.sentences[entry]
            of_all = len(names) == len(self.all_names)
            return entry if of_all else replace(entry, text=f"{', '.join(names)}: {entry.text}")
        return entry


def _of_run(block: Table | Figure | Repeat, name: str) -> Table | Figure:
    return _with_prefix(block, f"{name.lower().replace(' ', '-')}-")  # type: ignore[return-value]


SCHEMA_OF_RUNS: Final = "openpts.runs/1"


class ComponentFigures(TypedDict):
    """A source of uncertainty: a standard uncertainty in the measure's unit.

    ``degrees_of_freedom`` are None where they are infinite.
    """

    name: str
    standard: float
    degrees_of_freedom: float | None


class UncertaintyFigures(TypedDict):
    """A budget by the GUM, in the measure's unit: ``expanded`` is for 95 %."""

    standard: float
    expanded: float
    coverage_factor: float
    degrees_of_freedom: float | None
    components: list[ComponentFigures]


class MeasureFigures(TypedDict):
    """A measure: ``value`` is None where it is not known, and ``note`` or ``state`` says why.

    ``steady`` says in which round steady state was reached: "N/A" of a measure that is not of it.
    ``uncertainty`` is None where none is stated; ``uncertainty_note`` says why, or in what part
    of its time the host was the limit.
    """

    label: str
    unit: str
    value: float | None
    better: Better
    steady: str
    note: str
    state: str | None
    stands_in: bool
    repeats: Any
    uncertainty: UncertaintyFigures | None
    uncertainty_note: str


class GapFigures(TypedDict):
    """Times without I/O before steps, ns."""

    median: float
    max: float


class RunFigures(TypedDict):
    """What ``--json`` of a run has, of any test; run.schema.json of the manual. A test adds keys of its own.

    ``simulated`` and ``imported`` are the marks of such runs, ``profile`` is enterprise or client.
    ``verdict`` and ``limits`` are there if the run was ordered with a limits file, ``reports`` in what
    commands print: the documents that they made. ``error`` and ``exit_code`` are those of a command that
    ends with one, such as a failed limit.
    """

    schema: Literal["openpts.run/1"]
    simulated: str | None
    imported: str | None
    run: str
    test_id: str
    test: str
    profile: str
    labels: dict[str, str]
    state: RunState
    state_reason: str | None
    target: TargetFacts
    seed: int
    measures: dict[str, MeasureFigures]
    gaps_ns: GapFigures | None
    deviations: list[Deviation]
    verdict: NotRequired[Judgement]
    limits: NotRequired[list[JudgedLimit]]
    reports: NotRequired[list[str]]
    error: NotRequired[str]
    exit_code: NotRequired[int]


class RunsFigures(TypedDict):
    """What ``--json`` of a report on several runs has; ``reports`` are the documents on all of them."""

    schema: Literal["openpts.runs/1"]
    runs: list[RunFigures]
    reports: list[str]


def summarize(run: Run, content: ReportContent | None = None) -> dict[str, Any]:
    """A JSON-ready summary; latencies in ms, gaps in ns, shares in per cent.

    ``content`` is what the run's test adds to its report, where that was made already.
    """
    manifest = run.manifest
    content = content or procedure_of(manifest.conditions.test).report(run)
    gaps = [step.sample.gap_ns or 0 for step in run.with_gaps]
    return {
        "schema": "openpts.run/1",
        "simulated": simulation_mark(manifest.target) or None,
        "imported": import_mark(manifest) or None,
        "run": str(run.folder),
        "test_id": manifest.test_id,
        "test": manifest.conditions.test,
        "profile": manifest.conditions.drive_class,
        "labels": manifest.people.labels,
        "state": manifest.state,
        "state_reason": manifest.state_reason,
        "target": msgspec.to_builtins(manifest.target),
        "seed": manifest.conditions.seed,
        **content.figures(),
        "measures": measure_figures(content.measures),
        **_judged(run, content),
        "gaps_ns": {"median": measured_median(gaps, Better.LOWER), "max": max(gaps)} if gaps else None,
        "deviations": msgspec.to_builtins(run.ledger),
    }


def _judged(run: Run, content: ReportContent) -> dict[str, Any]:
    judge = the_judge()
    return {} if judge is None else judge.part("figures")(run, content)


Applied = tuple[int, int]  # thread count and queue depth


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
    with its place: ``conformance``, ``audit``, ``back``, ``conditions`` for blocks of that page, or an empty
    text for behind it.
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
    """What the judge of the specification finds of the run, with the page on that."""
    judged_by = first(Kind.REQUIREMENTS)
    if judged_by is None:
        return Standing(red_line_of(run), conformant=False, bottom_line=_NOT_JUDGED), ()
    standing, page = judged_by(run)
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
    content, alerts, pages = test.report(run), _alerts(run), tuple(_pages_of_plug_ins(run))
    sections = content.sections(standing, report_date)
    if not _has_own_way(run) and (missing := missing_plots(sections)):
        raise RecordError(
            f"cannot make the report: the specification demands what it lacks: {'; '.join(missing)}"
        )
    stimuli = [stimulus for step in run.steps for stimulus in step.sample.step.stimuli]
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
        applied=tuple(dict.fromkeys((stimulus.tc, stimulus.qd) for stimulus in stimuli)),
        sections=tuple(
            replace(
                with_aligned_panels(_without_optional_pages(section, run)), alerts=(*section.alerts, *alerts)
            )
            for section in sections
        ),
        setup=setup_page(run, report_date),
        conditions=run_conditions_page(
            run,
            content.conditions(),
            [block for at, page in pages if at == "conditions" for block in page.blocks],
        ),
        figures=json.dumps(summarize(run, content)),
        limits=None if judge is None else judge.part("page")(run, content),
        pages=(*(("conformance", page) for page in on_standing), *pages),
    )


def in_order(parts: Sequence[RunPart]) -> tuple[RunPart, ...]:
    """In the order of the specification and after it that of the practice beyond it; like ones are numbered.

    Raises RecordError where there are none, or not of one drive.
    """
    if not parts:
        raise RecordError("cannot make a report: no run is given")
    drives = {_drive(part.manifest): part.folder for part in parts}
    if len(drives) > 1:
        folders = "; ".join(f"{' '.join(drive)} in {folder}" for drive, folder in drives.items())
        raise RecordError(f"cannot make one report of several drives ({folders}): use openpts compare")
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
    sections = []
    for section in part.sections:
        pages = (
            replace(
                page, id=f"{prefix}{page.id}", blocks=tuple(_with_prefix(one, prefix) for one in page.blocks)
            )
            for page in section.pages
        )
        sections.append(replace(section, test=f"{prefix}{section.test}", pages=tuple(pages)))
    return replace(part, name=f"{part.name} {number}", prefix=prefix, sections=tuple(sections))


def _has_own_way(run: Run) -> bool:
    """Whether the test deviates from the specification's: what was not run has no plot."""
    own_rules = f"PTS-{run.manifest.conditions.test.upper()}-"
    return any(entry.rule_id.startswith(own_rules) for entry in run.ledger)


def _without_optional_pages(section: Section, run: Run) -> Section:
    """The section, with its optional pages if the operator requested these."""
    if run.manifest.conditions.secondary_metrics:
        return section
    return replace(section, pages=tuple(page for page in section.pages if page.mandatory))


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


def drive_items(run: Run) -> list[tuple[str, str]]:
    """The drive: name, numbers, size, the kind of target, interface."""
    dut, target, imported = run.manifest.dut, run.manifest.target, run.manifest.imported
    more = [] if imported is None else [("Imported", f"{imported.file}, {imported.form} of {imported.tool}")]
    if simulation := target.simulation:
        text = f"{simulation_name(simulation)}, seed {simulation.seed}: {size_text(simulation)}"
        assumed = f"{len(simulation.assumed)}, see the set-up page"
        more = [("Simulation", text), ("Assumed parameters", assumed), *more]
    return [
        ("Drive", drive_name(run.manifest)),
        ("S/N, firmware", f"{fact_text(dut, 'serial')}, {fact_text(dut, 'firmware')}"),
        ("User capacity", format_capacity(target.user_capacity_bytes)),
        ("Target", f"{target.name} - {target_kind(run.manifest)}"),
        *more,
        ("Interface", fact_text(dut, "interface")),
    ]


def failures(run: Run) -> tuple[Verdict, ...]:
    """Each failed I/O with all that is known of it."""
    failed = (step for step in run.steps if step.sample.state is StepState.FAILED)
    return tuple(Verdict(_failure_sentence(step), "fail") for step in failed)


def _failure_sentence(step: StepRecord) -> str:
    where = capitalised(str(step.place))
    failure = step.sample.failure
    if failure is None:
        return f"{where} ({step.sample.step}) failed; the reason was not recorded."
    what = failure.operation
    if failure.length_bytes:  # a flush has neither length nor place
        what += f" of {failure.length_bytes:,} bytes at offset {failure.offset_bytes:,}"
    return f"{where} ({step.sample.step}): {what} failed: {failure.reason}"
