"""Signals of processes that help with a report: its own process decides when all of them end."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def end_with_the_report() -> None:
    """What ends a process is not for this one; when its report is gone, it ends without a word."""
    for number in _ENDING:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)


@contextmanager
def held_back() -> Iterator[None]:
    """Such signals wait while a process is forked, so that none meets it before it ignores them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
