"""The lines of a run's ``events.jsonl`` as they come, also over a kill and a resume."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct, field

from openpts.errors import RecordError, failing_as
from openpts.record.writer import EVENTS_NAME
from openpts.run_folder_files import open_file
from openpts.runner.event_lines import EventLine

_AT_ONCE_BYTES: Final = 4 << 20
_HEAD_BYTES: Final = 256 << 10
_TAIL_BYTES: Final = 1 << 20


class EventsFile(Struct):
    """The lines behind those that were read; what a run has not ended with a line feed is not read yet.

    ``ends_only``: of a long file, its beginning and its end.
    """

    folder: Path
    ends_only: bool = False
    _offset: int = 0
    _decoder: msgspec.json.Decoder[EventLine] = field(default_factory=lambda: msgspec.json.Decoder(EventLine))

    def new_lines(self) -> Iterator[EventLine]:
        """All whole lines, or the next megabytes of them. Raises RecordError if the file can't be read."""
        with failing_as(RecordError, f"can't read {self.folder / EVENTS_NAME}"):
            try:
                content = self._content()
            except FileNotFoundError:
                return
        for line in content.splitlines():
            with suppress(ValueError, RecursionError):  # kinds of later versions, what is no UTF-8
                yield self._decoder.decode(line)

    def _content(self) -> bytes:
        with open_file(self.folder, EVENTS_NAME) as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(self._offset)
            skips = self.ends_only and size - self._offset > _HEAD_BYTES + _TAIL_BYTES
            content = file.read(_HEAD_BYTES if skips else _AT_ONCE_BYTES)
            self._offset += content.rfind(b"\n") + 1
            content = content[: content.rfind(b"\n") + 1]
            if skips:
                file.seek(size - _TAIL_BYTES)
                file.readline()
                self._offset = file.tell()
        return content
