"""Processes of a program of the operator's, also those that it left: by a mark in their environment."""

import os
import signal
import time
from contextlib import suppress
from typing import Final

from openpts.system_files import SystemRoots

MARK: Final = "OPENPTS_APP_RUN"
"""The variable that has the mark, a random word."""

_TIMEOUT_S: Final = 5.0
_LOOK_S: Final = 0.02
_LOOKS: Final = 3


def marked(mark: str, roots: SystemRoots) -> tuple[int, ...]:
    """Processes that live and have the mark; they inherit it from each other. One that cleared it is none."""
    marker = f"{MARK}={mark}".encode()
    found = []
    for process in roots.proc.glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or is another user's
            if marker in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
    return tuple(found)


def end_marked(mark: str, roots: SystemRoots) -> int:
    """Kill them, and wait until they are gone; their number.

    A process that becomes another program has no environment for a moment: none has to be seen several times.
    """
    count = looks = 0
    deadline_s = time.monotonic() + _TIMEOUT_S
    while looks < _LOOKS and time.monotonic() < deadline_s:
        living = marked(mark, roots)
        looks = 0 if living else looks + 1
        count = max(count, len(living))
        for process in living:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(_LOOK_S)
    return count
