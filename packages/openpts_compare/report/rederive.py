"""Compares a stored report.json with the record: builds the report again and names every difference."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from openpts.errors import RecordError, failing_as
from openpts.record.decoding import decode_json, other_version
from openpts.report.record_files import RecordFile
from openpts.report.sources import ReportSource
from openpts.report.write import ReportOptions, make_report
from openpts.run_folder_files import read_file
from openpts.schema_words import in_words
from openpts_pages.model import SCHEMA_VERSION, Report
from openpts_pages.plots.worker_processes import worker_processes
from openpts_pages.style import Style


class Difference(Struct, frozen=True):
    """A place of the report, as ``sections[0].pages[3].blocks[1].rows[2].cells[0].value``, and both values.

    None for a value that one of them lacks.
    """

    place: str
    stored: Any
    derived: Any


def differences(stored: Report, source: ReportSource) -> tuple[list[Difference], list[RecordFile]]:
    """The places where the stored report differs from one that is built from the record, and its files.

    Raises RecordError if the record can't be read.
    """
    options = ReportOptions(
        paper=stored.paper, style=Style(stored.style), redact=stored.redacted, report_date=stored.report_date
    )
    with worker_processes() as workers:
        derived, files, _ = make_report(source, options, workers, kept=False)
    return list(_compared("", msgspec.to_builtins(stored), msgspec.to_builtins(derived))), files


def read_report(path: Path) -> Report:
    """A report that was stored as JSON. Raises RecordError if it is none, or of another schema version."""
    below = sorted(path.parent.glob(f"*/{path.name}"))  # of a batch, whose drives have a report each
    such = f", such as {below[0].parent}" if below else ""
    with failing_as(
        RecordError, f"can't read {path}", f"name a report.json or the folder that holds it{such}"
    ):
        plain: Any = decode_json(read_file(path.parent, path.name), Any)
    version = plain.get("schema_version") if isinstance(plain, dict) else None
    if version != SCHEMA_VERSION:
        raise other_version(
            path, "report", version, SCHEMA_VERSION, remedy="write it again with `openpts report`"
        )
    try:
        report = msgspec.convert(plain, type=Report)
        msgspec.convert(report.style, type=Style)
    except msgspec.ValidationError as error:
        raise RecordError(f"{path} is not a report: {in_words(error)}") from error
    return report


def _compared(place: str, stored: Any, derived: Any) -> Iterator[Difference]:
    if isinstance(stored, dict) and isinstance(derived, dict):
        for key in dict.fromkeys((*stored, *derived)):
            yield from _compared(f"{place}.{key}" if place else key, stored.get(key), derived.get(key))
    elif isinstance(stored, list | tuple) and isinstance(derived, list | tuple):
        for n in range(max(len(stored), len(derived))):
            yield from _compared(f"{place}[{n}]", _nth(stored, n), _nth(derived, n))
    elif stored != derived:
        yield Difference(place, stored, derived)


def _nth(values: Any, n: int) -> Any:
    return values[n] if n < len(values) else None
