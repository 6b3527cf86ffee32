"""Slow I/Os behind the kernel's own block layer and driver, in the device lab."""

import os
from pathlib import Path

import pytest

from tests.lab.machine import needs_lab, passes_in_lab

pytestmark = [needs_lab, pytest.mark.slow]

_NVME_TCP = f"export PYTHONPATH={os.environ.get('PYTHONPATH', '')}; modprobe nvme-tcp"
_GROUPS = "mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup"


def test_what_the_kernel_holds_back_is_not_the_drives(tmp_path: Path) -> None:
    passes_in_lab(tmp_path, "--nvme", "256M", modules="tests/lab/guest/test_outliers.py", before=_GROUPS)


def test_the_drives_own_monitor_is_set_heard_and_put_back(tmp_path: Path) -> None:
    modules = "tests/lab/guest/test_drive_monitor.py"
    told = passes_in_lab(tmp_path, modules=modules, before=_NVME_TCP, timeout_s=900)
    assert "skipped" not in told
