"""Parts of reports that are kept: to read and judge a run takes most of the time of its report.

A part is kept under the digest of all that it depends on: each file of the record, its place, the report's
date, and every file of openpts itself. A test of another package's has its part made each time.
"""

import hashlib
import os
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

import openpts
from openpts.kept_files import KeptKind
from openpts.plugins import Kind, offers
from openpts.report.record_files import RecordFile

PARTS: Final = KeptKind("parts", most_bytes=200_000_000)


def part_digest(folder: Path, test: str, report_date: str, files: Sequence[RecordFile]) -> str | None:
    """Digest of all that the part of a run folder depends on; None where no part of it is to be kept."""
    offer = offers(Kind.PROCEDURE).get(test)
    if PARTS.folder is None or (offer is not None and not offer.package.is_own):
        return None
    digest = _all_else().copy()
    of_record = [f"{file.name} {file.sha256}" for file in files]
    digest.update("\0".join([os.fsdecode(folder), report_date, *of_record]).encode(errors="surrogateescape"))
    return digest.hexdigest()


@cache
def _all_else() -> "hashlib._Hash":
    """Digest of openpts: of each of its files where it is, how large, and when it was changed."""
    digest = hashlib.sha256(sys.version.encode())
    home = Path(openpts.__file__).parent.parent
    for package in sorted(home.glob("openpts*")):
        for path in sorted(package.rglob("*")):
            if path.suffix != ".pyc":
                status = path.lstat()
                digest.update(f"{path} {status.st_size} {status.st_mtime_ns}\0".encode())
    return digest
