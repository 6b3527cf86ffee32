"""Words that tests hold beside them, in ``__snapshots__``: a command's, an error's, a report's pages."""

from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

Golden = SnapshotAssertion


class Transcript(SingleFileSnapshotExtension):
    """A snapshot that is a file of its own to read."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"
