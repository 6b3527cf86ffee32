"""Processes that end when the one that started them does, however that ended: the kernel sees to it."""

import ctypes
import os
import signal
import sys
from typing import Final

_PR_SET_PDEATHSIG: Final = 1  # linux/prctl.h


def end_with_parent(parent: int, number: signal.Signals = signal.SIGKILL) -> None:
    """Have the kernel send this process a signal when its parent, process ``parent``, ends.

    That is when the thread ends that has started it. Exits at once where the parent has gone already.
    """
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, number) != 0:
        sys.exit(f"openpts: can't ask the kernel for a signal: {os.strerror(ctypes.get_errno())}")
    if os.getppid() != parent:
        sys.exit(128 + number)
