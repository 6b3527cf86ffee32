"""A stored report and its files against the record: built again, and by their checksums."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final

import msgspec
from msgspec import Struct

from openpts.errors import RecordError, failing_as
from openpts.escaped_text import visible_line
from openpts.ownership import CLAIM_NAME
from openpts.record.decoding import decode_json, other_version
from openpts.record.writer import DATABASE_NAME, EVENTS_NAME, LOG_NAME
from openpts.report.record_files import (
    FIGURES_NAME,
    LINE,
    RECORD_PATTERNS,
    SUITE_FILES,
    SUMS_NAME,
    RecordFile,
    checksum_of,
    names_in,
)
from openpts.report.sources import ReportSource
from openpts.report.write import REPORT_NAME, ReportOptions, figures_document, make_report
from openpts.run_folder_files import read_file
from openpts.schema_words import in_words
from openpts_pages.csv_files import FOLDER, csv_name
from openpts_pages.measure import Style
from openpts_pages.model import SCHEMA_VERSION, Report
from openpts_pages.plots.worker_processes import worker_processes


class Difference(Struct, frozen=True):
    """A place of the report, as ``sections[0].pages[3].blocks[1].rows[2].cells[0].value``, and both values.

    None for a value that one of them lacks.
    """

    place: str
    stored: Any
    derived: Any


def differences(
    stored: Report, source: ReportSource, figures: Any = None
) -> tuple[list[Difference], list[RecordFile]]:
    """The places where the stored report differs from one that is built from the record, and its files.

    So do those of its ``figures``, where it has them. Raises RecordError if the record can't be read.
    """
    options = ReportOptions(
        paper=stored.paper,
        style=Style(stored.style),
        redact=stored.redacted,
        for_customer=stored.for_customer,
        report_date=stored.report_date,
    )
    with worker_processes() as workers:
        derived, files, of_runs = make_report(source, options, workers, kept=False)
    found = list(_compared("", msgspec.to_builtins(stored), msgspec.to_builtins(derived)))
    if figures is not None:
        found += _compared(FIGURES_NAME, figures, figures_document(of_runs))
    return found, files


def stored_figures(report_json: Path) -> Any:
    """The figures beside a report, as JSON has them; None where there are none that can be read."""
    try:
        return json.loads(read_file(report_json.parent, f"{_own(report_json)}{FIGURES_NAME}"))
    except OSError:
        return None
    except ValueError:
        return "no JSON"


def _own(report_json: Path) -> str:
    """What names of a report's files begin with that has a name of its own."""
    return "" if report_json.stem == REPORT_NAME else f"{report_json.stem}-"


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


_DOCUMENTS: Final = (".json", ".html", ".pdf")
# SQLite makes it again whenever a record with a log is opened
_SHARED_MEMORY: Final = f"{DATABASE_NAME}-shm"


def file_faults(report_json: Path, report: Report, files: Sequence[RecordFile] = ()) -> list[str]:
    """What is wrong with the files of a report, a line each: changed, missing, or in no list.

    ``files`` are those of its runs. Where they are beside the report, or below it in a suite, the whole
    folder is looked through. A report.json without files beside it, such as one that was sent, has nothing
    wrong.
    """
    folder, stem = report_json.parent, report_json.name.removesuffix(".json")
    own = _own(report_json)
    sums = SUMS_NAME if not own else f"{stem}.{SUMS_NAME}"
    record = names_in(folder, files)
    tables = [f"{own}{csv_name(table)}" for table in report.tables().values()]
    documents = [*(f"{stem}{ending}" for ending in _DOCUMENTS), f"{own}{FIGURES_NAME}"]
    expected = dict.fromkeys([*documents, *tables], "") | record
    # unlike pathlib, os.path takes a damaged name, such as one of 2,000 characters, as that of no file
    found = [name for name in expected if os.path.exists(folder / name)]  # noqa: PTH110
    found += _strays(folder / f"{own}{FOLDER}", expected)
    try:
        lines = _lines(folder, sums)
    except FileNotFoundError:
        alone = found in ([], [report_json.name])
        return [] if alone else [f"{sums} is missing: changes of the other files can't be found"]
    except OSError as error:
        return [f"{sums} can't be read: {error}"]
    faults = dict(_faults(folder, sums, lines, expected, found))
    if record:
        faults = faults | dict(_faults_of_others(folder, sums, record)) | faults
    return list(faults.values())


def _strays(folder: Path, expected: Mapping[str, str]) -> list[str]:
    """CSV files in the data folder that belong to no table of the report."""
    names = sorted(f"{folder.name}/{path.name}" for path in folder.glob("*.csv"))
    return [name for name in names if name not in expected]


def _faults(
    folder: Path, sums: str, lines: Sequence[str], expected: Mapping[str, str], found: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Names, and what is wrong with each; ``expected`` has checksums that are known already."""
    listed: set[str] = set()
    for number, line in enumerate(lines, start=1):
        match = LINE.fullmatch(line)
        name = match[2] if match else ""
        if match is None or name in listed or not (name in expected or _is_of_a_record(name)):
            of_line = f"{sums}: line {number}"
            yield of_line, f"{of_line} does not belong to this report: {visible_line(line[:200])}"
            continue
        listed.add(name)
        if fault := _fault(folder, sums, name, match[1], expected):
            yield name, fault
    yield from ((name, f"{visible_line(name)} is not in {sums}") for name in found if name not in listed)


def _is_of_a_record(name: str) -> bool:
    """Whether ``name`` is a record's file: the record may have been moved away since the list was made."""
    path = PurePosixPath(name)
    patterns = (*RECORD_PATTERNS, *SUITE_FILES)
    return not path.is_absolute() and ".." not in path.parts and any(path.match(one) for one in patterns)


def _fault(folder: Path, sums: str, name: str, checksum: str, known: Mapping[str, str]) -> str:
    if not os.path.isfile(folder / name):  # noqa: PTH113 likewise
        return f"{visible_line(name)} is missing: {sums} lists it"
    if (known.get(name) or checksum_of(folder, name)) != checksum:
        return f"{visible_line(name)} was changed: {sums} has another checksum"
    return ""


_GROWING: Final = frozenset({EVENTS_NAME, LOG_NAME})
"""Files of runs that are in no list: they grow when the report is made, and it rests on none of them."""


def _faults_of_others(folder: Path, own_sums: str, record: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Files of other reports in the folder that are not those of their lists, and what is in no list."""
    listed = {own_sums, CLAIM_NAME}  # a suite's grows with each resumption; that of a run is in its list
    listed.update(match[2] for line in _lines(folder, own_sums) if (match := LINE.fullmatch(line)))
    there = [str(path.relative_to(folder)) for path in sorted(folder.rglob("*"))]
    for sums in (name for name in there if name.endswith(SUMS_NAME) and name != own_sums):
        listed.add(sums)
        try:
            lines = _lines(folder, sums)
        except OSError as error:
            yield sums, f"{visible_line(sums)} can't be read: {error}"
            continue
        matches = [match for line in lines if (match := LINE.fullmatch(line))]
        if len(matches) < len(lines) or _report_of(sums) not in {match[2] for match in matches}:
            yield sums, f"{visible_line(sums)} is no list of the files of a report"
        for match in matches:
            place = str(PurePosixPath(sums).parent / match[2])
            listed.add(place)
            if fault := _fault(folder, sums, place, match[1], record):
                yield place, fault
    yield from (
        (name, f"{visible_line(name)} is in no list of checksums")
        for name in there
        if name not in listed and PurePosixPath(name).name not in _GROWING and _counts(folder / name)
    )


def _report_of(sums: str) -> str:
    """The report that has the list."""
    name = PurePosixPath(sums).name
    return f"{REPORT_NAME if name == SUMS_NAME else name.removesuffix(f'.{SUMS_NAME}')}.json"


def _lines(folder: Path, sums: str) -> list[str]:
    """Lines of a list, whose names need not be text. Raises OSError."""
    *lines, rest = os.fsdecode(read_file(folder, sums)).split("\n")
    return [*lines, f"{rest} (cut off)"] if rest else lines


def _counts(path: Path) -> bool:
    """Whether it is anything that has to be in a list: no folder, and nothing that comes and goes."""
    if path.is_symlink():
        return True
    if path.is_dir() or path.name == _SHARED_MEMORY:
        return False
    return not (path.name == f"{DATABASE_NAME}-wal" and path.lstat().st_size == 0)
