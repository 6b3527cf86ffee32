"""The kernel's clock: what it counts by, and whether it follows the time of day."""

import ctypes
from typing import Final

from openpts.system_files import SystemRoots, read_text
from openpts.vocabulary.facts import Fact, Facts

# <sys/timex.h>: larger than struct timex on every platform; a mode of 0 asks and changes nothing
_TIMEX_BYTES: Final = 256
_TIME_ERROR: Final = 5  # the clock is not synchronized
_LIBC: Final = ctypes.CDLL(None, use_errno=True)


def clock_facts(roots: SystemRoots) -> Facts:
    """Clock source and synchronization, under the keys of the host audit."""
    source = roots.sys / "devices/system/clocksource/clocksource0/current_clocksource"
    return {
        "clock_source": Fact(read_text(source), str(source)),
        "clock_sync": Fact(sync_text(_clock_state()), "adjtimex"),
    }


def sync_text(state: int) -> str | None:
    """The answer of adjtimex(2) in words; None if it had none."""
    if state < 0:
        return None
    return "not synchronized" if state == _TIME_ERROR else "synchronized"


def _clock_state() -> int:
    answer: int = _LIBC.adjtimex(ctypes.create_string_buffer(_TIMEX_BYTES))
    return answer
