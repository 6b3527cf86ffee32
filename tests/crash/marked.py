"""openpts on a machine whose disk keeps a log of its writes: what openpts announces is marked in that log.

``python -m tests.crash.marked DEVICE TOLD COMMANDS`` carries out the command lines of a JSON file, one after
the other, until one fails. A mark has the number of the command, what it announced, and how many steps all of
them had announced by then.
"""

import fcntl
import json
import os
import struct
import sys
import traceback
from pathlib import Path
from typing import Final

from openpts.runner.events import Event, Listener, StepsStarted, Ticked
from tests.crash.victim import Blow, watched

_CONTROL: Final = "/dev/mapper/control"
_HEADER: Final = struct.Struct("<3I7IQ128s129s7x")
_TARGET_MESSAGE: Final = 0xC138FD0E  # _IOWR(0xfd, 14, struct dm_ioctl)
_VERSION: Final = (4, 0, 0)
BEGINS: Final = "begins"


class Marks:
    """Sends marks to a device of dm-log-writes."""

    def __init__(self, device: str, told: Path) -> None:
        self._device, self._told = device.encode(), told
        self._control = os.open(_CONTROL, os.O_RDWR)

    def command(self, number: int) -> Listener:
        """A listener that marks what this command announces, once its steps were told."""
        self._send(f"{number}/{BEGINS}/{self._steps}")

        def on_event(event: Event) -> None:
            if isinstance(event, Ticked):
                return
            name = type(event).__name__ + (f":{event.apply.phase}" if isinstance(event, StepsStarted) else "")
            self._send(f"{number}/{name}/{self._steps}")

        return on_event

    @property
    def _steps(self) -> int:
        return self._told.read_bytes().count(b"\n")

    def _send(self, mark: str) -> None:
        """One word: the kernel takes no more."""
        message = struct.pack("<Q", 0) + f"mark {mark}".encode() + b"\0"
        size = _HEADER.size + len(message)
        header = _HEADER.pack(*_VERSION, size, _HEADER.size, 0, 0, 0, 0, 0, 0, self._device, b"")
        fcntl.ioctl(self._control, _TARGET_MESSAGE, bytearray(header + message))


def _in_child(arguments: list[str], told: Path, on_event: Listener) -> int:
    if pid := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    code = 70
    try:
        code = watched(arguments, told, Blow(), None, on_event)
    except BaseException:  # noqa: BLE001 the process ends here
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main(device: str, told: str, commands: str) -> int:
    """The exit code of the last command that was carried out."""
    marks = Marks(device, Path(told))
    code = 0
    for number, arguments in enumerate(json.loads(Path(commands).read_bytes())):
        sys.stdout.write(f"openpts {' '.join(arguments)}\n")
        sys.stdout.flush()
        if code := _in_child(arguments, Path(told), marks.command(number)):
            break
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
