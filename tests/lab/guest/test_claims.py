"""One drive by several names of the kernel, on real drivers: a run on one of them owns the drive.

For a virtual machine alone, which says so with LAB=1, with an NVMe drive, another one of two namespaces, two
paths of scsi_debug to one disk, and without the kernel's own multipath; tests/lab/test_claims.py boots it.
"""

import os
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from openpts.device.ata_identify import model, serial_number
from openpts.device.block_device import BlockDevice, whole_drives
from openpts.device.guard.guard import check
from openpts.device.guard.rules import Refusal
from openpts.device.targets.target import BlockTarget
from openpts.system_files import SystemRoots
from tests.support.running import Running, is_named, running

NVMET = Path("/sys/kernel/config/nvmet")

pytestmark = pytest.mark.skipif(os.environ.get("LAB") != "1", reason="needs a virtual machine (LAB=1)")


def _nodes(serial: str, roots: SystemRoots) -> list[Path]:
    return [disk.node for disk in whole_drives(roots) if serial_number(disk).value == serial]


def _until(found: Callable[[], list[Path]], count: int) -> list[Path]:
    deadline_s = time.monotonic() + 30
    while len(nodes := found()) != count:
        assert time.monotonic() < deadline_s, nodes
        time.sleep(0.1)
    return nodes


def _owned(node: Path, roots: SystemRoots) -> Refusal:
    first = check(BlockTarget(node), roots)[0]
    assert first.rule_id == "owned", first
    return first


def _assert_owned(run: Running, node: Path, roots: SystemRoots) -> None:
    evidence = _owned(node, roots).evidence
    assert evidence.startswith(f"{node} belongs to run ")
    is_named(run, evidence)


def test_two_paths_to_one_scsi_disk(tmp_path: Path, roots: SystemRoots) -> None:
    here, there = (disk.node for disk in whole_drives(roots) if model(disk).value == "scsi_debug")
    serial = serial_number(BlockDevice.of_node(here, roots)).value or ""
    with running(here, tmp_path / "run", serial=serial) as run:
        _assert_owned(run, there, roots)
        for node in (here, there):  # no other program can claim either
            made = subprocess.run(["mkfs.ext4", "-q", node], capture_output=True, text=True, check=False)
            assert "in use" in made.stderr, made.stderr
        run.kill()
        assert check(BlockTarget(there), roots) == ()


def test_two_paths_to_one_nvme_drive(
    tmp_path: Path, run: Callable[..., str], attach, cleanup: ExitStack, roots: SystemRoots
) -> None:
    """Two controllers of one subsystem, as two host adapters of a fabric show them."""
    _serve(attach(size_bytes=32 << 20), run, cleanup)
    for port in ("4420", "4421"):
        run("nvme", "connect", "-t", "tcp", "-a", "127.0.0.1", "-s", port, "-n", "paths")
    cleanup.callback(run, "nvme", "disconnect", "-n", "paths")
    here, there = _until(lambda: _nodes("LABTWOPATHS", roots), 2)
    with running(here, tmp_path / "run", serial="LABTWOPATHS") as owner:
        _assert_owned(owner, there, roots)


def _serve(backing: Path, run: Callable[..., str], cleanup: ExitStack) -> None:
    for module in ("nvmet-tcp", "nvme-tcp"):
        run("modprobe", module)
    subsystem, ports = NVMET / "subsystems/paths", [NVMET / "ports/1", NVMET / "ports/2"]
    for folder in (subsystem, subsystem / "namespaces/1", *ports):
        folder.mkdir()
        cleanup.callback(folder.rmdir)
    (subsystem / "attr_allow_any_host").write_text("1")
    (subsystem / "attr_serial").write_text("LABTWOPATHS")
    (subsystem / "namespaces/1/device_path").write_text(str(backing))
    (subsystem / "namespaces/1/enable").write_text("1")
    cleanup.callback((subsystem / "namespaces/1/enable").write_text, "0")
    place = {"addr_trtype": "tcp", "addr_adrfam": "ipv4", "addr_traddr": "127.0.0.1"}
    for number, port in enumerate(ports):
        for name, value in (place | {"addr_trsvcid": f"442{number}"}).items():
            (port / name).write_text(value)
        (port / "subsystems/paths").symlink_to(subsystem)
        cleanup.callback((port / "subsystems/paths").unlink)


def test_another_namespace_of_the_drive(tmp_path: Path, roots: SystemRoots) -> None:
    here, there = _nodes("LABNVME0001", roots)
    with running(here, tmp_path / "run", serial="LABNVME0001") as run:
        _assert_owned(run, there, roots)


def test_a_drive_that_dropped_off_the_bus_and_came_back_under_another_name(
    tmp_path: Path, run: Callable[..., str], roots: SystemRoots
) -> None:
    (before,) = _nodes("LABNVME0000", roots)
    with running(before, tmp_path / "run", serial="LABNVME0000") as owner:
        run("lab-ctl", "unplug", "nvme0")
        run("lab-ctl", "plug", "nvme0")
        (after,) = _until(lambda: _nodes("LABNVME0000", roots), 1)
        assert after != before
        run("udevadm", "settle")
        run("blkdiscard", after)  # the kernel's own claim is on what is gone
        _assert_owned(owner, after, roots)
        owner.kill()
        assert check(BlockTarget(after), roots) == ()


def test_members_of_an_array(
    tmp_path: Path, run: Callable[..., str], attach, cleanup: ExitStack, roots: SystemRoots
) -> None:
    members = attach(size_bytes=32 << 20), attach(size_bytes=32 << 20)
    run("mdadm", "--create", "/dev/md9", "--level=0", "--raid-devices=2", "--run", *members)
    array = Path("/dev/md9")
    run("udevadm", "settle")
    with running(array, tmp_path / "run") as owner:
        _assert_owned(owner, array, roots)
        for member in members:
            _assert_owned(owner, member, roots)
    run("mdadm", "--stop", array)
