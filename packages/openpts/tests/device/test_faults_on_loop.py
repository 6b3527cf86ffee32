"""What the kernel says of an open target that is no longer as it was opened, by loop devices and a file."""

import os
from collections.abc import Callable
from pathlib import Path

from openpts.device.guard.guard import open_target
from openpts.device.targets.target import BlockTarget, FileTarget
from openpts.system_files import SystemRoots
from openpts.units import MIB
from openpts.vocabulary.purge import Consent


def test_a_device_that_shrinks_or_becomes_read_only(
    attach: Callable[..., Path], run: Callable[..., str], tmp_path: Path
) -> None:
    backing = tmp_path / "backing"
    backing.touch()
    os.truncate(backing, 64 * MIB)
    node = attach(on=backing)
    consent = Consent(confirm_device_path=str(node))
    with open_target(BlockTarget(node), consent, SystemRoots()) as target:
        assert target.fault is None
        run("blockdev", "--setro", node)
        assert target.fault == f"{node} has become read-only: see dmesg"
        run("blockdev", "--setrw", node)
        assert target.fault is None
        os.truncate(backing, 32 * MIB)
        run("losetup", "--set-capacity", node)
        assert target.fault == f"{node} has 33,554,432 bytes now, and had 67,108,864 when the test began"


def test_a_file_that_shrinks_and_one_that_grows(tmp_path: Path) -> None:
    path = tmp_path / "scratch"
    with open_target(FileTarget(path, MIB), Consent(), SystemRoots()) as target:
        os.truncate(path, 2 * MIB)
        assert target.fault is None
        os.truncate(path, MIB // 2)
        assert target.fault == f"{path} has 524,288 bytes now, and had 1,048,576 when the test began"
