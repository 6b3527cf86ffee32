"""What an earlier report of the same name has left in its folder, when it is written again.

Files that the new one does not write, say report.html after ``--no-html``, are still valid if its report.json
is the same to the byte: they stay, and SHA256SUMS still lists them. Otherwise they show other values than
the new report, and are removed if they are still what the earlier report wrote.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from openpts.run_folder_files import open_file, read_file, remove_file
from openpts_pages.csv_files import FOLDER

LINE: Final = re.compile(r"([0-9a-f]{64})  (.+)")
"""A line of SHA256SUMS: a checksum, and the name of its file."""


def left_behind(folder: Path, sums: str, name: str, of_data: str, written: Iterable[str]) -> dict[str, str]:
    """Documents and data of the earlier report that the new one does not write, with their checksums.

    The list may come from another lab: only names that a report of this name could have given count, with
    ``of_data`` before those of data. The earlier report.json is always among them.
    """
    try:
        lines = os.fsdecode(read_file(folder, sums)).split("\n")
    except OSError:
        return {}
    own = re.compile(rf"{re.escape(name)}\.(json|html|pdf)|{re.escape(of_data)}{FOLDER}/[^/\0]+\.csv")
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
