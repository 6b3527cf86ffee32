"""Standard streams that may go away: a reader that quits or a full disk ends no measurement."""

import errno
import io
import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class LastingOutput(io.BufferedIOBase):
    """What is written to a descriptor until that fails; then it is dropped, and ``failure`` tells why.

    It keeps nothing back: a buffer that an interrupt has left full would be written twice.
    """

    def __init__(self, fd: int) -> None:
        super().__init__()
        self._fd = fd
        self.failure: OSError | None = None

    @property
    def name(self) -> int:
        """The descriptor, as for all streams without a path."""
        return self._fd

    def fileno(self) -> int:
        """The descriptor."""
        return self._fd

    def isatty(self) -> bool:
        """Whether a terminal is behind it."""
        return os.isatty(self._fd)

    def writable(self) -> bool:
        """Always."""
        return True

    def write(self, data: "ReadableBuffer", /) -> int:
        """All of it, or all that somebody takes; never raises."""
        left = memoryview(data)
        length = left.nbytes
        while left and self.failure is None:
            try:
                left = left[os.write(self._fd, left) :]
            except BlockingIOError:  # somebody else has made the pipe so
                select.select([], [self._fd], [])
            except OSError as error:
                self.failure = error
        return length

    @property
    def lost(self) -> str:
        """Why something that was printed arrived nowhere; empty where a reader only had enough."""
        if self.failure is None or self.failure.errno == errno.EPIPE:
            return ""
        return self.failure.strerror or str(self.failure)


@contextmanager
def lasting(name: Literal["stdout", "stderr"]) -> Iterator[LastingOutput | None]:
    """Put a lasting stream in the place of one of ``sys``; None where no descriptor is behind that."""
    before = getattr(sys, name)
    try:
        raw = LastingOutput(before.fileno())
    except (AttributeError, OSError):  # closed by whoever started us; or caught by a test
        yield None
        return
    before.flush()
    stream = io.TextIOWrapper(raw, before.encoding, before.errors, line_buffering=before.line_buffering)
    setattr(sys, name, stream)
    try:
        yield raw
    finally:
        stream.flush()
        setattr(sys, name, before)
