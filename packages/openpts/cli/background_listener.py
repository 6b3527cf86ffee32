"""A listener in a thread of its own: a terminal that takes no text holds up no measurement.

That is one after Ctrl-S, on a connection that hangs, or a pager that shows its first page.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from queue import SimpleQueue
from typing import Final, TypeVar

import click

from openpts.runner.events import PurgeProgressed, RunPaused, Ticked

_Event = TypeVar("_Event")

# Of a display that is so far behind, the latest progress is of no use.
_MOST_WAITING: Final = 100
_PATIENCE_S: Final = 2.0
_PATIENCE_WITH_READERS_S: Final = 20.0


@contextmanager
def background_listener(
    shown: AbstractContextManager[Callable[[_Event], None]],
    *,
    name: str = "",
    patience_s: float | None = None,
) -> Iterator[Callable[[_Event], None]]:
    """Yield a listener that returns at once. At the end all is shown, unless the display is stuck.

    ``name``: what other programs read, such as ``--events FILE``. A reader may be slow, and what is missing
    where it is stuck is reported. Stuck is who does nothing for ``patience_s``.
    """
    events = SimpleQueue[_Event | None]()
    clock = SimpleQueue[int]()

    def show() -> None:
        clock.put(time.pthread_getcpuclockid(threading.get_ident()))
        with shown as on_event:
            while (event := events.get()) is not None:
                on_event(event)

    def put(event: _Event) -> None:
        of_run = getattr(event, "event", event)  # what a batch says of one of its runs
        if not (isinstance(of_run, Ticked | PurgeProgressed | RunPaused) and events.qsize() > _MOST_WAITING):
            events.put(event)

    thread = threading.Thread(target=show, name="display", daemon=True)
    thread.start()
    patience_s = patience_s or (_PATIENCE_WITH_READERS_S if name else _PATIENCE_S)
    try:
        yield put
    finally:
        events.put(None)
        if not _ended(thread, clock.get(), patience_s) and name:
            lost = f"its reader took nothing for {patience_s:g} s"
            click.echo(f"openpts: {name} is incomplete: {lost}", err=True)


def _ended(thread: threading.Thread, clock: int, patience_s: float) -> bool:
    """Wait until the thread has ended, or does nothing any more: what it works takes processor time."""
    used_s = -1.0
    while thread.is_alive():
        try:
            now_s = time.clock_gettime(clock)
        except OSError:  # it ended just now
            break
        if now_s == used_s:
            return False
        used_s = now_s
        thread.join(patience_s)
    return True
