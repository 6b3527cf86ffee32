"""A run in progress as server-sent events: the lines of its events file, each with its end as the id.

A reader that returns with the last id that it has continues with the next line, so that it misses none and
gets none twice, also after the run was killed and resumed: the file is appended to. The run itself is not
asked for anything, and does not know of its viewers. As they may share a machine with it, one look at the
file is for all of them, and what it finds is made into messages once.
"""

import asyncio
import errno
import math
import os
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from msgspec import Struct, field
from starlette.concurrency import run_in_threadpool

from openpts.record.writer import EVENTS_NAME
from openpts.run_folder_files import open_file
from openpts_web.documents import is_in_progress

_LOOK_S: Final = 0.5
_VIEWERS_OF_A_LOOK: Final = 5
"""Of more viewers than that looks are as much rarer: all of them together cost the machine no more."""
_ASK_S: Final = 2.0
"""Whether a process works on the run is asked less often than the file is looked at: it changes rarely."""
_ALIVE_S: Final = 15.0
_PIECE_BYTES: Final = 256 * 1024
_LONGEST_LINE: Final = 4 << 20
"""A longer one is none of openpts, and not read to its end."""
_RECENT_BYTES: Final = 128 * 1024
_OFTEN: Final = (b'{"kind":"progress"', b'{"kind":"sample"')
"""Lines of each second and of each interval: a page draws the latest alone."""


class EventChunk(Struct, frozen=True):
    """Whole lines of the file behind ``after``, as messages with the offset of each line's end as its id."""

    after: int
    end: int
    messages: bytes = b""


def has_events(folder: Path) -> bool:
    """Whether a run writes its events."""
    with suppress(OSError), open_file(folder, EVENTS_NAME):
        return True
    return False


def next_piece(folder: Path, after: int, *, only_recent: bool = False) -> EventChunk:
    """The lines behind an offset, at most so many bytes of them; half a line waits for its end.

    An offset that is not behind a line, or beyond the end, is of another file: ``again`` tells a reader to
    forget what it has, and the file follows from its beginning. With ``only_recent`` what comes each second
    is left out where it is old. Raises OSError, also for a line that is too long.
    """
    with open_file(folder, EVENTS_NAME) as file:
        size = os.fstat(file.fileno()).st_size
        if after == size:
            return EventChunk(after, after)
        again = after > size
        if after and not again:
            file.seek(after - 1)
            again = file.read(1) != b"\n"
        end = 0 if again else after
        file.seek(end)
        content = file.read(_PIECE_BYTES)
        if len(content) == _PIECE_BYTES and b"\n" not in content:
            content += file.readline(_LONGEST_LINE)
            if len(content) > _LONGEST_LINE:
                raise OSError(errno.EFBIG, f"{EVENTS_NAME} has a line of more than {_LONGEST_LINE:,} bytes")
    messages = [b"event: again\ndata: {}\n\n"] if again else []
    for line in content.splitlines(keepends=True):
        if not line.endswith(b"\n"):
            break
        end += len(line)
        is_old = only_recent and end < size - _RECENT_BYTES and line.startswith(_OFTEN)
        if not is_old:
            messages.append(b"id: %d\ndata: %s\n\n" % (end, line.rstrip(b"\r\n")))
    return EventChunk(after, end, b"".join(messages))


class _Watched(Struct):
    """A run that has viewers, as it was when it was last looked at; ``turn`` comes when there is news."""

    folder: Path
    viewers: int = 0
    piece: EventChunk = EventChunk(-1, -1)
    in_progress: bool | None = None
    turn: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None

    def read(self, after: int, *, only_recent: bool = False) -> EventChunk:
        """What is behind an offset; nothing while there is no file."""
        with suppress(OSError):
            return next_piece(self.folder, after, only_recent=only_recent)
        return EventChunk(after, after)

    def poll(self, *, asks: bool) -> tuple[EventChunk, bool | None]:
        """What has come since the last look, and whether the run is in progress."""
        piece = self.read(self.piece.end)
        return piece, is_in_progress(self.folder) if asks else self.in_progress

    def give_turn(self) -> None:
        """Wake all viewers."""
        turn, self.turn = self.turn, asyncio.Event()
        turn.set()


class Viewers(Struct):
    """All viewers of live pages. Once it ``is_ending`` their streams end."""

    is_ending: bool = False
    _watched: dict[Path, _Watched] = field(default_factory=dict)

    async def stream(
        self, folder: Path, after: int, *, only_recent: bool = False
    ) -> AsyncGenerator[bytes, None]:
        """The lines behind an offset as they come; ``state`` when a process begins or ceases to work on it.

        Only the server's end is one: a run can be resumed. A viewer that is not where the last look began, or
        ended, reads by itself until it is.
        """
        sent: bool | None = None
        yield b"retry: 1000\n\n"
        with self._one_more(folder) as watched:
            while not self.is_ending:
                turn, piece = watched.turn, watched.piece
                if is_apart := after not in {piece.after, piece.end}:
                    piece = await run_in_threadpool(watched.read, after, only_recent=only_recent)
                messages = piece.messages if after == piece.after else b""
                is_behind = is_apart and (messages or piece.end != after)
                after = piece.end
                if is_apart and not is_behind:
                    self._watch_from(watched, after)
                if not is_behind and sent is not watched.in_progress:
                    sent = watched.in_progress
                    messages += b'event: state\ndata: {"in_progress":%s}\n\n' % (
                        b"true" if sent else b"false"
                    )
                if messages:
                    yield messages
                if not is_behind:
                    await turn.wait()

    @contextmanager
    def _one_more(self, folder: Path) -> Iterator[_Watched]:
        watched = self._watched.setdefault(folder, _Watched(folder))
        watched.viewers += 1
        try:
            yield watched
        finally:
            watched.viewers -= 1
            if not watched.viewers:
                del self._watched[folder]
                if watched.task is not None:
                    watched.task.cancel()

    def _watch_from(self, watched: _Watched, end: int) -> None:
        """The first viewer that has come up with the file says where looking begins."""
        if watched.task is None:
            watched.piece = EventChunk(end, end)
            watched.task = asyncio.create_task(self._watch(watched))

    async def _watch(self, watched: _Watched) -> None:
        asked_s = answered_s = -math.inf
        while not self.is_ending:
            now_s = time.monotonic()
            asks = now_s - asked_s >= _ASK_S
            piece, in_progress = await run_in_threadpool(watched.poll, asks=asks)
            if asks:
                asked_s = now_s
            if now_s - answered_s >= _ALIVE_S:  # what is between must not take it for dead
                piece = EventChunk(piece.after, piece.end, piece.messages or b": alive\n\n")
            is_news = piece.messages or in_progress is not watched.in_progress
            watched.piece, watched.in_progress = piece, in_progress
            if is_news:
                answered_s = now_s
                watched.give_turn()
            await asyncio.sleep(_LOOK_S * max(1.0, watched.viewers / _VIEWERS_OF_A_LOOK))
        watched.give_turn()
