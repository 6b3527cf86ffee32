"""The files that a report rests on, with their checksums; their page; what an earlier report left."""

import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from openpts.errors import RecordError, failing_as
from openpts.escaped_text import visible_line
from openpts.output_files import BATCH_NAME
from openpts.ownership import CLAIM_NAME
from openpts.record.batch import INDEX_NAME, is_batch
from openpts.record.writer import CAPTURE_FOLDER, DATABASE_NAME, INPUT_FOLDER, OUTPUT_FOLDER
from openpts.run_folder_files import check_folder, open_file, read_file, remove_file, write_files
from openpts_pages.csv_files import FOLDER, csv_name
from openpts_pages.kit import rows_table
from openpts_pages.model import Cell, Page, Report, Verdict

LINE: Final = re.compile(r"([0-9a-f]{64})  (.+)")
"""A line of SHA256SUMS: a checksum, and the name of its file."""

SUMS_NAME: Final = "SHA256SUMS"
FIGURES_NAME: Final = "figures.json"


def left_behind(folder: Path, sums: str, name: str, of_data: str, written: Iterable[str]) -> dict[str, str]:
    """Documents and data of the earlier report that the new one does not write, with their checksums.

    The list may come from another lab: only names that a report of this name could have given count, with
    ``of_data`` before those of data. The earlier report.json is always among them.
    """
    try:
        lines = os.fsdecode(read_file(folder, sums)).split("\n")
    except OSError:
        return {}
    data = rf"{re.escape(of_data)}({FIGURES_NAME}|{FOLDER}/[^/\0]+\.csv)"
    own = re.compile(rf"{re.escape(name)}\.(json|html|pdf)|{data}")
    listed = {match[2]: match[1] for line in lines if (match := LINE.fullmatch(line))}
    new = set(written) - {f"{name}.json"}
    return {
        file: checksum
        for file, checksum in listed.items()
        if own.fullmatch(file) and file not in new and os.path.lexists(folder / file)
    }


def remove_unchanged(folder: Path, files: Mapping[str, str]) -> list[str]:
    """Remove each that still has its checksum, and return their names. Raises OSError."""
    unchanged = [name for name, checksum in files.items() if checksum_of(folder, name) == checksum]
    for name in unchanged:
        remove_file(folder, name)
    return unchanged


def checksum_of(folder: Path, name: str) -> str:
    """SHA-256; empty where the file can't be read, or is reached by a link, which no checksum is."""
    try:
        with open_file(folder, name) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


_LOG_NAME: Final = f"{DATABASE_NAME}-wal"
RECORD_PATTERNS: Final = (
    DATABASE_NAME,
    _LOG_NAME,  # only of a run that was killed, or is still in progress
    CLAIM_NAME,
    f"{INPUT_FOLDER}/*",
    f"{CAPTURE_FOLDER}*/*",  # one for each attempt at the run
    f"{OUTPUT_FOLDER}/*",
)
SUITE_FILES: Final = (BATCH_NAME, INDEX_NAME)


class RecordFile(Struct, frozen=True):
    """A file of a run folder; ``name`` is relative to it."""

    folder: Path
    name: str
    size_bytes: int
    sha256: str


def record_files(folders: Sequence[Path]) -> list[RecordFile]:
    """What belongs to the records of run folders. Raises RecordError for what can't be read, or is a link."""
    for folder in folders:
        for path in (*folder.glob(f"{CAPTURE_FOLDER}*"), folder / INPUT_FOLDER, folder / OUTPUT_FOLDER):
            with failing_as(RecordError, f"can't read {folder / path.name}"), suppress(FileNotFoundError):
                check_folder(folder, path.name)
    files = [
        (folder, path)
        for folder in folders
        for pattern in RECORD_PATTERNS
        for path in sorted(folder.glob(pattern))
        # an empty log comes and goes with those who read
        if path.lstat().st_size or path.name != _LOG_NAME
    ]
    with ThreadPoolExecutor() as threads:  # checksums of large files let go of the interpreter
        return list(threads.map(lambda file: _record_file(*file), files))


def names_in(home: Path, files: Sequence[RecordFile]) -> dict[str, str]:
    """Checksums by the names that the list of a report in ``home`` has: of its own run, or its suite's runs.

    A suite's own files are among them. A report that is elsewhere has none of them in its list.
    """
    here, is_suite = home.resolve(), is_batch(home)
    found: dict[str, str] = {}
    for file in files:
        folder = file.folder.resolve()
        if folder == here:
            found[file.name] = file.sha256
        elif is_suite and folder.parent == here:
            found[f"{folder.name}/{file.name}"] = file.sha256
    of_suite = SUITE_FILES if is_suite and found else ()
    return found | {name: checksum for name in of_suite if (checksum := checksum_of(home, name))}


def renew_suite_checksums(folder: Path) -> None:
    """Enter the suite's files as they are now in the lists of the reports on all tests, if there are any.

    Raises RecordError.
    """
    for sums in sorted(path.name for path in folder.glob(f"*{SUMS_NAME}")):
        with failing_as(RecordError, f"can't write {folder / sums}"):
            *lines, _ = os.fsdecode(read_file(folder, sums)).split("\n")
            named = [(line, match[2] if (match := LINE.fullmatch(line)) else "") for line in lines]
            renewed = [
                f"{checksum_of(folder, name)}  {name}\n" if name in SUITE_FILES else f"{line}\n"
                for line, name in named
            ]
            write_files(folder, {sums: os.fsencode("".join(renewed))})


def _record_file(folder: Path, path: Path) -> RecordFile:
    """A file below a run folder. Raises RecordError for what can't be read, or is a link."""
    name = str(path.relative_to(folder))
    with failing_as(RecordError, f"can't read {path}"), open_file(folder, name) as file:
        digest = hashlib.file_digest(file, "sha256")
        size_bytes = file.tell()
    return RecordFile(folder, name, size_bytes, digest.hexdigest())


def files_page(report: Report, files: Sequence[RecordFile], test_ids: Mapping[Path, str]) -> Page:
    """What the report was made from, and where its tables are as data.

    Of several runs each file is named under the test ID of its folder.
    """
    several = len(test_ids) > 1
    record = rows_table(
        "files-record",
        "Files of the record",
        "File:< | Bytes:0.5 | SHA-256:<2",
        (
            (
                visible_line(f"{test_ids[file.folder]}/{file.name}" if several else file.name),
                Cell(f"{file.size_bytes:,}", float(file.size_bytes)),
                file.sha256,
            )
            for file in files
        ),
    )
    data = rows_table(
        "files-data",
        "Tables and plotted series as data",
        "File:<1.2 | Table:<2 | Rows:0.4",
        (
            (csv_name(table), table.title, Cell(f"{len(table.rows):,}", float(len(table.rows))))
            for table in report.tables().values()
        ),
        printed=not several,
        note="Comma-separated, UTF-8, full precision; lines that begin with # describe the data.",
    )
    text = (
        "openpts verify derives all figures of this report again from the record. SHA256SUMS beside "
        "the report has the checksums of its files."
    )
    return Page("files", "Files", (Verdict(text), *((record,) if files else ()), data))
