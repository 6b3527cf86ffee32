"""Whether the host is taken for the limit on a machine of its own: idle behind a slow drive, and burdened.

The machine is an emulated one, to which it is no steal that others take its processors, but a wait: seconds
in which QEMU's own threads waited for a processor are none of an idle host, and say nothing of false marks.
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from tests import ROOT
from tests.lab.machine import in_lab, needs_lab

pytestmark = [needs_lab, pytest.mark.slow]

IDLE_S, BURDENED_S = 60, 20
BURN = "import os; os.sched_setaffinity(0, {0}); os.nice(-15)\nwhile True: pass"
# a tenth of what marks a second: the clocks of the two machines and the seconds sampled are not the same
UNDISTURBED = 0.01
PERIOD_S = 0.1

Waits = list[tuple[float, dict[str, int]]]


def emulator(folder: Path) -> Path | None:
    """Of the machine that shares this folder, in /proc."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (process / "cmdline").read_bytes()
            if b"qemu-system" in words.partition(b"\0")[0] and os.fsencode(folder) in words:
                return process
    return None


@contextmanager
def waits_of_emulator(folder: Path) -> Iterator[Waits]:
    """How long each of its threads has waited for a processor, by the time of day."""
    waits: Waits = []
    ended = Event()

    def look() -> None:
        found = None
        while not ended.wait(PERIOD_S):
            found = found or emulator(folder)
            waited_ns = {}
            for task in found.glob("task/*/schedstat") if found else ():
                with suppress(OSError, IndexError):
                    waited_ns[task.parent.name] = int(task.read_text().split()[1])
            if waited_ns:
                waits.append((time.time(), waited_ns))

    thread = Thread(target=look)
    thread.start()
    try:
        yield waits
    finally:
        ended.set()
        thread.join()


def disturbance(waits: Waits, from_s: float, to_s: float) -> float:
    """The share of this time that the thread waited which waited most; 1 where nothing is known."""
    inside = [one for one in waits if from_s <= one[0] <= to_s]
    if len(inside) < (to_s - from_s) / PERIOD_S / 2:
        return 1.0
    (begin_s, before), (end_s, after) = inside[0], inside[-1]
    return max(after[task] - before.get(task, 0) for task in after) / 1e9 / (end_s - begin_s)


def found_in(path: Path) -> tuple[float, list[list[str]]]:
    """When the load began, and the marks of each of its seconds but the last, which is cut off."""
    found: dict[str, Any] = json.loads(path.read_text())
    seconds: list[list[str]] = found["seconds"][:-1]
    assert None not in seconds
    return found["begun_at"], seconds


def test_an_idle_host_is_never_the_limit_of_a_slow_drive_and_a_burdened_one_is(tmp_path: Path) -> None:
    (tmp_path / "burn.py").write_text(BURN)
    load = f"{sys.executable} -m tests.support.limited_load /dev/nvme0n1"
    with waits_of_emulator(tmp_path) as waits:
        ended = in_lab(
            tmp_path,
            "--nvme",
            "128M,iops=100",
            script=f"""
            cd {ROOT}
            {load} {IDLE_S} --cpus 0 > {tmp_path}/idle || exit 10
            for n in 1 2; do python3 {tmp_path}/burn.py & burning="$burning $!"; done
            {load} {BURDENED_S} --cpus 0 > {tmp_path}/burdened || exit 11
            kill $burning
            """,
            timeout_s=400,
        )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    _, burdened = found_in(tmp_path / "burdened")
    assert sum(map(bool, burdened)) >= 0.99 * len(burdened)
    begun_at, idle = found_in(tmp_path / "idle")
    assert len(idle) >= IDLE_S - 1
    of_idle_host = [
        marks
        for second, marks in enumerate(idle)
        if disturbance(waits, begun_at + second - 1, begun_at + second + 2) < UNDISTURBED
    ]
    assert [marks for marks in of_idle_host if marks] == []
    if len(of_idle_host) < IDLE_S / 4:
        pytest.skip(f"other work left the machine alone in {len(of_idle_host)} of {IDLE_S} s")
