"""An I/O that a control group holds back is not the drive's: the driver had none when the thread looked."""

import os
import time
from pathlib import Path

import pytest

from openpts_nvme.outliers.causes import Cause
from tests.support.noted_ios import causes_of, noted_ios

DRIVE = Path("/dev/nvme0n1")
GROUP = Path("/sys/fs/cgroup/stalled")
STALLS = 4

pytestmark = pytest.mark.skipif(os.environ.get("LAB") != "1", reason="needs a virtual machine (LAB=1)")


def _limit() -> None:
    number = DRIVE.stat().st_rdev
    device = f"{os.major(number)}:{os.minor(number)}"
    for _ in range(STALLS):
        (GROUP / "io.max").write_text(f"{device} riops=2")
        time.sleep(2)
        (GROUP / "io.max").write_text(f"{device} riops=max")
        time.sleep(0.5)


def test_a_limit_of_a_control_group_is_the_kernels_queue() -> None:
    (GROUP.parent / "cgroup.subtree_control").write_text("+io")
    GROUP.mkdir(exist_ok=True)
    (GROUP / "cgroup.procs").write_text(str(os.getpid()))
    try:
        noted = noted_ios(DRIVE, _limit, seconds=2.5 * STALLS + 1, limit_ms=200, cpu=1)
    finally:
        (GROUP.parent / "cgroup.procs").write_text(str(os.getpid()))
    found = causes_of(noted)
    assert found[Cause.KERNEL_QUEUE] >= STALLS, noted
    assert not found[Cause.DRIVE], noted
