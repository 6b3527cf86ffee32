"""Processes that help with a report: they read records and draw plots, on as many processors as there are.

They are forked, so that what is loaded here need not be loaded again. A process with threads is not forked,
since what they hold at that moment would be held for ever: then all is done here, and the result is the same.
"""

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any, Final

from openpts.parent_process import end_with_parent

_MOST_PROCESSES: Final = 8
_OF_WORKER: Final[list[Event]] = []  # in a worker: whether the report was stopped
_KERNEL_WORKERS: Final = ("iou-wrk-", "iou-sqp-")
_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_WITHOUT_DEADLOCK: Final = (3, 11, 5)  # Python itself does so: https://github.com/python/cpython/issues/94777


@contextmanager
def worker_processes(count: int | None = None) -> Iterator[Executor]:
    """``count`` of them, by default as many as processors; forked when the first task comes.

    After an exception what has not begun is left. All processes are gone at the end.
    """
    executor = None
    if (size := count or _processors()) > 1 and _may_be_forked():
        with suppress(OSError):  # no shared memory: a container without /dev/shm
            executor = _Processes(size)
    if executor is None:
        yield _Here()
        return
    try:
        yield executor
    except BaseException:
        executor.stop()
        raise
    finally:
        executor.shutdown(cancel_futures=True)


def _processors() -> int:
    return min(len(os.sched_getaffinity(0)), _MOST_PROCESSES)


def _may_be_forked() -> bool:
    """Whether this is the only thread of the process, libraries' threads (Vega's) included.

    The kernel lists its own workers for io_uring among them, which hold no locks of ours.
    """
    tasks = Path("/proc/self/task")
    try:
        names = [(task / "comm").read_text() for task in tasks.iterdir()]
    except OSError:  # one ended meanwhile: there are several
        return False
    return sum(not name.startswith(_KERNEL_WORKERS) for name in names) == 1


class _Worker(multiprocessing.context.ForkProcess):
    def terminate(self) -> None:
        """End it: SIGTERM, by which the pool ends the others when one is lost, is blocked in it."""
        self.kill()


class _Context(multiprocessing.context.ForkContext):
    Process = _Worker


class _Processes(ProcessPoolExecutor):
    """Signals that end a report wait while processes are forked, which so never get them.

    The report's own process decides when all of them end.
    """

    def __init__(self, count: int) -> None:
        context = _Context()
        self._stopped = context.Event()
        super().__init__(count, context, _begin_work, (self._stopped, os.getpid()))

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
        try:
            future = super().submit(_unless_stopped, fn, *args, **kwargs)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if sys.version_info < _WITHOUT_DEADLOCK:
            # All processes are forked. This one only writes to their queue: what is being written when they
            # end would wait for ever for a reader, which this one would be.
            self._call_queue._reader.close()  # type: ignore[attr-defined]  # noqa: SLF001 no other door
        return future

    def stop(self) -> None:
        """Tasks that wait in the workers' queue can't be cancelled any more: they come to nothing."""
        self._stopped.set()


class _Here(Executor):
    """Does each task at once, in this process."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 the caller of the result gets it
            future.set_exception(error)
        return future


def _begin_work(stopped: Event, report: int) -> None:
    end_with_parent(report)
    _OF_WORKER.append(stopped)


def _unless_stopped(fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    return None if _OF_WORKER[0].is_set() else fn(*args, **kwargs)
