"""Listeners: events in a run's folder, outputs of a command, and a thread for what may block."""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Final, TypeVar

from msgspec import Struct

from openpts.hooks import Concern
from openpts.record.writer import EVENTS_NAME
from openpts.run_folder_files import open_file, open_to_append
from openpts.runner.event_lines import ProgramStarted, PurgeProgressed
from openpts.runner.event_stream import EventStream
from openpts.runner.events import Event, Listener, RunPaused, RunStarted, Ticked

_LONGEST_LINE: Final = 1 << 20
LISTENERS: Final = "openpts.cli.folder_events.listeners"
"""The key, in a command's context, of those that its options ask for."""


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
    _say(f"{folder / EVENTS_NAME} is incomplete, the run itself is not: {why}")


def _say(text: str) -> None:
    sys.stderr.write(f"openpts: {text}\n")


def publish(event: Event) -> None:
    """Give an event to what the command's options ask for; to none outside of one that has these options."""
    click = sys.modules.get("click")  # a run from Python has no command, and needs no parser of one
    context = click.get_current_context(silent=True) if click else None
    for on_event in () if context is None else context.meta.get(LISTENERS, ()):
        on_event(event)


class Outputs(Concern):
    """What other programs read of a run, by the options of the command that it is of."""

    def on_event(self, event: Event) -> None:
        """Give it to them."""
        publish(event)


_Event = TypeVar("_Event")

# Of a display that is so far behind, the latest progress is of no use.
_MOST_WAITING: Final = 100
_PATIENCE_S: Final = 2.0
_PATIENCE_WITH_READERS_S: Final = 20.0


@contextmanager
def background_listener(
    shown: AbstractContextManager[Callable[[_Event], None]],
    *,
    name: str = "",
    patience_s: float | None = None,
) -> Iterator[Callable[[_Event], None]]:
    """Yield a listener that returns at once. At the end all is shown, unless the display is stuck.

    ``name``: what other programs read, such as ``--events FILE``. A reader may be slow, and what is missing
    where it is stuck is reported. Stuck is who does nothing for ``patience_s``.
    """
    events = SimpleQueue[_Event | None]()
    clock = SimpleQueue[int]()

    def show() -> None:
        clock.put(time.pthread_getcpuclockid(threading.get_ident()))
        with shown as on_event:
            while (event := events.get()) is not None:
                on_event(event)

    def put(event: _Event) -> None:
        of_run = getattr(event, "event", event)  # what a batch says of one of its runs
        if not (isinstance(of_run, Ticked | PurgeProgressed | RunPaused) and events.qsize() > _MOST_WAITING):
            events.put(event)

    thread = threading.Thread(target=show, name="display", daemon=True)
    thread.start()
    patience_s = patience_s or (_PATIENCE_WITH_READERS_S if name else _PATIENCE_S)
    try:
        yield put
    finally:
        events.put(None)
        if not _ended(thread, clock.get(), patience_s) and name:
            lost = f"its reader took nothing for {patience_s:g} s"
            _say(f"{name} is incomplete: {lost}")


def _ended(thread: threading.Thread, clock: int, patience_s: float) -> bool:
    """Wait until the thread has ended, or does nothing any more: what it works takes processor time."""
    used_s = -1.0
    while thread.is_alive():
        try:
            now_s = time.clock_gettime(clock)
        except OSError:  # it ended just now
            break
        if now_s == used_s:
            return False
        used_s = now_s
        thread.join(patience_s)
    return True
