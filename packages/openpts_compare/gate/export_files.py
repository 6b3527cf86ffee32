"""Exports as files, where the operator wants them."""

from collections.abc import Mapping
from pathlib import Path

from openpts.errors import RecordError, UsageError, failing_as
from openpts.output_files import write_outputs


def write_export(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a folder, which is made if it is not there. Raises RecordError.

    Raises UsageError for ``-``, which elsewhere means standard output, and would be a file of that name here.
    """
    if "-" in files:
        raise UsageError("- is no place for this output: name a file")
    with failing_as(RecordError, f"can't write the export into {folder}"):
        write_outputs(folder, files)
