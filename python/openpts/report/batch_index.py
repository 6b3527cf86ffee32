"""The index page of a batch: what each drive did, what failed, and where its report lies."""

import shlex
from pathlib import Path

from openpts.procedures.registry import PROCEDURES
from openpts.record.batch import Batch, BatchEntry, counts_text
from openpts.record.decoding import in_visible_lines
from openpts.record.suite import SuiteState
from openpts.report.suite_index import common_mark, found_of_entry, index_row, write_index
from openpts.units import format_count


def write_batch_index(folder: Path, batch: Batch) -> Path:
    """Write index.html beside batch.json, from the records in the folder. Raises RecordError."""
    batch = in_visible_lines(batch, Batch)
    records = [found_of_entry(folder, entry) for entry in batch.entries]
    rows = [
        index_row(_title(entry), _where(entry), entry, record)
        for entry, record in zip(batch.entries, records, strict=True)
    ]
    mark, rows = common_mark(rows, records)
    names = dict.fromkeys(entry.request.test_words[0] for entry in batch.entries)
    tests = ", ".join(PROCEDURES[name].title if name in PROCEDURES else name for name in names)
    heading = f"{tests} on {format_count(len(batch.entries), 'drive')}"
    not_well = tuple(
        (row.title, f"row-{number}")
        for number, row in enumerate(rows, start=1)
        if row.state is not SuiteState.COMPLETE
    )
    return write_index(
        folder,
        mark=mark,
        rows=rows,
        title=f"openpts batch: {heading}",
        heading=heading,
        drive="; ".join(f"This host limits them: {limit}" for limit in batch.host_limits),
        of_each="Drive",
        counts=counts_text(batch.entries),
        not_well=not_well,
        started_at=batch.started_at,
        ended_at=batch.ended_at,
        command=shlex.join(("openpts", *batch.command_line)),
        reports=tuple(
            str(path.relative_to(folder)) for path in sorted((folder / "population").glob("population.[hp]*"))
        ),
        report_reason="",
    )


def _title(entry: BatchEntry) -> str:
    request = entry.request
    return (
        " ".join(word for word in (request.model, request.serial) if word) or request.target or entry.folder
    )


def _where(entry: BatchEntry) -> str:
    """Target and slot, and which drives beside it were under load meanwhile."""
    words = [entry.request.target or "", f"slot {entry.slot}" if entry.slot else ""]
    beside = dict.fromkeys(one.slot for one in entry.neighbours)
    words.append(f"under load beside it: slot {' and '.join(beside)}" if beside else "")
    return ", ".join(filter(None, words))
