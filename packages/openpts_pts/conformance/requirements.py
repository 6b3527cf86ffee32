"""`openpts verify --requirements`: a run against each requirement and guide, as a table or JSON."""

import sys
import tomllib
from collections.abc import Collection, Container, Mapping, Sequence
from enum import StrEnum
from functools import cache
from importlib import resources
from pathlib import Path
from typing import IO, Final, Self

import click
import msgspec
from msgspec import Struct
from msgspec.structs import asdict
from rich.console import Console
from rich.table import Table
from rich.text import Text

from openpts.cli.console import table_console
from openpts.cli.standard_streams import print_document
from openpts.errors import RecordError
from openpts.record.manifest import Manifest
from openpts.record.possible import refuse_impossible
from openpts.record.reader import Run, read_run
from openpts.report.sources import run_folders_of
from openpts.vocabulary.document import Document, Failure, filled
from openpts_host.advice.advice import Advice, Grade
from openpts_host.advice.table import ADVICE
from openpts_pts.conformance.catalogue import GUIDES, SECTION_TITLES, Level, by_id
from openpts_pts.conformance.conformance import (
    CHECKS,
    Conformance,
    conformance_of,
    count_line,
    counts_by_level,
    missing,
    proofs,
)
from openpts_pts.conformance.conformance_page import finding_text
from openpts_pts.evidence.evidence import Evidence
from openpts_pts.evidence.finding import (
    STATUS_TITLES,
    Finding,
    Status,
    all_of,
    built_in,
    deviated,
    met,
    not_applicable,
    unverified,
)


class GuideStatus(StrEnum):
    """How a requirement of a guide is shown, or why it is not."""

    CHECKED = "checked"
    BUILT_IN = "built in"
    OPERATOR = "left to the operator"
    OUTSIDE = "outside"
    MISSING = "not met"


class Practice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One requirement: ``clause`` is its place in the guide, ``text`` what it asks, in openpts' words.

    ``like`` are requirements of the specification that ask the same, and whose checks are its own. One of the
    others may say why it is not shown, or, ``partly``, what of it is not.
    """

    clause: str
    text: str
    like: tuple[str, ...] = ()
    operator: str = ""
    outside: str = ""
    missing: str = ""
    partly: str = ""

    @property
    def tests(self) -> tuple[str, ...]:
        """The tests whose records show it; empty for all."""
        bound = [set(by_id()[id_].tests) for id_ in self.like]
        return tuple(sorted(set.intersection(*bound))) if bound else ()

    @property
    def note(self) -> str:
        """Why it is not shown, or not as a whole."""
        return self.operator or self.outside or self.missing or self.partly


@cache
def practices(guide: str) -> dict[str, Practice]:
    """The requirements of a guide by their IDs, in its order."""
    file = resources.files("openpts_pts.conformance") / "guides" / f"{guide}.toml"
    return msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), dict[str, Practice])


@cache
def all_practices() -> dict[str, Practice]:
    """The requirements of all guides by their IDs."""
    return {id_: practice for guide in GUIDES for id_, practice in practices(guide).items()}


def settings_of(id_: str) -> tuple[Advice, ...]:
    """The settings of the host audit that a requirement is about, as far as the audit judges them."""
    return tuple(one for one in ADVICE if id_ in one.requirements and one.suits is not None)


def answer_of(id_: str, proven: Mapping[str, object]) -> GuideStatus:
    """How a requirement is shown, where ``proven`` has those that named tests prove."""
    practice = all_practices()[id_]
    answers = {
        GuideStatus.OPERATOR: practice.operator,
        GuideStatus.OUTSIDE: practice.outside,
        GuideStatus.MISSING: practice.missing,
        GuideStatus.CHECKED: practice.like,
        GuideStatus.BUILT_IN: id_ in proven,
    }
    otherwise = GuideStatus.CHECKED if settings_of(id_) else GuideStatus.MISSING
    return next((answer for answer, holds in answers.items() if holds), otherwise)


def findings(run: Run, guide: str) -> dict[str, Finding]:
    """What the run shows of each requirement of a guide."""
    evidence = Evidence(run)
    return {id_: _finding(id_, practice, run, evidence) for id_, practice in practices(guide).items()}


def _finding(id_: str, practice: Practice, run: Run, evidence: Evidence) -> Finding:
    match answer_of(id_, proofs()):
        case GuideStatus.CHECKED if practice.like:
            return _like(practice, evidence)
        case GuideStatus.CHECKED:
            return _settings(settings_of(id_), run)
        case GuideStatus.BUILT_IN:
            return built_in(proofs()[id_], practice.note)
        case GuideStatus.OUTSIDE:
            return not_applicable(practice.note)
        case answer:
            return unverified(f"{answer}: {practice.note or 'openpts has no check and no test for it'}")


def _like(practice: Practice, evidence: Evidence) -> Finding:
    if evidence.test not in practice.tests:
        return not_applicable(f"is about {', '.join(test.upper() for test in practice.tests)}")
    return all_of(missing(evidence, by_id()[id_].needs) or CHECKS[id_](evidence) for id_ in practice.like)


def _settings(settings: tuple[Advice, ...], run: Run) -> Finding:
    """Met if no setting is wrong for the run's scenario, as the host audit found them before the run."""
    scenario, known = run.manifest.scenario, []
    if run.manifest.target.simulation is not None or scenario is None:
        return not_applicable("a simulated drive has no host, and an imported run no scenario")
    for advice in settings:
        fact = run.manifest.host_before.get(advice.key)
        value = None if fact is None else fact.value
        if advice.grade(value, scenario) is Grade.BAD:
            return deviated(f"{advice.title}: {advice.wanted(scenario)}", str(value))
        known += [] if value is None else [f"{advice.title}: {value}"]
    return met("; ".join(known)) if known else unverified("the host does not report it")


_STYLES: Final = {
    Status.MET: "green",
    Status.DEVIATED: "red",
    Status.BUILT_IN: "cyan",
    Status.UNVERIFIED: "yellow",
    Status.NOT_REACHED: "yellow",
    Status.NOT_APPLICABLE: "dim",
}


_MOST_LINES: Final = 10


def print_conformance(
    stream: IO[str],
    manifest: Manifest,
    everything: Sequence[Conformance],
    shown: Sequence[Conformance],
    *,
    in_full: bool = False,
) -> None:
    """The verdict, then what deviates in ten lines; or ``in_full`` a table for each section, and counts."""
    console = table_console(stream)
    conditions = manifest.conditions
    if not conditions.of_specification:
        console.print(
            f"{manifest.test_id}: {conditions.test.upper()} is not part of the specification: no "
            "requirement binds it, and nothing in it can be conformant"
        )
        return
    console.print(f"{manifest.test_id}: {conditions.test.upper()} after {conditions.drive_class.revision}")
    console.print(count_line(everything))
    if not in_full:
        _print_deviations(console, shown)
        return
    for section, title in SECTION_TITLES.items():
        rows = [c for c in shown if c.requirement.section == section]
        if rows:
            console.print()
            console.print(Text(title, style="bold"))
            console.print(_table(rows))
    console.print()
    console.print(_counts_table(everything))


def _print_deviations(console: Console, shown: Sequence[Conformance]) -> None:
    deviating = [each for each in shown if each.status is Status.DEVIATED]
    rows = deviating[: _MOST_LINES - 3]  # the title, the verdict and the last line are there as well
    for each in rows:
        text = f"{each.requirement.id}: {finding_text(each.finding)}"
        console.print(Text(text), no_wrap=True, overflow="ellipsis")
    more = f"{len(deviating) - len(rows)} more deviate; " if len(deviating) > len(rows) else ""
    console.print(f"{more}-v lists all requirements")


class _Found(Struct, frozen=True, kw_only=True):
    id: str
    text: str
    status: Status
    required: str
    used: str
    note: str
    tests: tuple[str, ...]


class FoundPractice(_Found, frozen=True, kw_only=True):
    """A requirement of a guide with its finding."""

    @classmethod
    def of(cls, id_: str, text: str, finding: Finding) -> Self:
        """What a run shows of it."""
        return cls(id=id_, text=text, **asdict(finding))


class FoundRequirement(_Found, frozen=True, kw_only=True):
    """A requirement of the specification with its finding."""

    level: Level
    clause: str
    section: str

    @classmethod
    def of(cls, each: Conformance) -> Self:
        """What a run shows of it."""
        return filled(cls, each.requirement, **asdict(each.finding))


class ConformanceDocument(Document, frozen=True, kw_only=True, tag="openpts.conformance/1"):
    """The same for machines; ``counts`` are of all requirements by status and level, whatever is shown.

    ``revision`` is None for a test beyond the specification.
    """

    test_id: str
    test: str
    revision: str | None
    counts: dict[Status, dict[Level, int]]
    requirements: tuple[FoundRequirement, ...]

    @classmethod
    def by(cls, manifest: Manifest, everything: Sequence[Conformance], shown: Sequence[Conformance]) -> Self:
        """Of all that was found, and what of it is shown."""
        conditions = manifest.conditions
        return cls(
            test_id=manifest.test_id,
            test=conditions.test,
            revision=conditions.drive_class.revision if conditions.of_specification else None,
            counts=counts_by_level(everything),
            requirements=tuple(map(FoundRequirement.of, shown)),
        )


class GuideDocument(Document, frozen=True, kw_only=True, tag="openpts.conformance-guide/1"):
    """What a run shows of a guide's requirements."""

    test_id: str
    guide: str
    requirements: tuple[FoundPractice, ...]


class ConformanceRuns(Document, frozen=True, kw_only=True, tag="openpts.conformance-runs/1"):
    """What the runs of a suite or a batch show, each as if it were named alone."""

    runs: tuple[ConformanceDocument | GuideDocument | Failure, ...]


def _counts_table(everything: Sequence[Conformance]) -> Table:
    """How many stand how; what is built in or not verifiable is no part of what is met."""
    table = Table(box=None, pad_edge=False)
    table.add_column("All requirements")
    for level in Level:
        table.add_column(level, justify="right")
    for status, by_level in counts_by_level(everything).items():
        table.add_row(
            Text(STATUS_TITLES[status], style=_STYLES[status]), *(str(count) for count in by_level.values())
        )
    return table


def _table(rows: Sequence[Conformance]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    for width in (13, 6, 14):
        table.add_column(width=width, no_wrap=True)
    table.add_column(ratio=5)
    table.add_column(ratio=6, overflow="fold")
    table.expand = True
    for each in rows:
        requirement, style = each.requirement, _STYLES[each.status]
        table.add_row(
            Text(requirement.id),
            Text(requirement.level),
            Text(each.status, style=style),
            Text(f"{requirement.text} [{requirement.clause}]"),
            Text(finding_text(each.finding), style=style if each.status is Status.DEVIATED else ""),
        )
    return table


def _guided(run: Run, guide: str, statuses: Container[Status], *, as_json: bool) -> GuideDocument:
    """The requirements of a guide with these statuses, printed unless ``as_json``."""
    shown = {id_: found for id_, found in findings(run, guide).items() if found.status in statuses}
    texts = practices(guide)
    rows = tuple(FoundPractice.of(id_, texts[id_].text, one) for id_, one in shown.items())
    document = GuideDocument(test_id=run.manifest.test_id, guide=guide, requirements=rows)
    if as_json:
        return document
    table = Table(box=None, pad_edge=False, show_header=False, expand=True)
    for width in (13, 14):
        table.add_column(width=width, no_wrap=True)
    table.add_column(ratio=5)
    table.add_column(ratio=6, overflow="fold")
    for id_, found in shown.items():
        style, practice = _STYLES[found.status], texts[id_]
        text = Text(f"{practice.text} [{practice.clause}]")
        table.add_row(Text(id_), Text(found.status, style=style), text, Text(finding_text(found)))
    console = table_console(sys.stdout)
    console.print(f"{run.manifest.test_id}: {GUIDES[guide]}\n")
    console.print(table)
    return document


def print_requirements(
    named: Path,
    *,
    guide: str | None,
    statuses: Collection[Status],
    levels: Collection[str],
    verbose: bool,
    as_json: bool,
) -> None:
    """Print the requirements with these statuses and levels; without any, what deviates.

    ``verbose`` has all but what is not applicable.
    ``named`` is a run folder, or that of a suite or a batch for each of its runs. With a guide, its
    requirements stand in place of the specification's. Raises RecordError for what can't be judged.
    """
    in_full = bool(verbose or statuses or levels)
    statuses = statuses or set(Status) - {Status.NOT_APPLICABLE}
    found: list[ConformanceDocument | GuideDocument | Failure] = []
    unread: list[RecordError] = []
    folders = run_folders_of([named])
    for number, folder in enumerate(folders):
        if number and not as_json:
            click.echo()
        try:
            run = read_run(folder)
            refuse_impossible(run)
            if guide is not None:
                found.append(_guided(run, guide, statuses, as_json=as_json))
            else:
                found.append(_judged(run, statuses, levels, in_full=in_full, as_json=as_json))
        except RecordError as error:
            if folder == named:
                raise
            unread.append(error)
            found.append(Failure(error=str(error), exit_code=error.exit_code))
            if not as_json:
                click.echo(error)
    failure = None
    if unread:
        failure = RecordError(f"{len(unread)} of {len(folders)} runs of {named} can't be judged: {unread[0]}")
    if as_json:
        print_document(found[0] if folders == (named,) else ConformanceRuns(runs=tuple(found)), failure)
    if failure is not None:
        raise failure


def _judged(
    run: Run, statuses: Container[Status], levels: Collection[str], *, in_full: bool, as_json: bool
) -> ConformanceDocument:
    """The requirements of the specification with these statuses and levels, printed unless ``as_json``."""
    everything = conformance_of(run)
    shown = [
        each
        for each in everything
        if each.status in statuses and (not levels or each.requirement.level in levels)
    ]
    if not as_json:
        print_conformance(sys.stdout, run.manifest, everything, shown, in_full=in_full)
    return ConformanceDocument.by(run.manifest, everything, shown)
