"""The index page of a batch: what each run found, what failed, and where its report lies."""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

import jinja2
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
from openpts.report.sources import read_for_report
from openpts.run_folder_files import write_files
from openpts.units import format_count
from openpts.vocabulary.verdict import SteadyState
from openpts_pages.html import TEMPLATES


class IndexRow(Struct, frozen=True):
    """One run of the page. ``figures`` are names, texts and notes; ``links`` labels with paths."""

    title: str
    source: str
    state: RunState
    reason: str
    steady: tuple[str, ...] = ()
    figures: tuple[tuple[str, str, str], ...] = ()
    standing: str = ""
    deviations: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = ()


class Found(Struct, frozen=True):
    """What the page has of a record."""

    manifest: Manifest
    steady: tuple[str, ...]
    figures: tuple[tuple[str, str, str], ...]
    standing: str
    deviations: tuple[str, ...]


def write_batch_index(folder: Path, batch: Batch) -> Path:
    """Write index.html beside batch.json, from the records in the folder. Raises RecordError."""
    batch = in_visible_lines(batch, Batch)
    records = [_found_of_entry(folder, entry) for entry in batch.entries]
    rows = [
        _index_row(*_words(entry, batch), entry, record)
        for entry, record in zip(batch.entries, records, strict=True)
    ]
    mark, rows = _common_mark(rows, records)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    of_kind = _of_drives(batch, rows) if batch.suite is None else _of_suite(batch, batch.suite, records)
    page = environment.get_template("batch.html.j2").render(
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


def _of_suite(batch: Batch, suite: Suite, records: Sequence[Found | None]) -> dict[str, object]:
    """What the page says of several tests on one drive."""
    return {
        "title": f"openpts suite on {suite.target}",
        "heading": f"{suite.revision} suite on {suite.target}",
        "drive": _drive_text(records),
        "of_each": "Test",
        "counts": "",
        "not_well": (),
        "reports": batch.reports,
    }


def _of_drives(batch: Batch, rows: Sequence[IndexRow]) -> dict[str, object]:
    """What the page says of several drives."""
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
    }


def _words(entry: BatchEntry, batch: Batch) -> tuple[str, str]:
    """Of a suite test and source; else drive, and target, slot, and drives beside it that were under load."""
    request = entry.request
    if batch.suite is not None:
        return _title(entry.test), procedure_of(entry.test).source
    drive = " ".join(filter(None, (request.model, request.serial)))
    beside = " and ".join(dict.fromkeys(one.slot for one in entry.neighbors))
    where = (
        request.target,
        f"slot {entry.slot}" if entry.slot else "",
        f"under load beside it: slot {beside}" if beside else "",
    )
    return drive or request.target or entry.folder, ", ".join(filter(None, where))


def _title(test: str) -> str:
    return PROCEDURES[test].title if test in PROCEDURES else test


def _common_mark(rows: list[IndexRow], records: Sequence[Found | None]) -> tuple[str, list[IndexRow]]:
    """What all that ran are not, once at the head; each row keeps what is its own."""
    standings = {record.standing for record in records if record is not None}
    if len(standings) == 1:
        return standings.pop(), [replace(row, standing="") for row in rows]
    marks = {simulation_mark(record.manifest.target) for record in records if record is not None}
    if len(marks) != 1 or not (mark := marks.pop()):
        return "", rows
    return mark, [replace(row, standing=row.standing.removesuffix(mark).rstrip(", ")) for row in rows]


def _found_of_entry(folder: Path, entry: BatchEntry) -> Found | None:
    """None for a test that never had a record, or whose record is still being written."""
    if not entry.state.has_ended:
        return None
    run_folder = folder / entry.folder
    written = []
    for name in (DATABASE_NAME, f"{DATABASE_NAME}-wal"):
        with suppress(OSError):
            stat = (run_folder / name).stat()
            written.append((name, stat.st_ino, stat.st_mtime_ns, stat.st_size))
    try:
        return _found(run_folder.absolute(), tuple(written))
    except RecordError:
        return None


@cache
def _found(folder: Path, _written: tuple[tuple[str, int, int, int], ...]) -> Found:
    """Read once while the record stays as it was written: each change of a batch makes the page again."""
    run = read_for_report(folder)
    return Found(
        manifest=run.manifest,
        steady=tuple(_steady_lines(run)),
        figures=tuple(_figures(run)),
        standing=red_line_of(run),
        deviations=tuple(f"{one.rule_id}: required {one.required}; used {one.used}" for one in run.ledger),
    )


def _index_row(title: str, source: str, entry: BatchEntry, record: Found | None) -> IndexRow:
    """The row of a run that has these words in its first column."""
    reason = "; ".join(word for word in (entry.reason, entry.report_reason) if word)
    if record is None:
        return IndexRow(title, source, entry.state, reason)
    return IndexRow(
        title=title,
        source=source,
        state=entry.state,
        reason=reason,
        steady=record.steady,
        figures=record.figures,
        standing=record.standing,
        deviations=record.deviations,
        links=tuple((name, f"{entry.folder}/{name}") for name in entry.reports),
    )


def _figures(run: Run) -> Iterator[tuple[str, str, str]]:
    """The key values; of a run that did not come to its end those that were measured."""
    for one in procedure_of(run.manifest.conditions.test).report(run).measures:
        if one.is_key and (one.value is not None or run.manifest.state is RunState.COMPLETE):
            cell = one.noted_cell
            text = cell.text if one.value is None else f"{cell.text} {one.unit}"
            yield one.label, text, cell.note


def _steady_lines(run: Run) -> list[str]:
    lines = []
    for cycle in run.manifest.cycles:
        outcome = cycle.outcome
        conditions = run.manifest.conditions
        looked_for = conditions.steady_state is not SteadyState.NONE
        text = reached_text(outcome, conditions) if looked_for else "not looked for"
        lines.append(f"{cycle.title}: {text}" if cycle.title else text)
    return lines


def _drive_text(records: Sequence[Found | None]) -> str:
    """Model and serial number as the first record has them."""
    for record in records:
        if record is not None:
            dut = record.manifest.dut
            words = [dut[key].value for key in ("model", "serial") if key in dut]
            return ", serial number ".join(word for word in words if word)
    return ""
