"""The operator's program that runs during a capture."""

import subprocess
from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self

from openpts.errors import UsageError, failing_as
from openpts.programs import refuse_missing
from openpts.system_files import printable

_TIMEOUT_S: Final = 10.0


class RunningProgram:
    """Started once events are recorded, and ended with the block; without words it is none.

    Raises UsageError if there is no such program.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        if arguments:
            refuse_missing(arguments[0])
        self._words = list(arguments)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def status(self) -> int:
        """Exit status of the program, as a shell has it; 0 without a program."""
        status = None if self._process is None else self._process.returncode
        return 0 if status is None else status if status >= 0 else 128 - status

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is None or self._process.poll() is not None:
            return
        self._process.terminate()
        try:
            self._process.wait(_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def start(self) -> None:
        """Start it. Raises UsageError."""
        if self._words:
            with failing_as(UsageError, f"can't start {printable(self._words[0])}"):
                self._process = subprocess.Popen(self._words)

    def has_ended(self) -> bool:
        """Whether there was one, and it has ended."""
        return self._process is not None and self._process.poll() is not None
