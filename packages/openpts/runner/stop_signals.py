"""Ctrl-C, SIGTERM and a lost terminal as a wish, looked at between polls: no result gets lost in flight."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Self

from msgspec import Struct, field


def ending_signals() -> tuple[signal.Signals, ...]:
    """Signals that other processes send to end openpts; SIGHUP is none of them under ``nohup``.

    None in a thread beside the main one, as in an executor's: signals are for the main thread alone.
    """
    if threading.current_thread() is not threading.main_thread():
        return ()
    hang_up = () if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else (signal.SIGHUP,)
    return (signal.SIGTERM, *hang_up)


@contextmanager
def terminate_as_interrupt(*others: signal.Signals) -> Iterator[None]:
    """SIGTERM, or a terminal that is lost, interrupts as Ctrl-C does: what was measured is kept.

    SIGINT among ``others`` ends jobs of a shell, which start with Ctrl-C ignored.
    """

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (*others, *ending_signals())}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class StopSignals(Struct):
    """A context manager. The first signal is noted; a second one interrupts, as it does elsewhere.

    ``most`` so many are noted before one interrupts, ``noted`` so many have come.
    """

    most: int = 1
    noted: int = 0
    _before: dict[int, signal.Handlers | None] = field(default_factory=dict)

    @property
    def wished(self) -> bool:
        """Whether a stop signal has come."""
        return self.noted > 0

    def __enter__(self) -> Self:
        ending = ending_signals()
        for number in (signal.SIGINT, *ending) if ending else ():
            self._before[number] = signal.signal(number, self._note)  # type: ignore[assignment]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, _signal: int, _frame: FrameType | None) -> None:
        if self.noted >= self.most:
            raise KeyboardInterrupt
        self.noted += 1
