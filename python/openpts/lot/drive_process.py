"""The process of one drive of a lot: openpts itself, which ends when the lot does.

``python -m openpts.lot.drive_process PID WORD...`` is ``openpts WORD...`` as long as process PID, its parent,
lives. A lot that is killed leaves nothing behind that writes to a drive: the kernel sends SIGTERM, on which
a run ends as on Ctrl-C, with a record that can be resumed.
"""

import ctypes
import os
import signal
import sys
from importlib import import_module
from typing import Final

_PR_SET_PDEATHSIG: Final = 1  # linux/prctl.h


def main() -> None:
    """Be openpts, unless the parent has gone already."""
    parent, *words = sys.argv[1:]
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM) != 0:
        sys.exit(f"openpts: can't ask the kernel for a signal: {os.strerror(ctypes.get_errno())}")
    if os.getppid() != int(parent):
        sys.exit(128 + signal.SIGTERM)
    sys.argv[1:] = words
    # by name: the command line is above this room
    import_module("openpts.cli.main").main()


if __name__ == "__main__":
    main()
