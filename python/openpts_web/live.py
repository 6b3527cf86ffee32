"""A run in progress as server-sent events: the lines of its events file, each with its end as the id.

A reader that comes again with the last id that it has goes on with the next line, so that it misses none and
gets none twice, also after the run was killed and resumed: the file is appended to. The run itself is not
asked for anything, and does not know of its viewers.
"""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from anyio import sleep
from msgspec import Struct
from starlette.concurrency import run_in_threadpool

from openpts.record.writer import EVENTS_NAME
from openpts.run_folder_files import open_file
from openpts_web.documents import is_in_progress

_LOOK_S: Final = 0.5
_ALIVE_S: Final = 15.0
_PIECE_BYTES: Final = 256 * 1024
_RECENT_BYTES: Final = 128 * 1024
_OFTEN: Final = (b'{"kind":"progress"', b'{"kind":"sample"')
"""Lines of each second and of each interval: a page draws the latest alone."""


class Piece(Struct, frozen=True):
    """Whole lines of the file, each with the offset of its end; ``again`` where the file is another one."""

    lines: tuple[tuple[int, bytes], ...]
    end: int
    again: bool = False


def has_events(folder: Path) -> bool:
    """Whether a run writes its events."""
    return (folder / EVENTS_NAME).is_file()


def next_piece(folder: Path, after: int, *, only_recent: bool = False) -> Piece:
    """The lines behind an offset, at most so many bytes of them; half a line waits for its end.

    An offset that is not behind a line, or beyond the end, is of another file: it is read from its beginning.
    With ``only_recent`` what comes each second is left out where it is old. Raises OSError.
    """
    with open_file(folder, EVENTS_NAME) as file:
        size = os.fstat(file.fileno()).st_size
        again = after > size
        if after and not again:
            file.seek(after - 1)
            again = file.read(1) != b"\n"
        begin = 0 if again else after
        file.seek(begin)
        content = file.read(_PIECE_BYTES)
        while b"\n" not in content and (more := file.read(_PIECE_BYTES)):
            content += more
    lines: list[tuple[int, bytes]] = []
    end = begin
    for line in content.splitlines(keepends=True):
        if not line.endswith(b"\n"):
            break
        end += len(line)
        is_old = only_recent and end < size - _RECENT_BYTES and line.startswith(_OFTEN)
        if not is_old:
            lines.append((end, line.rstrip(b"\r\n")))
    return Piece(tuple(lines), end, again)


async def event_stream(
    folder: Path, after: int, *, only_recent: bool = False, is_over: Callable[[], bool] = lambda: False
) -> AsyncIterator[bytes]:
    """The stream: lines as messages, ``state`` when a process begins or ceases to work on the run.

    ``again`` tells a reader to forget what it has. Only the server's end is one: a run can be resumed.
    """
    was_in_progress: bool | None = None
    silent_s = 0.0
    yield b"retry: 1000\n\n"
    while not is_over():
        with suppress(OSError):  # not there yet, or no more
            piece = await run_in_threadpool(next_piece, folder, after, only_recent=only_recent)
            if piece.again:
                yield b"event: again\ndata: {}\n\n"
            if piece.lines:
                yield b"".join(b"id: %d\ndata: %s\n\n" % line for line in piece.lines)
                silent_s = 0.0
            if piece.end > after or piece.again:
                after = piece.end
                continue
        in_progress = await run_in_threadpool(is_in_progress, folder)
        if in_progress is not was_in_progress:
            was_in_progress = in_progress
            words = b"true" if in_progress else b"false"
            yield b'event: state\ndata: {"in_progress":%s}\n\n' % words
        await sleep(_LOOK_S)
        silent_s += _LOOK_S
        if silent_s >= _ALIVE_S:
            silent_s = 0.0
            yield b": alive\n\n"
