"""What the pages show and the interface answers: each document is both, so that neither has more."""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, Self

import msgspec
from msgspec import Struct, structs

from openpts.errors import NONSENSE, RecordError
from openpts.ownership import CLAIM_NAME, is_locked
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.registry import procedure_of
from openpts.procedures.shared.outcome_text import reached_text
from openpts.record.batch import is_batch, read_batch
from openpts.record.manifest import Manifest, RunState
from openpts.record.reader import Run, read_manifest, stored_ledger
from openpts.report.setup_page import condition_rows
from openpts.report.sources import read_for_report
from openpts.vocabulary.document import Document
from openpts.vocabulary.facts import Facts
from openpts.vocabulary.limit import JudgedLimit, Judgement
from openpts.vocabulary.verdict import Deviation, SteadyState
from openpts_compare.limits.judge import judged_run
from openpts_compare.limits.limits_file import limit_line
from openpts_compare.runs.flat_rows import labels_of, run_row
from openpts_compare.runs.measured_run import conditions_key
from openpts_pages.measure import Measured
from openpts_pages.texts import NOT_REPORTED, capitalised

_LABEL: Final = "label."
_ABBREVIATED: Final = ("bios", "cpu", "hba", "nand", "pcie")


class Named(Struct, frozen=True):
    """A fact in words."""

    name: str
    value: str


class ShownFigure(Struct, frozen=True):
    """A measure of a run: ``text`` is what a report prints, ``value`` unrounded in ``unit`` or None.

    ``is_key``: runs are compared by it. ``stands_in``: the maximum, in place of a percentile.
    """

    key: str
    label: str
    unit: str
    value: float | None
    text: str = ""
    note: str = ""
    state: str = ""
    better: str = ""
    is_key: bool = True
    stands_in: bool = False

    @classmethod
    def of(cls, one: Measured) -> Self:
        """The measure as a report has it."""
        own = {name: getattr(one, name) for name in cls.__struct_fields__ if name != "better"}
        return cls(**own, better=one.better.value)


class RunSummary(Struct, frozen=True, kw_only=True):
    """A run in the library. ``id`` is made of the place, and the same as long as the run lies there.

    ``place`` is its folder. ``state`` is one of the record's, or ``unreadable`` with the
    ``reason``. ``in_progress``: a process works on it. ``mark`` says what it is not, ``verdict`` is that of
    its limits. ``conditions_sha256`` is the same for runs made under the same conditions of their test.
    ``suite`` is the folder of the suite that a run is a test of. ``answer`` is the first key value, or what a
    run says to its question.
    Times are UTC, ISO 8601.
    """

    id: str
    place: str
    in_progress: bool = False
    run: str
    test: str = ""
    profile: str | None = None
    state: str = "unreadable"
    reason: str = ""
    mark: str | None = None
    simulated: str | None = None
    conformant: str | None = None
    steady: str | None = None
    deviations: int = 0
    started_at: str = ""
    ended_at: str | None = None
    target: str = ""
    model: str | None = None
    serial: str | None = None
    firmware: str | None = None
    host: str = ""
    labels: dict[str, str] = {}
    verdict: Judgement | None = None
    conditions_sha256: str = ""
    answer: str = ""
    suite: str = ""

    @property
    def is_cut_off(self) -> bool:
        """Whether its process has ended without saying so."""
        return self.state == RunState.RUNNING and not self.in_progress


class RunFile(Struct, frozen=True):
    """A file of the run folder that can be downloaded, ``name`` relative to it."""

    name: str
    size_bytes: int


class RunPage(Document, frozen=True, kw_only=True, tag="openpts.web-run/1"):
    """A run with what it measured, under which conditions, and where it deviates."""

    summary: RunSummary
    figures: tuple[ShownFigure, ...] = ()
    steady_states: tuple[Named, ...] = ()
    conditions: tuple[Named, ...] = ()
    drive: tuple[Named, ...] = ()
    machine: tuple[Named, ...] = ()
    ledger: tuple[Deviation, ...] = ()
    limits: tuple[JudgedLimit, ...] = ()
    files: tuple[RunFile, ...] = ()

    @property
    def words(self) -> str:
        """All that a search of full text looks at."""
        one = self.summary
        named = (*self.conditions, *self.drive, *self.machine)
        return " ".join(
            (
                *(value for value in structs.astuple(one) if isinstance(value, str)),
                *(f"{name} {value}" for name, value in one.labels.items()),
                *(each.value for each in named),
                *(f"{each.rule_id} {each.required} {each.used}" for each in self.ledger),
                *map(limit_line, self.limits),
            )
        )


class RunSelection(Document, frozen=True, kw_only=True, tag="openpts.web-runs/1"):
    """Runs that a filter selects: one page of ``count`` in all; ``unread`` are those not looked at yet."""

    count: int
    page: int
    pages: int
    unread: int
    runs: tuple[RunSummary, ...]


def id_of(place: str) -> str:
    """The name of a run in addresses: it says nothing of the place, and leads to no other."""
    return hashlib.blake2b(place.encode(errors="surrogateescape"), digest_size=8).hexdigest()


def page_of_folder(folder: Path) -> RunPage:
    """All of a run folder; of a run in progress what its manifest says, so that reading costs it nothing.

    What can't be read is said in the summary.
    """
    own: dict[str, Any] = {"id": id_of(str(folder)), "place": str(folder), "suite": _suite_of(folder)}
    in_progress = is_in_progress(folder)
    try:
        manifest = read_manifest(folder)
        if in_progress and manifest.state is RunState.RUNNING:
            run = Run(folder=folder, manifest=manifest, steps=(), ledger=stored_ledger(folder))
            return _page(run, (), own | {"in_progress": True, "conformant": None, "steady": None})
        run = read_for_report(folder)
        content = procedure_of(run.manifest.conditions.test).report(run)
        judged = judged_run(run, content)
        page = _page(run, tuple(map(ShownFigure.of, content.measures)), own | _answer(run, content))
    except NONSENSE as error:
        return RunPage(summary=RunSummary(**own, run=folder.name, reason=str(error)))
    if judged is None or not judged.judged:
        return page
    summary = structs.replace(page.summary, verdict=judged.verdict)
    return structs.replace(page, summary=summary, limits=judged.judged)


def _suite_of(folder: Path) -> str:
    """The folder of the suite that a run is a test of; empty for any other run."""
    try:
        is_test = is_batch(folder.parent) and read_batch(folder.parent).suite is not None
    except RecordError:
        return ""
    return str(folder.parent) if is_test else ""


def _answer(run: Run, content: ReportContent) -> dict[str, str]:
    """Of a run that was asked a question of its own: the word of its verdict, and the question."""
    question = run.manifest.conditions.question
    if not question or not content.verdicts:
        return {}
    word = content.verdicts[0].text.removeprefix(question).partition(":")[0].strip()
    return {"answer": f"{word}: {question}"}


def is_in_progress(folder: Path) -> bool:
    """Whether a process works on the run."""
    try:
        return is_locked(folder / CLAIM_NAME)
    except RecordError:
        return False


def _page(run: Run, figures: tuple[ShownFigure, ...], own: dict[str, Any]) -> RunPage:
    manifest = run.manifest
    labels = {name.removeprefix(_LABEL): str(value) for name, value in labels_of(run).items()}
    known: dict[str, Any] = {
        name: value for name, value in run_row(run).items() if name in RunSummary.__struct_fields__
    }
    more: dict[str, Any] = {
        "reason": manifest.state_reason or "",
        "host": manifest.host_name,
        "labels": labels,
        "conditions_sha256": hashlib.sha256(conditions_key(run).encode()).hexdigest(),
        "answer": answer_of(figures),
    }
    return RunPage(
        summary=msgspec.convert(known | more | own, RunSummary),
        figures=figures,
        steady_states=tuple(_steady_states(manifest)),
        conditions=tuple(Named(label, text) for _, label, text in condition_rows(manifest.conditions)),
        drive=tuple(_facts(manifest.dut)),
        machine=tuple(_facts(manifest.host | manifest.software)),
        ledger=run.ledger,
    )


def answer_of(figures: Iterable[ShownFigure]) -> str:
    """The first key value that was measured, as a list of runs has room for it."""
    found = next((one for one in figures if one.is_key and one.value is not None), None)
    return "" if found is None else f"{found.label}: {found.text} {found.unit}".rstrip()


def _facts(facts: Facts) -> Iterator[Named]:
    for name, fact in facts.items():
        words = [word.upper() if word in _ABBREVIATED else word for word in name.split("_")]
        yield Named(capitalised(" ".join(words)), fact.value or NOT_REPORTED)


def _steady_states(manifest: Manifest) -> Iterator[Named]:
    conditions = manifest.conditions
    for cycle in manifest.cycles:
        is_judged = conditions.steady_state is not SteadyState.NONE
        text = reached_text(cycle.outcome, conditions) if is_judged else "not looked for"
        yield Named(cycle.title or "Steady state", text)
