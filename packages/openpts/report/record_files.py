"""The files that a report rests on, with their checksums: records, single I/Os, plans, descriptions."""

import hashlib
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from openpts.errors import RecordError, failing_as
from openpts.output_files import BATCH_NAME
from openpts.ownership import CLAIM_NAME
from openpts.record.batch import INDEX_NAME, is_batch
from openpts.record.writer import CAPTURE_FOLDER, DATABASE_NAME, INPUT_FOLDER, OUTPUT_FOLDER
from openpts.report.earlier_report import LINE, checksum_of
from openpts.run_folder_files import check_folder, open_file, read_file, write_files

SUMS_NAME: Final = "SHA256SUMS"
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
            _check_folder(folder, path.name)
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


def _check_folder(folder: Path, name: str) -> None:
    """Refuse a link in the place of a folder."""
    with failing_as(RecordError, f"can't read {folder / name}"), suppress(FileNotFoundError):
        check_folder(folder, name)


def _record_file(folder: Path, path: Path) -> RecordFile:
    """A file below a run folder. Raises RecordError for what can't be read, or is a link."""
    name = str(path.relative_to(folder))
    with failing_as(RecordError, f"can't read {path}"), open_file(folder, name) as file:
        digest = hashlib.file_digest(file, "sha256")
        size_bytes = file.tell()
    return RecordFile(folder, name, size_bytes, digest.hexdigest())
