"""Waits for an operation that goes on inside a drive after the command that started it has ended."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from openpts.device.purge.method import Progress
from openpts.errors import PurgeError

_FIRST_LOOK_S: Final = 1.0
_LONGEST_LOOK_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Clock:
    """A steady count of seconds, and how to let some pass."""

    now_s: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


CLOCK: Final = Clock()
GOES_ON: Final = "what was begun goes on inside the drive by itself whenever it has power"


@dataclass(frozen=True, slots=True)
class Look:
    """What a drive said of its operation: whether it goes on, and which share is done (None: not told)."""

    running: bool
    share: float | None = None


def wait_while_running(
    look: Callable[[], Look], what: str, limit_s: float, progress: Progress, clock: Clock = CLOCK
) -> None:
    """Look after a second, and then less and less often, until the operation has ended.

    Not at once: a drive may need a moment until it says that it is at work. It goes on whatever happens here:
    an interrupt only ends the waiting. Raises PurgeError after ``limit_s``, and whatever ``look`` raises.
    """
    started_s = clock.now_s()
    clock.sleep(_FIRST_LOOK_S)
    pause_s = _FIRST_LOOK_S
    while (seen := look()).running:
        if clock.now_s() - started_s > limit_s:
            raise PurgeError(
                f"{what} has not ended after {limit_s / 3600:.0f} h; the drive goes on with it by itself, "
                "also after a power cycle, and can't be used before"
            )
        progress(seen.share, f"{what}: goes on inside the drive, and can't be stopped")
        clock.sleep(pause_s)
        pause_s = min(pause_s * 1.5, _LONGEST_LOOK_S)
