"""Reports of run folders, to lie beside the pages of a library."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from openpts.errors import RecordError, UsageError, failing_as
from openpts.record.reader import read_manifest
from openpts.report.sources import run_folders_of
from openpts.run_folder_files import read_file
from openpts_web.publish.sources import Library


class _Model(Struct, frozen=True):
    """What has to be known of a ``report.json``."""

    redacted: bool


def reports_of(paths: Sequence[Path], library: Library) -> dict[str, bytes]:
    """The reports of run folders, by the IDs of their runs.

    Raises UsageError for a run that is not in the library, or whose report says more than the library does,
    RecordError where there is no report.
    """
    names = ("run", "redacted")
    redacted = dict(zip(*(library.runs[name].to_pylist() for name in names), strict=True))
    found: dict[str, bytes] = {}
    for folder in run_folders_of(paths):
        run = read_manifest(folder).test_id
        if run not in redacted:
            raise UsageError(
                f"{folder} is the run {run}, which is in none of the archives: add it to one first"
            )
        with failing_as(RecordError, f"can't read the report of {folder}", "`openpts report` makes one"):
            found[run] = read_file(folder, "report.html")
            model = msgspec.json.decode(read_file(folder, "report.json"), type=_Model)
        if redacted[run] and not model.redacted:
            raise UsageError(
                f"the report of {folder} has the serial numbers that the archive leaves out: "
                f"`openpts report {folder} --redact` makes one without them"
            )
    return found
