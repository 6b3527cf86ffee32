"""Every way in which a drive of a real driver can be in use: each is refused, by the check and by the door.

For a virtual machine alone, which says so with LAB=1, with an NVMe, a SATA and a SAS drive and two paths of
scsi_debug to one disk; tests/lab/test_refusals.py boots it.
"""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from openpts.device.ata_identify import model, serial_number
from openpts.device.block_device import BlockDevice, whole_drives
from openpts.device.guard.guard import check
from openpts.device.targets.target import BlockTarget, FileTarget
from openpts.system_files import SystemRoots
from tests.support.refusals import assert_refused, hold

NVMET = Path("/sys/kernel/config/nvmet/subsystems/openpts")
LIO = Path("/sys/kernel/config/target/core/iblock_0")

pytestmark = pytest.mark.skipif(os.environ.get("LAB") != "1", reason="needs a virtual machine (LAB=1)")


def _node(serial: str, roots: SystemRoots) -> Path:
    found = [disk.node for disk in whole_drives(roots) if serial_number(disk).value == serial]
    if not found:
        pytest.skip(f"this virtual machine has no drive of serial number {serial}")
    return found[0]


@pytest.fixture
def nvme(roots: SystemRoots) -> Path:
    return _node("LABNVME0000", roots)


@pytest.fixture
def sata(roots: SystemRoots) -> Path:
    return _node("LABSATA0000", roots)


@pytest.fixture
def sas(roots: SystemRoots) -> Path:
    return _node("LABSCSI0000", roots)


@pytest.fixture(params=["LABNVME0000", pytest.param("LABSATA0000", marks=pytest.mark.slow), "LABSCSI0000"])
def drive(request: pytest.FixtureRequest, roots: SystemRoots) -> Path:
    """Each of the three in turn."""
    return _node(request.param, roots)


@pytest.fixture
def undo(request: pytest.FixtureRequest, run) -> Iterator[Callable[..., None]]:
    """What to run at the end, last first; then the drives of the test are as empty as they were."""
    names = {"drive", "nvme", "sata", "sas"}.intersection(request.fixturenames)
    nodes = [request.getfixturevalue(name) for name in sorted(names)]
    with ExitStack() as stack:
        yield lambda *command: stack.callback(run, *command)
    for node in nodes:
        run("wipefs", "--all", "--quiet", node)
        # what lay within a partition or an array shows again in the next one that begins at its place
        run("blkdiscard", node)
    run("udevadm", "settle")


@contextmanager
def _mounted(node: str, run) -> Iterator[None]:
    run("mount", node, "/mnt")
    try:
        yield
    finally:
        run("umount", "/mnt")


def _partition(node: Path, run) -> tuple[Path, Path]:
    run("sfdisk", "--quiet", "--wipe", "always", node, stdin="label: gpt\n,32M\n,32M\n")
    run("udevadm", "settle")
    separator = "p" if node.name[-1].isdecimal() else ""
    return Path(f"{node}{separator}1"), Path(f"{node}{separator}2")


def test_an_unused_drive_is_free(drive: Path, roots: SystemRoots) -> None:
    assert check(BlockTarget(drive), roots) == ()


def test_mounted(nvme: Path, undo, run, mount, roots: SystemRoots) -> None:
    run("mkfs.ext4", "-q", nvme)
    mount_point = mount(nvme)
    assert_refused(nvme, "mounted", f"{nvme} is mounted at {mount_point}", roots)


def test_a_partition_mounted(drive: Path, undo, run, mount, roots: SystemRoots) -> None:
    first, second = _partition(drive, run)
    run("mkfs.ext4", "-q", second)
    mount_point = mount(second)
    assert_refused(drive, "mounted", f"{second} is mounted at {mount_point}", roots)
    assert_refused(first, "whole-disk", f"{first} is a partition of {drive}", roots)


def test_mounted_in_another_mount_namespace(
    nvme: Path, undo, run, tmp_path: Path, cleanup: ExitStack, roots: SystemRoots
) -> None:
    run("mkfs.ext4", "-q", nvme)
    script = f"mount {nvme} {tmp_path} && echo mounted && cat && umount {tmp_path}"
    hidden = subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    cleanup.enter_context(hidden)
    assert hidden.stdout is not None
    assert hidden.stdout.readline() == b"mounted\n"
    assert_refused(nvme, "mounted", f"{tmp_path} in the mount namespace of process {hidden.pid} (", roots)


def test_swap(sata: Path, undo, run, roots: SystemRoots) -> None:
    run("mkswap", sata)
    run("swapon", sata)
    undo("swapoff", sata)
    assert_refused(sata, "swap", f"{sata} is in use as swap space", roots)


def test_a_member_of_an_array_running_and_stopped(
    nvme: Path, sata: Path, undo, run, roots: SystemRoots
) -> None:
    Path("/etc/mdadm").mkdir(exist_ok=True)
    Path("/etc/mdadm/mdadm.conf").write_text("AUTO -all\n")
    run(
        "mdadm",
        "--create",
        "/dev/md0",
        "--level=1",
        "--raid-devices=2",
        "--assume-clean",
        "--run",
        nvme,
        sata,
    )
    run("mkfs.ext4", "-q", "/dev/md0")
    with _mounted("/dev/md0", run):
        assert_refused(nvme, "holder", f"{nvme} is part of md0, and /dev/md0 is mounted at /mnt", roots)
    assert_refused(sata, "holder", f"{sata} is part of md0", roots)
    run("mdadm", "--stop", "/dev/md0")
    assert_refused(nvme, "signature", "linux_raid_member", roots)


def test_a_volume_active_and_inactive_also_on_a_partition(sas: Path, undo, run, roots: SystemRoots) -> None:
    _, second = _partition(sas, run)
    run("pvcreate", "-q", second)
    run("vgcreate", "-q", "labvg", second)
    undo("vgremove", "-q", "-f", "labvg")
    run("lvcreate", "-q", "-L", "12M", "-n", "root", "labvg")
    run("mkfs.ext4", "-q", "/dev/labvg/root")
    with _mounted("/dev/labvg/root", run):
        assert_refused(sas, "holder", "is mounted at /mnt", roots)
    run("vgchange", "-q", "-an", "labvg")
    assert_refused(sas, "signature", "gpt", roots)


def test_a_mapped_device_has_its_drive_for_itself(nvme: Path, undo, run, mount, roots: SystemRoots) -> None:
    first, second = _partition(nvme, run)
    run("dmsetup", "--noudevsync", "create", "lab", "--table", f"0 2048 linear {first} 0")
    undo("dmsetup", "--noudevsync", "remove", "--retry", "lab")
    run("udevadm", "settle")
    mapped = Path("/dev/mapper/lab").resolve()
    assert check(BlockTarget(mapped), roots) == ()
    run("mkfs.ext4", "-q", second)
    mount(second)
    assert_refused(mapped, "shared", f"beneath {mapped}, {second} is mounted", roots)


def test_a_loop_device_on_it(sas: Path, attach, roots: SystemRoots) -> None:
    loop = attach(on=sas)
    assert_refused(sas, "loop", f"{sas} is the backing store of {loop}", roots)
    assert_refused(loop, "backing", f"{loop} is a loop device over the drive {sas}", roots)


def test_open_in_another_process(sata: Path, cleanup: ExitStack, roots: SystemRoots) -> None:
    pid = hold(sata, os.O_RDONLY, cleanup)
    assert_refused(sata, "open", f"{sata} is open in process {pid} (python", roots)


@pytest.mark.parametrize("door", ["ng0n1", pytest.param("nvme0", marks=pytest.mark.slow)])
def test_an_nvme_drive_open_by_another_door(
    door: str, nvme: Path, cleanup: ExitStack, roots: SystemRoots
) -> None:
    name = nvme.name.replace("nvme", "ng") if door == "ng0n1" else nvme.name[: nvme.name.index("n", 1)]
    pid = hold(roots.dev / name, os.O_RDONLY, cleanup)
    assert_refused(nvme, "open", f"/dev/{name} is open in process {pid} (python", roots)


def test_a_disk_open_by_its_generic_node(drive: Path, cleanup: ExitStack, roots: SystemRoots) -> None:
    generic = sorted(BlockDevice.of_node(drive, roots).folder.glob("device/scsi_generic/*"))
    if not generic:
        pytest.skip("no SCSI generic node: NVMe, or the module sg is not loaded")
    pid = hold(roots.dev / generic[0].name, os.O_RDONLY, cleanup)
    assert_refused(drive, "open", f"/dev/{generic[0].name} is open in process {pid} (python", roots)


def test_served_by_the_nvme_target(sata: Path, run, cleanup: ExitStack, roots: SystemRoots) -> None:
    run("modprobe", "nvmet")
    namespace = NVMET / "namespaces/1"
    NVMET.mkdir()
    cleanup.callback(NVMET.rmdir)
    namespace.mkdir()
    cleanup.callback(namespace.rmdir)
    (namespace / "device_path").write_text(str(sata))
    assert check(BlockTarget(sata), roots) == ()
    (namespace / "enable").write_text("1")
    cleanup.callback((namespace / "enable").write_text, "0")
    assert_refused(sata, "exported", f"{sata} is served to others by the NVMe target openpts", roots)


def test_served_by_the_scsi_target(nvme: Path, run, cleanup: ExitStack, roots: SystemRoots) -> None:
    run("modprobe", "target_core_iblock")
    store = LIO / "disk"
    store.mkdir(parents=True)
    cleanup.callback(LIO.rmdir)
    cleanup.callback(store.rmdir)
    (store / "control").write_text(f"udev_path={nvme}")
    (store / "enable").write_text("1")
    assert_refused(nvme, "exported", f"{nvme} is served to others by the SCSI target disk", roots)


def test_the_other_path_to_the_same_disk_is_mounted(undo, run, mount, roots: SystemRoots) -> None:
    paths = [disk.node for disk in whole_drives(roots) if model(disk).value == "scsi_debug"]
    if len(paths) != 2:
        pytest.skip("this virtual machine has no disk with two paths")
    here, there = paths
    assert check(BlockTarget(here), roots) == ()
    run("mkfs.ext4", "-q", there)
    mount_point = mount(there)
    wwid = BlockDevice.of_node(there, roots).wwid
    words = f"{there} is the same drive ({wwid}), and {there} is mounted at {mount_point}"
    assert_refused(here, "other-path", words, roots)


def test_read_only(drive: Path, run, cleanup: ExitStack, roots: SystemRoots) -> None:
    run("blockdev", "--setro", drive)
    cleanup.callback(run, "blockdev", "--setrw", drive)
    assert_refused(drive, "read-only", f"{drive} is set read-only", roots)


@pytest.fixture
def aliased(tmp_path: Path) -> tuple[Path, Path]:
    """One file of 32 MiB by two names."""
    image, alias = tmp_path / "image", tmp_path / "alias"
    image.touch()
    os.truncate(image, 32 << 20)
    alias.hardlink_to(image)
    return image, alias


def test_an_array_of_loop_devices_over_files_used_by_another_name(
    aliased: tuple[Path, Path], attach, run, cleanup: ExitStack, roots: SystemRoots
) -> None:
    members = attach(on=aliased[0]), attach(size_bytes=32 << 20)
    options = ("--level=0", "--raid-devices=2", "--run")
    run("mdadm", "--create", "/dev/md9", *options, *members)
    cleanup.callback(run, "mdadm", "--stop", "/dev/md9")
    run("udevadm", "settle")
    array = Path("/dev/md9")
    assert check(BlockTarget(array), roots) == ()
    used = attach(on=aliased[1])
    assert_refused(array, "backing", f"is the backing store of {used}", roots)


def test_a_mapped_device_on_a_loop_device_over_a_file_used_by_another_name(
    aliased: tuple[Path, Path], attach, run, cleanup: ExitStack, roots: SystemRoots
) -> None:
    loop = attach(on=aliased[0])
    run("dmsetup", "--noudevsync", "create", "lab", "--table", f"0 2048 linear {loop} 0")
    cleanup.callback(run, "dmsetup", "--noudevsync", "remove", "--retry", "lab")
    run("udevadm", "settle")
    mapped = Path("/dev/mapper/lab").resolve()
    assert check(BlockTarget(mapped), roots) == ()
    used = attach(on=aliased[1])
    assert_refused(mapped, "backing", f"is the backing store of {used}", roots)


def test_a_file_served_by_the_nvme_target(
    aliased: tuple[Path, Path], attach, run, cleanup: ExitStack, roots: SystemRoots
) -> None:
    run("modprobe", "nvmet")
    namespace = NVMET / "namespaces/1"
    NVMET.mkdir()
    cleanup.callback(NVMET.rmdir)
    namespace.mkdir()
    cleanup.callback(namespace.rmdir)
    (namespace / "device_path").write_text(str(aliased[0]))
    (namespace / "buffered_io").write_text("1")  # the guest's root file system has no direct I/O
    (namespace / "enable").write_text("1")
    cleanup.callback((namespace / "enable").write_text, "0")
    _assert_served(aliased[1], attach, "NVMe target openpts", roots)


def test_a_file_served_by_the_scsi_target(
    aliased: tuple[Path, Path], attach, run, cleanup: ExitStack, roots: SystemRoots
) -> None:
    run("modprobe", "target_core_file")
    store = LIO.with_name("fileio_0") / "disk"
    store.mkdir(parents=True)
    cleanup.callback(store.parent.rmdir)
    cleanup.callback(store.rmdir)
    (store / "control").write_text(f"fd_dev_name={aliased[0]},fd_dev_size={32 << 20}")
    (store / "enable").write_text("1")
    _assert_served(aliased[1], attach, "SCSI target disk", roots)


def _assert_served(alias: Path, attach, target: str, roots: SystemRoots) -> None:
    (refusal,) = check(FileTarget(alias, None), roots)
    assert (refusal.rule_id, refusal.evidence) == ("exported", f"{alias} is served to others by the {target}")
    assert_refused(attach(on=alias), "backing", f"is served to others by the {target}", roots)
