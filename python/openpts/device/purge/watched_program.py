"""Runs a program that must not be stopped half way, and lets the caller tell of it meanwhile."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from openpts.programs import Answer, Run

_TELL_EVERY_S: Final = 1.0


def run_watched(run: Run, command: Sequence[str], timeout_s: float, tell: Callable[[float], None]) -> Answer:
    """The program's answer. ``tell`` is called in this thread every second, with the seconds gone by.

    An interrupt is raised when the program has ended, and not before. Raises ProgramError.
    """
    started_s = time.monotonic()
    interrupt: KeyboardInterrupt | None = None
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(run, command, timeout_s, to_the_end=True)
        while True:
            try:
                answer.exception(_TELL_EVERY_S)
            except TimeoutError:
                tell(time.monotonic() - started_s)
            except KeyboardInterrupt as error:
                interrupt = interrupt or error
            else:
                break
    if interrupt is not None:
        raise interrupt
    return answer.result()
