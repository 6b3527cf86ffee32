"""One run of a program of the operator's: started, timed, its output kept within bounds, ended if need be."""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from msgspec import Struct, field

from openpts.errors import RunFailedError
from openpts.runner.stop_signals import StopSignals
from openpts.system_files import SystemRoots, printable, read_lines
from openpts.units import NS_PER_S, format_duration
from openpts.vocabulary.command_run import STOPPED_BY_OPERATOR

_TICK_S: Final = 0.1
_PIECE_BYTES: Final = 1 << 16
_KEPT_BYTES: Final = 1 << 20
"""Of the beginning of an output, and of its end."""
_GRACE_S: Final = 5.0


class Output(Struct):
    """The beginning and the end of what a program writes to one of its outputs."""

    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    left_out_bytes: int = 0

    def add(self, piece: bytes) -> None:
        """Appends output; beyond the head only the newest bytes are kept."""
        room = _KEPT_BYTES - len(self.head)
        self.head += piece[:room]
        self.tail += piece[room:]
        if len(self.tail) > 2 * _KEPT_BYTES:
            self._shorten()

    def _shorten(self) -> None:
        excess = len(self.tail) - _KEPT_BYTES
        if excess > 0:
            self.left_out_bytes += excess
            del self.tail[:excess]

    @property
    def content(self) -> bytes:
        """What is kept, with a line where something is left out."""
        self._shorten()
        gap = f"\n[{self.left_out_bytes:,} bytes left out]\n".encode() if self.left_out_bytes else b""
        return bytes(self.head) + gap + bytes(self.tail)


class Ended(Struct, frozen=True):
    """How a program ended; see vocabulary.command_run.CommandRun. ``ended_ns`` is on the monotonic clock."""

    started_ns: int
    ended_ns: int
    status: int
    stopped: str
    user_ns: int
    system_ns: int
    read_bytes: int | None
    written_bytes: int | None
    stdout: Output
    stderr: Output


class ProgramOfTheOperator:
    """A program that runs, in a session of its own: a stop ends all that it started in it."""

    def __init__(self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
        """Start it. Raises RunFailedError where that is not possible."""
        self.started_ns = time.monotonic_ns()
        try:
            self._process = subprocess.Popen(
                list(arguments),
                cwd=folder,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise RunFailedError(f"can't start {printable(arguments[0])} in {folder}: {reason}") from error
        self._pid = self._process.pid
        self._pipes: dict[IO[bytes], Output] = {}
        for pipe in (self._process.stdout, self._process.stderr):
            assert pipe is not None  # noqa: S101 asked for
            os.set_blocking(pipe.fileno(), False)
            self._pipes[pipe] = Output()
        self._stopped = ""
        self._stop_at_ns: int | None = None

    def wait(self, limit_ns: int | None, signals: StopSignals, roots: SystemRoots) -> Ended:
        """Until it has ended, or was stopped at its limit or by the operator; its children may live on.

        ``signals`` are noted since before it was started: one that comes in between stops it, too.
        """
        ended = os.pidfd_open(self._pid)
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(ended, selectors.EVENT_READ)
                for pipe in self._pipes:
                    selector.register(pipe, selectors.EVENT_READ)
                while True:
                    ready = {key.fileobj for key, _ in selector.select(_TICK_S)}
                    now_ns = time.monotonic_ns()
                    for pipe in self._pipes:
                        if pipe in ready and not self._read(pipe):
                            selector.unregister(pipe)
                    if ended in ready:
                        break
                    self._stop_if_needed(now_ns, limit_ns, wished=signals.wished)
            return self._reaped(now_ns, roots)
        except BaseException:
            self._kill(signal.SIGKILL)
            raise
        finally:
            os.close(ended)
            for pipe in self._pipes:
                pipe.close()

    def _stop_if_needed(self, now_ns: int, limit_ns: int | None, *, wished: bool) -> None:
        """Sends SIGTERM at the operator's wish or past the limit, SIGKILL after a grace period."""
        if not self._stopped:
            if wished:
                self._stopped = STOPPED_BY_OPERATOR
            elif limit_ns is not None and now_ns - self.started_ns > limit_ns:
                self._stopped = f"did not end within {format_duration(limit_ns)}"
            else:
                return
            self._stop_at_ns = now_ns
            self._kill(signal.SIGTERM)
        elif self._stop_at_ns is not None and now_ns - self._stop_at_ns > _GRACE_S * NS_PER_S:
            self._kill(signal.SIGKILL)

    def _kill(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, number)

    def _read(self, pipe: IO[bytes]) -> bool:
        """Reads what a pipe holds; False at end of file."""
        try:
            piece = os.read(pipe.fileno(), _PIECE_BYTES)
        except BlockingIOError:
            return True
        self._pipes[pipe].add(piece)
        return bool(piece)

    def _reaped(self, ended_ns: int, roots: SystemRoots) -> Ended:
        """What the kernel counted of it, and the rest of its output."""
        for pipe in self._pipes:
            with suppress(OSError):
                while piece := os.read(pipe.fileno(), _PIECE_BYTES):
                    self._pipes[pipe].add(piece)
        read_bytes, written_bytes = _io_of(self._pid, roots)
        _, status, used = os.wait4(self._pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        stdout, stderr = self._pipes.values()
        return Ended(
            self.started_ns,
            ended_ns,
            self._process.returncode,
            self._stopped,
            round(used.ru_utime * NS_PER_S),
            round(used.ru_stime * NS_PER_S),
            read_bytes,
            written_bytes,
            stdout,
            stderr,
        )


def _io_of(pid: int, roots: SystemRoots) -> tuple[int | None, int | None]:
    """What a process that has ended, and those that it waited for, read from storage and wrote, in bytes."""
    counts = dict(line.partition(": ")[::2] for line in read_lines(roots.proc / str(pid) / "io"))
    read, written = (counts.get(name, "") for name in ("read_bytes", "write_bytes"))
    return int(read) if read.isdecimal() else None, int(written) if written.isdecimal() else None
