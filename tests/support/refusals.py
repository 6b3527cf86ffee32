"""Drives that are in use, and that they are refused; what other calls are refused with."""

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from openpts.device.ata_identify import serial_number
from openpts.device.block_device import BlockDevice
from openpts.device.guard.guard import check, open_target
from openpts.device.targets.target import BlockTarget
from openpts.errors import OpenptsError, RefusedError
from openpts.system_files import SystemRoots
from openpts.vocabulary.purge import Consent

# holds what it opened until its standard input is closed
_HOLDER: Final = (
    "import os, sys; os.open(sys.argv[1], int(sys.argv[2])); print('open', flush=True); sys.stdin.read()"
)

# maps what it opened, closes the descriptor, and keeps the mapping until its standard input is closed
_MAPPER: Final = (
    "import ctypes, os, sys; fd = os.open(sys.argv[1], os.O_RDWR); "
    "ctypes.CDLL(None).mmap(None, ctypes.c_size_t(4096), 3, 1, fd, ctypes.c_long(0)); os.close(fd); "
    "print('open', flush=True); sys.stdin.read()"
)

# a thread with a table of files of its own holds it, its first thread does not, or has ended
_THREAD: Final = (
    "import ctypes, os, sys, threading; libc = ctypes.CDLL(None); "
    "own = lambda: (libc.unshare(0x400), os.open(sys.argv[1], os.O_RDWR), print('open', flush=True), "
    "sys.stdin.read(), os._exit(0)); "
    "threading.Thread(target=own).start(); sys.argv[2] == 'ended' and libc.pthread_exit(None)"
)

# as the mapper, but only a further thread lives
_THREAD_MAPPER: Final = (
    "import ctypes, os, sys, threading; libc = ctypes.CDLL(None)\n"
    "def own():\n"
    "    fd = os.open(sys.argv[1], os.O_RDWR)\n"
    "    libc.mmap(None, ctypes.c_size_t(4096), 3, 1, fd, ctypes.c_long(0)); os.close(fd)\n"
    "    ended.wait(); print('open', flush=True); sys.stdin.read(); os._exit(0)\n"
    "ended = threading.Event(); threading.Thread(target=own).start(); ended.set(); libc.pthread_exit(None)"
)

# calls itself as udev's program does, and is none
_NAMESAKE: Final = f"import ctypes, sys; ctypes.CDLL(None).prctl(15, sys.argv[3].encode()); {_HOLDER}"

# registers it with a ring of io_uring (io_uring_setup, io_uring_register), and closes the descriptor
_REGISTRAR: Final = (
    "import ctypes, os, sys; libc = ctypes.CDLL(None); fd = os.open(sys.argv[1], os.O_RDWR); "
    "ring = libc.syscall(425, 4, ctypes.create_string_buffer(120)); "
    "ring < 0 and sys.exit(); libc.syscall(427, ring, 2, (ctypes.c_int * 1)(fd), 1) < 0 and sys.exit(); "
    "os.close(fd); print('open', flush=True); sys.stdin.read()"
)


def refusal(called: Callable[..., object], *arguments: object, **options: object) -> str:
    """The kind of the error in which a call has to end, and its words."""
    with pytest.raises(OpenptsError) as refused:
        called(*arguments, **options)
    return f"{type(refused.value).__name__}: {refused.value}"


def hold_in_thread(node: Path, cleanup: ExitStack, first: str) -> int:
    """The number of a process of which only a further thread has it open; the first lives or has ended."""
    return _started(cleanup, sys.executable, "-c", _THREAD, str(node), first)


def hold(node: Path, flags: int, cleanup: ExitStack) -> int:
    """The number of a process that has it open until the end."""
    return _started(cleanup, sys.executable, "-c", _HOLDER, str(node), str(flags))


def hold_mapped(node: Path, cleanup: ExitStack) -> int:
    """The number of a process that has it mapped until the end, with no descriptor of it."""
    return _started(cleanup, sys.executable, "-c", _MAPPER, str(node))


def hold_mapped_in_thread(node: Path, cleanup: ExitStack) -> int:
    """The same of a process whose first thread has ended."""
    return _started(cleanup, sys.executable, "-c", _THREAD_MAPPER, str(node))


def hold_as(name: str, node: Path, cleanup: ExitStack) -> int:
    """The number of a process with this name that has it open until the end."""
    return _started(cleanup, sys.executable, "-c", _NAMESAKE, str(node), str(os.O_RDWR), name)


def hold_registered(node: Path, cleanup: ExitStack) -> int:
    """The number of a process that has it registered with io_uring, with no descriptor of it."""
    return _started(cleanup, sys.executable, "-c", _REGISTRAR, str(node))


def hold_in_namespace(script: str, cleanup: ExitStack) -> int:
    """The number of a shell in a mount namespace of its own that runs a script, and stays until the end."""
    return _started(cleanup, "unshare", "--mount", "sh", "-ec", f"{script}\necho open\nexec cat")


def _started(cleanup: ExitStack, *command: str) -> int:
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    cleanup.enter_context(process)
    assert process.stdout.readline() == b"open\n"
    return process.pid


def assert_refused(node: Path, rule_id: str, says: str, roots: SystemRoots) -> None:
    """By the check and by the door alike; the operator's consent changes nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("openpts.device.guard.guard._PAUSES_S", (0.1,))  # enough for what is no moment
        _assert_refused(node, rule_id, says, roots)


def _assert_refused(node: Path, rule_id: str, says: str, roots: SystemRoots) -> None:
    found = check(BlockTarget(node), roots)
    assert [refusal.rule_id for refusal in found] == [rule_id], found
    (refusal,) = found
    assert refusal.rule_id == rule_id
    assert says in refusal.evidence
    consent = Consent(
        confirm_serial=serial_number(BlockDevice.of_node(node, roots)).value,
        confirm_device_path=str(node),
        erase_signatures=rule_id != "signature",
    )
    with pytest.raises(RefusedError) as raised, open_target(BlockTarget(node), consent, roots):
        pass
    assert f"refused [{rule_id}]" in str(raised.value)
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)
