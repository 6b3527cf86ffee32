"""Outputs that an operator names: never among the files of another run, never over what is no such output.

All of them go through here, whatever command writes them, and no option changes that.
"""

import os
import re
import stat
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from openpts.errors import UsageError
from openpts.run_folder_files import open_file, write_files

RECORD_NAME: Final = "run.db"
"""What makes a folder that of a run."""
BATCH_NAME: Final = "batch.json"
"""What makes a folder that of a suite or a batch."""

# what each kind of output has at its head, or of a PDF near its end
_KINDS: Final = tuple(
    re.compile(head, re.DOTALL)
    for head in (
        rb"<\?xml [^>]*\?>\s*<testsuite name=\"openpts\b",
        rb"\s*<!doctype html>.{1,300}<meta name=\"generator\" content=\"openpts\">",
        rb"%PDF-.*/Author ?\(openpts\)",
        rb"\{\s*\"schema_version\": ?\d+,\s*\"title\":",
        rb"\{\s*\"schema\": ?\"openpts\.runs?/1\",",
        rb"(?:# [^\n]*\n){1,3}?# [^\n]* \[[a-z0-9_.-]+\]\r?\n",  # a table of a report
        rb"# HELP openpts_",
        rb"(?:run,test,profile,|\d{4}-\d{8}T\d{6}Z-[^,\n]+,)",  # a row for each run
        rb"PAR1",
        rb"[0-9a-f]{64}  [^\n]+\n",
    )
)
_HEAD_BYTES: Final = 1 << 16
_TAIL_BYTES: Final = 1 << 22
"""A PDF ends with 20 bytes for each of its objects, of which the report of a suite has tens of thousands."""


def refuse_run_folder(place: Path, own: Collection[Path] = ()) -> None:
    """Raise UsageError for a file or a folder at, or below, the folder of a run, a suite or a batch.

    Those in ``own`` may be written to: the output is theirs.
    """
    mine = {folder.resolve() for folder in own}
    above = place.resolve()
    for folder in (above, *above.parents):
        if folder in mine:
            return
        # one that can't be read is refused by what writes there
        if any(os.path.lexists(folder / name) for name in (RECORD_NAME, BATCH_NAME)):
            raise UsageError(f"can't write {place}: {folder} has the record of a run; name another place")


def refuse_other_kind(path: Path, content: bytes) -> None:
    """Raise UsageError where a file is there that openpts did not make as this kind of output."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return  # which is refused by what writes there
        with open_file(path.parent, path.name) as file:
            found = file.read(_HEAD_BYTES)
            if (size_bytes := os.fstat(file.fileno()).st_size) > len(found):
                file.seek(max(len(found), size_bytes - _TAIL_BYTES))
                found += file.read(_TAIL_BYTES)
    except OSError:
        return  # likewise
    if found and not any(kind.match(content) and kind.match(found) for kind in _KINDS):
        raise UsageError(
            f"can't write {path}: what is there is no such output of openpts; name another, or remove it"
        )


def write_outputs(
    folder: Path, files: Mapping[str, bytes], own: Collection[Path] = (), *, lasting: bool = False
) -> None:
    """Write files into a folder, which is made if it is not there. Raises OSError.

    Raises UsageError for the folder of a run but those in ``own``, and over files of another kind elsewhere.
    """
    refuse_run_folder(folder, own)
    if folder.resolve() not in {one.resolve() for one in own}:
        for name, content in files.items():
            refuse_other_kind(folder / name, content)
    folder.mkdir(parents=True, exist_ok=True)
    write_files(folder, files, lasting=lasting)
