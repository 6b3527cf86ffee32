"""Processes that help with a report: they read records and draw plots, on as many processors as there are.

They are forked, so that what is loaded here need not be loaded again. A process with threads is not forked,
since what they hold at that moment would be held for ever: then all is done here, and the result is the same.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any, Final

from openpts.plots.vega_svg import is_rendering

_MOST_PROCESSES: Final = 8
_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def worker_processes(count: int | None = None) -> Iterator[Executor]:
    """As many as processors unless ``count`` says otherwise; forked when the first task comes.

    After an exception what has not begun is cancelled. All processes are gone at the end.
    """
    if not _may_be_forked() or (count := count or _processors()) < 2:
        yield _Here()
        return
    executor = _Processes(
        count, mp_context=multiprocessing.get_context("fork"), initializer=_end_with_the_report
    )
    try:
        yield executor
    except BaseException:
        executor.shutdown(cancel_futures=True)
        raise
    executor.shutdown()


def _processors() -> int:
    return min(len(os.sched_getaffinity(0)), _MOST_PROCESSES)


def _may_be_forked() -> bool:
    return threading.active_count() == 1 and not is_rendering()


class _Processes(ProcessPoolExecutor):
    """Signals that end a report wait while processes are forked, which so never get them.

    The report's own process decides when all of them end.
    """

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
        try:
            return super().submit(fn, *args, **kwargs)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Here(Executor):
    """Does each task at once, in this process."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 whoever asks for the result gets it
            future.set_exception(error)
        return future


def _end_with_the_report() -> None:
    threading.Thread(target=_end_after_the_report, daemon=True).start()


def _end_after_the_report() -> None:
    """Without a word: a report that was killed leaves nothing that could wait for tasks for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None  # noqa: S101 narrows the type: this runs in forked processes alone
    parent.join()
    os._exit(1)
