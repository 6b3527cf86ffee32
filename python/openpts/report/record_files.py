"""The files of run folders with their checksums: what a report was made from."""

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final

from openpts.errors import RecordError
from openpts.folder_files import check_folder, open_file
from openpts.record.writer import CAPTURE_FOLDER, DATABASE_NAME
from openpts.report.files_page import RecordFile
from openpts.report.printable import printable
from openpts.report.run_part import RunPart

# The log beside the database is there only of a run that was killed, or that still goes on.
_PATTERNS: Final = (DATABASE_NAME, f"{DATABASE_NAME}-wal", "**/*.parquet")


def record_files(parts: Sequence[RunPart]) -> list[RecordFile]:
    """Database and captures of each run; of several runs, under their test IDs. Raises RecordError."""
    for part in parts:
        _check_captures(part.folder)
    files = [
        (f"{part.manifest.test_id}/" if len(parts) > 1 else "", part.folder, path)
        for part in parts
        for pattern in _PATTERNS
        for path in sorted(part.folder.glob(pattern))
        if path.lstat().st_size  # an empty log comes and goes with those who read
    ]
    with ThreadPoolExecutor() as threads:  # checksums of large files let go of the interpreter
        return list(threads.map(lambda file: _record_file(*file), files))


def _check_captures(folder: Path) -> None:
    """They lie in the folder itself, where there are any: a link there is not passed over in silence."""
    try:
        with suppress(FileNotFoundError):
            check_folder(folder, CAPTURE_FOLDER)
    except OSError as error:
        raise RecordError(f"can't read {folder / CAPTURE_FOLDER}: {error.strerror}") from error


def _record_file(prefix: str, folder: Path, path: Path) -> RecordFile:
    name = str(path.relative_to(folder))
    try:
        with open_file(folder, name) as file:
            digest = hashlib.file_digest(file, "sha256")
            size_bytes = file.tell()
    except OSError as error:
        raise RecordError(f"can't read {path}: {error.strerror}") from error
    return RecordFile(printable(f"{prefix}{name}"), size_bytes, digest.hexdigest())
