"""The events of a run in its folder: what viewers read while it is in progress, and after it was cut off."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import click
from msgspec import Struct

from openpts.record.writer import EVENTS_NAME
from openpts.run_folder_files import open_file, open_to_append
from openpts.runner.event_stream import EventStream
from openpts.runner.events import Event, Listener, ProgramStarted, RunStarted

_LONGEST_LINE: Final = 1 << 20


class _Place(Struct):
    """Where the lines of one run go: whole ones, or none of a line that the disk has no room for."""

    folder: Path
    fd: int
    lost: int = 0
    why: str = ""

    def write(self, line: bytes) -> None:
        """Append a line; never raises."""
        try:
            written = os.write(self.fd, line)
            if written < len(line):
                os.ftruncate(self.fd, os.fstat(self.fd).st_size - written)
                self.lost, self.why = self.lost + 1, "no space left"
        except OSError as error:
            self.lost, self.why = self.lost + 1, error.strerror or str(error)


class _FolderEvents:
    """The file of the run in progress. A suite has a run after the other, each with its own."""

    def __init__(self) -> None:
        self._stream = EventStream(self._write, samples=False)  # the record has them, at the same time
        self._program: ProgramStarted | None = None
        self._place: _Place | None = None

    def on_event(self, event: Event) -> None:
        """Append what the event says, if a run has its folder."""
        if isinstance(event, ProgramStarted):
            self._program = event
        elif isinstance(event, RunStarted):
            self.close()
            self._place = _opened(event.folder)
            if self._program is not None:
                self._stream.on_event(self._program)
        if self._place is not None:
            self._stream.on_event(event)

    def close(self) -> None:
        """Say what is missing of the last run's file."""
        if self._place is not None:
            os.close(self._place.fd)
            if self._place.lost:
                _warn(self._place.folder, f"{self._place.lost} lines are missing: {self._place.why}")
        self._place = None

    def _write(self, line: bytes) -> None:
        if self._place is not None:
            self._place.write(line)


@contextmanager
def folder_events() -> Iterator[Listener]:
    """A listener that appends lines to the folder of each run that it hears of; it never ends one."""
    events = _FolderEvents()
    try:
        yield events.on_event
    finally:
        events.close()


def _opened(folder: Path) -> _Place | None:
    """Behind the last whole line: a power cut may have left the beginning of one."""
    try:
        end = _end_of_lines(folder)
        fd = open_to_append(folder, EVENTS_NAME)
        if end < os.fstat(fd).st_size:
            os.ftruncate(fd, end)
    except OSError as error:
        _warn(folder, error.strerror or str(error))
        return None
    return _Place(folder, fd)


def _end_of_lines(folder: Path) -> int:
    with suppress(FileNotFoundError), open_file(folder, EVENTS_NAME) as file:
        start = max(0, os.fstat(file.fileno()).st_size - _LONGEST_LINE)
        file.seek(start)
        return start + file.read().rfind(b"\n") + 1
    return 0


def _warn(folder: Path, why: str) -> None:
    click.echo(f"openpts: {folder / EVENTS_NAME} is incomplete, the run itself is not: {why}", err=True)
