"""A snapshot that is a file of its own to read: a command's words, a report's pages."""

from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode


class Transcript(SingleFileSnapshotExtension):
    _write_mode = WriteMode.TEXT
    file_extension = "txt"
