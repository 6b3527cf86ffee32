"""The engine's own process and processor held back for real: what is noted of it is no time of the drive."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from openpts_nvme.outliers.causes import Cause
from tests.support.noted_ios import causes_of, noted_ios

pytestmark = [pytest.mark.on_disk, pytest.mark.slow]

STALLS = 5
STALL_S = 0.3
LIMIT_MS = 200.0
"""Longer than other work on a busy machine holds a thread back."""


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    path = tmp_path / "scratch"
    path.write_bytes(os.urandom(64 << 20))
    return path


def _in_child(text: str) -> None:
    subprocess.run([sys.executable, "-S", "-c", f"import os, signal, time\n{text}"], check=True)


def _stopped(_cpu: int) -> None:
    """By another process, as Ctrl-Z and schedulers of batches do it."""
    ours = os.getpid()
    _in_child(
        f"for _ in range({STALLS}):\n os.kill({ours}, signal.SIGSTOP); time.sleep({STALL_S})\n"
        f" os.kill({ours}, {int(signal.SIGCONT)}); time.sleep(0.2)"
    )


def _displaced(cpu: int) -> None:
    """By a program of real time on the same processor."""
    _in_child(
        f"os.sched_setaffinity(0, {{{cpu}}}); os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))\n"
        f"for _ in range({STALLS}):\n end = time.monotonic() + {STALL_S}\n"
        " while time.monotonic() < end: pass\n time.sleep(0.2)"
    )


@pytest.mark.parametrize(("plant", "cause"), [(_stopped, Cause.ENGINE), (_displaced, Cause.PROCESSOR)])
def test_what_holds_back_the_thread_has_its_own_cause(
    scratch: Path, plant: Callable[[int], None], cause: Cause
) -> None:
    cpu = max(os.sched_getaffinity(0))
    if cause is Cause.PROCESSOR and os.geteuid() != 0:
        pytest.skip("real time needs root")
    seconds = STALLS * (STALL_S + 0.2) + 1.5
    noted = noted_ios(scratch, lambda: plant(cpu), seconds=seconds, limit_ms=LIMIT_MS, cpu=cpu)
    found = causes_of(noted, continued=cause is Cause.ENGINE)
    assert found[cause] >= STALLS - 2
    assert not found[Cause.DRIVE]


def test_a_quiet_step_notes_nothing(scratch: Path) -> None:
    cpu = max(os.sched_getaffinity(0))
    assert not noted_ios(scratch, lambda: time.sleep(0.1), seconds=1, limit_ms=5000, cpu=cpu)
