"""Standard streams: closed pipes, terminals, one JSON document for programs.

A reader that quits or a full disk ends no measurement. What is printed may come from others, the name of a
folder for one: it is shown, and controls no terminal.
"""

import errno
import io
import json
import os
import select
import sys
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, Literal

import click
import msgspec

from openpts.errors import OpenptsError
from openpts.escaped_text import visible
from openpts.vocabulary.document import Document

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
        """Write all of it, or as much as the reader accepts; never raises."""
        left = memoryview(data)
        length = left.nbytes
        while left and self.failure is None:
            try:
                left = left[os.write(self._fd, left) :]
            except BlockingIOError:  # another process made the pipe non-blocking
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


class TextFilter(io.TextIOBase):
    """Text on its way to a stream, changed by ``change``.

    It has no ``buffer``, so that what prints does not go around it.
    """

    def __init__(self, stream: IO[str]) -> None:
        super().__init__()
        self.stream = stream

    def change(self, text: str) -> str:
        """The text as the stream shall have it."""
        raise NotImplementedError

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Encoding of the wrapped stream."""
        return getattr(self.stream, "encoding", None) or "utf-8"

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        """What becomes of a character that the encoding lacks."""
        return getattr(self.stream, "errors", None)

    def fileno(self) -> int:
        """The descriptor."""
        return self.stream.fileno()

    def isatty(self) -> bool:
        """Whether a terminal is behind it."""
        return self.stream.isatty()

    def writable(self) -> bool:
        """Always."""
        return True

    def write(self, text: str, /) -> int:
        """The text, changed."""
        self.stream.write(self.change(text))
        return len(text)

    def flush(self) -> None:
        """Nothing is kept back here."""
        self.stream.flush()


class VisibleOutput(TextFilter):
    """Control characters are written out (``escaped_text``)."""

    def change(self, text: str) -> str:
        """All of it visible."""
        return visible(text)


def with_controls(stream: IO[str]) -> IO[str]:
    """The stream itself, for those who draw on a terminal: they make texts visible themselves."""
    return stream.stream if isinstance(stream, VisibleOutput) else stream


def open_closed_streams() -> None:
    """What the parent closed leads nowhere: a record would get its descriptor, and with it our words."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 for good


@contextmanager
def lasting(name: Literal["stdout", "stderr"]) -> Iterator[LastingOutput | None]:
    """Put a lasting stream in the place of one of ``sys``; None where no descriptor is behind that."""
    before = getattr(sys, name)
    try:
        raw = LastingOutput(before.fileno())
    except (AttributeError, OSError):  # captured by a test
        yield None
        return
    before.flush()
    text = io.TextIOWrapper(raw, before.encoding, "backslashreplace", line_buffering=before.line_buffering)
    stream = VisibleOutput(text)
    setattr(sys, name, stream)
    try:
        yield raw
    finally:
        stream.flush()
        setattr(sys, name, before)


# What Emacs and continuous integration call a terminal that knows no cursor.
_WITHOUT_CURSOR: Final = {"dumb", "unknown"}
_USUAL_COLUMNS: Final = 80
BELOW_LABELS: Final = " " * 12
"""Indent of what is below a label of a plan."""


VERBOSE: Final = "openpts.cli.standard_streams.verbose"
"""In the meta of a context: whether the log lists what it else counts."""


def is_verbose() -> bool:
    """Whether the command's log lists what it else counts."""
    context = click.get_current_context(silent=True)
    return context is not None and context.meta.get(VERBOSE, False)


def can_be_drawn_over(stream: IO[str]) -> bool:
    """Whether a display that changes in its place can be shown there; else lines tell the same."""
    return stream.isatty() and os.environ.get("TERM", "").lower() not in _WITHOUT_CURSOR


def draw_over(stream: IO[str], text: str = "") -> None:
    """Put the text in the place of the last line of a terminal; nothing where lines can't be drawn over."""
    if can_be_drawn_over(stream):
        click.echo("\r\x1b[K", nl=False, file=with_controls(stream))
        click.echo(text, nl=False, file=stream)


def wrapped(line: str, stream: IO[str], indent: str = "  ") -> str:
    """The line as ``stream`` shall have it: whole in a pipe, broken between words at a terminal.

    All lines below the first are indented. Names of files and options stay whole, so that they can be copied.
    """
    if not stream.isatty():
        return line
    columns = os.get_terminal_size(stream.fileno()).columns or _USUAL_COLUMNS
    return textwrap.fill(
        line, columns, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def print_document(
    document: Document,
    failure: OpenptsError | None = None,
    *,
    stream: IO[str] | None = None,
    indent: int | None = 2,
) -> None:
    """Print a document, with the error that the command ends with."""
    print_object(msgspec.to_builtins(document), failure, stream=stream, indent=indent)


def print_object(
    figures: Mapping[str, Any],
    failure: OpenptsError | None = None,
    *,
    stream: IO[str] | None = None,
    indent: int | None = 2,
) -> None:
    """The same for what is an object already; in ASCII, as names of files may be no UTF-8."""
    if failure is not None:
        figures = {**figures, "error": "; ".join(failure.complaints), "exit_code": failure.exit_code}
        failure.is_printed = True
    click.echo(json.dumps(figures, indent=indent), file=stream)
