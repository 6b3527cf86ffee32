"""The first process of a host: starts its daemons, inherits their orphans, and kills all at its end.

It reads command lines, and ends when there are no more: then what made the cluster was killed. Its arguments
are the loop devices that are detached in that case.
"""

import ctypes
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

_PR_SET_CHILD_SUBREAPER: Final = 36


def processes_of(network: Path) -> list[int]:
    """All processes in this network namespace, by its link in /proc."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (folder / "ns/net").readlink() == network:
                found.append(int(folder.name))
    return found


def kill_all() -> None:
    others = [0]
    while others:
        others = [pid for pid in processes_of(Path("/proc/self/ns/net").readlink()) if pid != os.getpid()]
        for pid in others:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def main() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel takes the dead away
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdout.write("up\n")
    sys.stdout.flush()
    for line in sys.stdin:
        subprocess.Popen(
            ["sh", "-c", line],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=_as_from_a_terminal,  # noqa: PLW1509 it has no threads
        )
    kill_all()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for drive in sys.argv[1:]:
        subprocess.run(["losetup", "--detach", drive], check=False)


def _as_from_a_terminal() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)


if __name__ == "__main__":
    main()
