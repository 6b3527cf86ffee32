"""A listener in a thread of its own: a terminal that takes no text holds up no measurement.

That is one after Ctrl-S, on a connection that hangs, or a pager that shows its first page.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from queue import SimpleQueue
from threading import Thread
from typing import Final, TypeVar

from openpts.runner.events import PurgeProgressed, RunPaused, Ticked

_Event = TypeVar("_Event")

# Of a display that is so far behind, the latest progress is of no use.
_MOST_WAITING: Final = 100
_TIMEOUT_S: Final = 2.0


@contextmanager
def background_listener(
    shown: AbstractContextManager[Callable[[_Event], None]],
) -> Iterator[Callable[[_Event], None]]:
    """Yield a listener that returns at once. At the end all is shown, unless the display is stuck."""
    events = SimpleQueue[_Event | None]()

    def show() -> None:
        with shown as on_event:
            while (event := events.get()) is not None:
                on_event(event)

    def put(event: _Event) -> None:
        of_run = getattr(event, "event", event)  # what a batch says of one of its runs
        if not (isinstance(of_run, Ticked | PurgeProgressed | RunPaused) and events.qsize() > _MOST_WAITING):
            events.put(event)

    thread = Thread(target=show, name="display", daemon=True)
    thread.start()
    try:
        yield put
    finally:
        events.put(None)
        _wait(thread, events)


def _wait(thread: Thread, events: SimpleQueue[_Event | None]) -> None:
    """Until the thread has ended, or nothing comes of it any more."""
    waiting = -1
    while thread.is_alive() and waiting != (waiting := events.qsize()):
        thread.join(_TIMEOUT_S)
