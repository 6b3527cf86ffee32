"""Slow I/Os behind the kernel's own block layer and driver, in the device lab."""

from pathlib import Path

from tests.lab.machine import needs_lab, passes_in_lab

pytestmark = needs_lab

_GROUPS = "mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup"


def test_what_the_kernel_holds_back_is_not_the_drives(tmp_path: Path) -> None:
    passes_in_lab(tmp_path, "--nvme", "256M", modules="tests/lab/guest/test_outliers.py", before=_GROUPS)
