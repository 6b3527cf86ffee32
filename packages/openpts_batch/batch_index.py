"""The index page of a batch: what each run found, what failed, and where its report lies."""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from openpts.errors import RecordError, failing_as
from openpts.procedures.kit.standing import red_line_of, simulation_mark
from openpts.procedures.registry import PROCEDURES, procedure_of
from openpts.procedures.shared.outcome_text import reached_text
from openpts.record.batch import INDEX_NAME, Batch, BatchEntry, Suite, counts_text
from openpts.record.decoding import in_visible_lines
from openpts.record.manifest import Manifest, RunState
from openpts.record.reader import Run
from openpts.record.writer import DATABASE_NAME
from openpts.report.cover_page import card_words, headlines
from openpts.report.sources import read_for_report
from openpts.run_folder_files import write_files
from openpts.units import format_count
from openpts.vocabulary.facts import fact_of
from openpts.vocabulary.verdict import SteadyState
from openpts_pages.html import template
from openpts_pages.measure import Measured


class IndexRow(Struct, frozen=True):
    """One run of the page, as far as it has a record; ``manifest`` is None where it has none.

    ``figures`` are names, texts and notes; ``links`` labels with paths.
    """

    manifest: Manifest | None = None
    steady: tuple[str, ...] = ()
    figures: tuple[tuple[str, str, str], ...] = ()
    standing: str = ""
    deviations: tuple[str, ...] = ()
    title: str = ""
    source: str = ""
    state: RunState = RunState.WAITING
    reason: str = ""
    links: tuple[tuple[str, str], ...] = ()
    measures: tuple[Measured, ...] = ()


def write_batch_index(folder: Path, batch: Batch) -> Path:
    """Write index.html beside batch.json, from the records in the folder. Raises RecordError."""
    batch = in_visible_lines(batch, Batch)
    mark, rows = _common_mark([_row(folder, entry, batch) for entry in batch.entries])
    of_kind = _of_drives(batch, rows) if batch.suite is None else _of_suite(batch, batch.suite, rows)
    page = template("batch.html.j2").render(
        mark=mark,
        rows=rows,
        started_at=batch.started_at,
        ended_at=batch.ended_at,
        command=shlex.join(("openpts", *batch.command_line)),
        report_reason=batch.report_reason or "",
        **of_kind,
    )
    with failing_as(RecordError, f"can't write {folder / INDEX_NAME}"):
        write_files(folder, {INDEX_NAME: page.encode()})
    return folder / INDEX_NAME


def _of_suite(batch: Batch, suite: Suite, rows: Sequence[IndexRow]) -> dict[str, object]:
    return {
        "title": f"openpts suite on {suite.target}",
        "heading": f"{suite.revision} suite on {suite.target}",
        "drive": _drive_text(rows),
        "of_each": "Test",
        "counts": "",
        "not_well": (),
        "reports": _first_read(batch.reports),
        "asked": _asked(rows),
    }


def _of_drives(batch: Batch, rows: Sequence[IndexRow]) -> dict[str, object]:
    tests = ", ".join(_title(name) for name in dict.fromkeys(entry.test for entry in batch.entries))
    drives = {(one.target, one.slot, one.serial) for one in (e.request for e in batch.entries)}
    heading = f"{tests} on {format_count(len(drives), 'drive')}"
    return {
        "title": f"openpts batch: {heading}",
        "heading": heading,
        "drive": "; ".join(f"This host limits them: {limit}" for limit in batch.host_limits),
        "of_each": "Drive",
        "counts": counts_text([row.state for row in rows], batch.kind),
        "not_well": tuple(
            (row.title, f"row-{number}")
            for number, row in enumerate(rows, start=1)
            if row.state is not RunState.COMPLETE
        ),
        "reports": (),
        "asked": (),
    }


def _first_read(names: Sequence[str]) -> list[str]:
    """Reports for readers come before those for programs."""
    return sorted(names, key=lambda name: not name.endswith(".html"))


def _asked(rows: Sequence[IndexRow]) -> list[tuple[str, str]]:
    """What a buyer asks of a drive, in words, with the figure: eight at most."""
    found = headlines([row.measures for row in rows])
    return [(card_words(one) or one.label, f"{one.text} {one.unit}") for one in found]


def buyers_lines(folder: Path, batch: Batch) -> list[str]:
    """The same for a terminal, from the records of a suite."""
    found = _asked([_recorded(folder, entry) for entry in batch.entries])
    width = max((len(name) for name, _ in found), default=0)
    return [f"{name:{width}}  {text}" for name, text in found]


def _row(folder: Path, entry: BatchEntry, batch: Batch) -> IndexRow:
    """Of a suite test and source; else drive, and target, slot, and drives beside it that were under load."""
    found, request = _recorded(folder, entry), entry.request
    if batch.suite is not None:
        title, source = _title(entry.test), procedure_of(entry.test).source
    else:
        drive = " ".join(filter(None, (request.model, request.serial)))
        beside = " and ".join(dict.fromkeys(one.slot for one in entry.neighbors))
        where = (
            request.target,
            f"slot {entry.slot}" if entry.slot else "",
            f"under load beside it: slot {beside}" if beside else "",
        )
        title, source = drive or request.target or entry.folder, ", ".join(filter(None, where))
    return replace(
        found,
        title=title,
        source=source,
        state=entry.state,
        reason="; ".join(filter(None, (entry.reason, entry.report_reason))),
        links=tuple(
            (name, f"{entry.folder}/{name}") for name in _first_read(entry.reports) if found.manifest
        ),
    )


def _title(test: str) -> str:
    return PROCEDURES[test].title if test in PROCEDURES else test


def _common_mark(rows: list[IndexRow]) -> tuple[str, list[IndexRow]]:
    """What all that ran are not, once at the head; each row keeps what is its own."""
    standings = {row.standing for row in rows if row.manifest is not None}
    if len(standings) == 1:
        return standings.pop(), [replace(row, standing="") for row in rows]
    marks = {simulation_mark(row.manifest.target) for row in rows if row.manifest is not None}
    if len(marks) != 1 or not (mark := marks.pop()):
        return "", rows
    return mark, [replace(row, standing=row.standing.removesuffix(mark).rstrip(", ")) for row in rows]


def _recorded(folder: Path, entry: BatchEntry) -> IndexRow:
    """Empty for a test that never had a record, or whose record is still being written."""
    if not entry.state.has_ended:
        return IndexRow()
    run_folder = folder / entry.folder
    written = []
    for name in (DATABASE_NAME, f"{DATABASE_NAME}-wal"):
        with suppress(OSError):
            stat = (run_folder / name).stat()
            written.append((name, stat.st_ino, stat.st_mtime_ns, stat.st_size))
    try:
        return _read(run_folder.absolute(), tuple(written))
    except RecordError:
        return IndexRow()


@cache
def _read(folder: Path, _written: tuple[tuple[str, int, int, int], ...]) -> IndexRow:
    """Read once while the record stays as it was written: each change of a batch makes the page again."""
    run = read_for_report(folder)
    measures = procedure_of(run.manifest.conditions.test).report(run).measures
    return IndexRow(
        manifest=run.manifest,
        steady=tuple(_steady_lines(run)),
        figures=tuple(_figures(run, measures)),
        measures=tuple(measures),
        standing=red_line_of(run),
        deviations=tuple(f"{one.rule_id}: required {one.required}; used {one.used}" for one in run.ledger),
    )


def _figures(run: Run, measures: Sequence[Measured]) -> Iterator[tuple[str, str, str]]:
    """The key values but energy; of a run that did not come to its end those that were measured."""
    for one in measures:
        if (
            one.is_key
            and not one.key.startswith("energy.")
            and (one.value is not None or run.manifest.state is RunState.COMPLETE)
        ):
            cell = one.noted_cell
            text = cell.text if one.value is None else f"{cell.text} {one.unit}"
            yield one.label, text, cell.note


def _steady_lines(run: Run) -> Iterator[str]:
    conditions = run.manifest.conditions
    for cycle in run.manifest.cycles:
        text = "not looked for"
        if conditions.steady_state is not SteadyState.NONE:
            text = reached_text(cycle.outcome, conditions)
        yield f"{cycle.title}: {text}" if cycle.title else text


def _drive_text(rows: Sequence[IndexRow]) -> str:
    """Model and serial number as the first record has them."""
    dut = next((row.manifest.dut for row in rows if row.manifest is not None), {})
    return ", serial number ".join(filter(None, (fact_of(dut, key) for key in ("model", "serial"))))
