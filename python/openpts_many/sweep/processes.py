"""The processes of this machine that compute the points of a sweep."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from openpts.errors import FleetError
from openpts.parent_process import end_with_parent


class _Processes(ProcessPoolExecutor):
    """Ctrl-C at a terminal reaches all processes; it waits for ever in those that compute, which so print
    nothing of it: this one ends them.
    """

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """As any executor; processes are started in it, and have its mask of signals."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            return super().submit(fn, *args, **kwargs)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def processes(count: int) -> Iterator[Executor]:
    """So many processes, started anew: nothing of this one is shared with them.

    Raises FleetError if one is killed.
    """
    spawned = multiprocessing.get_context("spawn")
    executor = _Processes(count, spawned, end_with_parent, (os.getpid(),))
    try:
        yield executor
    except KeyboardInterrupt:
        for process in multiprocessing.active_children():
            process.terminate()  # a point is minutes of work, and is computed again
        raise
    except BrokenProcessPool as error:
        raise FleetError(
            "a process was killed, perhaps for lack of memory: the same command goes on with what is left to "
            "compute"
        ) from error
    finally:
        executor.shutdown(cancel_futures=True)
