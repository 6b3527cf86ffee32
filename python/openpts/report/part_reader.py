"""Reads run folders and makes their parts of a report, on as many processors as there are.

Reading and judging a run of a day takes seconds of a processor's time, and the runs of a suite have nothing
to do with each other: other processes take some of them, and send back the parts that they made. Nobody
knows how long a record takes, so that whoever is done takes the next, the largest first.
"""

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

import msgspec

from openpts.errors import RecordError
from openpts.plots.helper_signals import end_with_the_report, held_back
from openpts.record.writer import DATABASE_NAME
from openpts.report.run_part import RunPart, part_of
from openpts.report.tests import read_for_report

_MOST_PROCESSES: Final = 4
_FAILED: Final = b"F"
_PART: Final = b"P"
_END: Final = b"E"
_TURN_BYTES: Final = 2  # a pipe holds 64 KiB: numbers of more folders than a report can be of

Begin = Callable[[RunPart], None]


def _nothing() -> None:
    """Nobody waits."""


def read_parts(
    folders: Sequence[Path], report_date: str, begin: Begin, when_begun: Callable[[], None] = _nothing
) -> list[RunPart]:
    """The part of each run folder, in their order; ``begin`` hears of each as soon as it is made.

    ``when_begun`` is called when the other processes are there: what starts threads has to wait until then.
    Raises RecordError as reading a record and making a part do.
    """
    turns = _Turns(sorted(folders, key=_size_bytes, reverse=True))
    with _elsewhere(_process_count(len(folders)) - 1, turns, report_date) as elsewhere:
        when_begun()
        parts = []
        for folder in turns:
            parts.append(_as_from_elsewhere(part_of(read_for_report(folder), report_date)))
            begin(parts[-1])
        for future in elsewhere:
            for part in future.result():
                parts.append(part)
                begin(part)
    places = {str(folder): place for place, folder in enumerate(folders)}
    return sorted(parts, key=lambda part: places[part.folder])


def _as_from_elsewhere(part: RunPart) -> RunPart:
    """On the way between processes whole numbers become fractions where the model wants these: 5 and 5.0 are
    equal, and other bytes. Who made a part must not be seen in a report.
    """
    return msgspec.msgpack.decode(msgspec.msgpack.encode(part), type=RunPart)


def _process_count(folders: int) -> int:
    """A process with threads is not forked: what they hold at that moment would be held for ever."""
    if threading.active_count() > 1:
        return 1
    return max(1, min(len(os.sched_getaffinity(0)), folders, _MOST_PROCESSES))


class _Turns:
    """Folders, each of which one of several processes gets: who is forked takes from the same.

    Their numbers wait in a pipe, where a read is one process's alone, and nobody has to hold a lock that
    would be lost with it.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders
        self._next, waiting = os.pipe()
        with os.fdopen(waiting, "wb") as numbers:
            numbers.writelines(number.to_bytes(_TURN_BYTES) for number in range(len(folders)))

    def __iter__(self) -> Iterator[Path]:
        while number := os.read(self._next, _TURN_BYTES):
            yield self._folders[int.from_bytes(number)]

    def end(self) -> None:
        """What nobody has begun stays undone: where a process failed, the others need not go on."""
        for _ in self:
            pass
        os.close(self._next)


def _size_bytes(folder: Path) -> int:
    try:
        return (folder / DATABASE_NAME).stat().st_size
    except OSError:  # reading it says why
        return 0


@contextmanager
def _elsewhere(count: int, turns: _Turns, report_date: str) -> Iterator[list[Future[list[RunPart]]]]:
    """What each of so many other processes sends; all are gone at the end."""
    context = multiprocessing.get_context("fork")  # what is loaded here need not be loaded again
    processes, ends = [], []
    for _ in range(count):
        receiving, sending = context.Pipe(duplex=False)
        ends.append(receiving)
        process = context.Process(
            target=_another_process, args=(turns, report_date, sending, tuple(ends)), daemon=True
        )
        with held_back():
            process.start()
        sending.close()
        processes.append(process)
    try:
        with ThreadPoolExecutor(max(1, len(ends)), thread_name_prefix="openpts-parts") as threads:
            try:
                yield [threads.submit(_received, end) for end in ends]
            finally:
                turns.end()  # before anybody is waited for
    finally:
        for process in processes:
            process.join()


def _another_process(
    folders: Iterable[Path], report_date: str, sending: Connection, not_its_own: Sequence[Connection]
) -> None:
    """All that such a process does.

    It lets go of the ends that the report reads from: else there would be one who reads when the report was
    killed, and this process would wait for that one, itself.
    """
    end_with_the_report()
    for end in not_its_own:
        end.close()
    _send_parts(folders, report_date, sending)


def _send_parts(folders: Iterable[Path], report_date: str, sending: Connection) -> None:
    """The part of one folder after the other, until none is left or one can't be read."""
    try:
        for folder in folders:
            part = part_of(read_for_report(folder), report_date)
            sending.send_bytes(_PART + msgspec.msgpack.encode(part))
        sending.send_bytes(_END)
    except RecordError as error:
        sending.send_bytes(_FAILED + str(error).encode())


def _received(end: Connection) -> list[RunPart]:
    """All that a process sends. Raises RecordError with its words, or if it ended by itself."""
    parts: list[RunPart] = []
    with end:
        while True:
            try:
                message = end.recv_bytes()
            except EOFError:
                raise RecordError("a process that read records ended by itself; see what it wrote") from None
            kind, content = message[:1], message[1:]
            if kind == _END:
                return parts
            if kind == _FAILED:
                raise RecordError(content.decode())
            parts.append(msgspec.msgpack.decode(content, type=RunPart))
