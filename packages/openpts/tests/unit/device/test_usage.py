import os
import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

from openpts.device.block_device import BlockDevice
from openpts.device.guard import usage
from openpts.device.guard.claims import ClaimKind, NamedFile, drives_behind
from openpts.device.guard.usage import read_usage
from openpts.errors import RefusedError
from openpts.system_files import Mount, SystemRoots, read_mounts


@pytest.mark.parametrize(
    ("kind", "name", "says"),
    [
        (ClaimKind.MOUNT, "nvme1n1", "nvme1n1p1 is mounted at /boot/efi"),
        (ClaimKind.MOUNT, "dm-0", "dm-0 is mounted at /"),
        (ClaimKind.MOUNT, "sdb", "sdb is mounted at /srv/my data"),
        (ClaimKind.SWAP, "sdc", "sdc2 is in use as swap space"),
        (ClaimKind.LOOP, "sdc", "sdc1 is the backing store of {dev}/loop0"),
        (ClaimKind.OPEN, "sdd", "sdd is open in process 4242 (qemu-system-x86)"),
    ],
)
def test_a_use_is_found_with_its_evidence(kind, name, says, server) -> None:
    evidence = read_usage(server).of_device(kind, BlockDevice.of_name(name, server))
    assert evidence.endswith(says.format(dev=server.dev))


@pytest.mark.parametrize("name", ["nvme0n1", "nvme2n1", "sda"])
def test_an_idle_drive_has_none(name, server) -> None:
    usage = read_usage(server)
    assert [usage.of_device(kind, BlockDevice.of_name(name, server)) for kind in ClaimKind] == len(
        ClaimKind
    ) * [None]


def test_a_source_may_be_a_link_to_the_node(virtual_machine, golden) -> None:
    by_uuid = virtual_machine.dev / "disk/by-uuid"
    by_uuid.mkdir(parents=True)
    (by_uuid / "1234").symlink_to("../../vdb")
    _append(virtual_machine, "29 27 0:50 / /mnt rw - btrfs /dev/disk/by-uuid/1234 rw")
    disk = BlockDevice.of_name("vdb", virtual_machine)
    assert str(read_usage(virtual_machine).of_device(ClaimKind.MOUNT, disk)) == golden


def test_a_mount_is_found_by_its_number_whatever_its_source_says(virtual_machine, golden) -> None:
    _append(virtual_machine, "29 27 254:16 / /mnt rw - ext4 /dev/root rw")
    disk = BlockDevice.of_name("vdb", virtual_machine)
    assert str(read_usage(virtual_machine).of_device(ClaimKind.MOUNT, disk)) == golden


def test_a_swap_file_is_a_claim_on_the_file(server) -> None:
    usage = read_usage(server)
    swap, other = (NamedFile(Path("/var") / name, None) for name in ("my swap", "other"))
    assert usage.of_file(ClaimKind.SWAP, swap) == "/var/my swap is in use as swap space"
    assert usage.of_file(ClaimKind.SWAP, other) is None


def test_our_own_process_does_not_count(server) -> None:
    own = server.proc / str(os.getpid()) / "fd"
    own.mkdir(parents=True)
    (own / "3").symlink_to("/dev/nvme0n1")
    disk = BlockDevice.of_name("nvme0n1", server)
    assert read_usage(server).of_device(ClaimKind.OPEN, disk) is None


def test_a_process_that_ends_meanwhile_is_no_error(server) -> None:
    (server.proc / "999").mkdir()
    read_usage(server)


def test_without_a_list_of_mounts_nothing_is_free(malformed) -> None:
    with pytest.raises(RefusedError, match=r"refused \[usage\].*not a line of mountinfo"):
        read_usage(malformed)
    (malformed.proc / "self/mountinfo").unlink()
    with pytest.raises(RefusedError, match=r"refused \[usage\].*No such file"):
        read_usage(malformed)


def _append(roots: SystemRoots, line: str) -> None:
    with (roots.proc / "self/mountinfo").open("a") as mountinfo:
        mountinfo.write(f"{line}\n")


def _process(roots: SystemRoots, number: str, namespace: str, mountinfo: str = "", root: str = "/") -> Path:
    folder = roots.proc / number
    (folder / "ns").mkdir(parents=True)
    (folder / "ns/mnt").symlink_to(namespace)
    (folder / "root").symlink_to(root)
    (folder / "comm").write_text("containerd-shim")
    if number != "self":
        (folder / "mountinfo").write_text(mountinfo)
    return folder


def _mount_of_container(roots: SystemRoots) -> str | None:
    return read_usage(roots).of_device(ClaimKind.MOUNT, BlockDevice.of_name("nvme0n1", roots))


ON_NVME = "90 27 259:0 / /data rw - ext4 /dev/nvme0n1 rw\n"
IN_701 = "is mounted at /data in the mount namespace of process 701 (containerd-shim)"


def test_a_mount_in_another_namespace_is_found_once_with_a_process_in_it(server) -> None:
    _process(server, "self", "mnt:[1]")
    _process(server, "700", "mnt:[1]", "of our own namespace: not read again")
    _process(server, "701", "mnt:[2]", ON_NVME)
    _process(server, "702", "mnt:[2]", "read already")
    assert _mount_of_container(server) == f"{server.dev}/nvme0n1 {IN_701}"


def test_a_process_that_ends_while_it_is_asked_hides_no_mount_of_the_others(server, monkeypatch) -> None:
    _process(server, "self", "mnt:[1]")
    ends = _process(server, "700", "mnt:[2]")
    _process(server, "701", "mnt:[2]", ON_NVME)

    def read(roots: SystemRoots, process: str = "self") -> tuple[Mount, ...]:
        if process == "700":
            shutil.rmtree(ends)
        return read_mounts(roots, process)

    monkeypatch.setattr(usage, "read_mounts", read)
    assert _mount_of_container(server) == f"{server.dev}/nvme0n1 {IN_701}"


def test_a_process_in_a_chroot_hides_no_mount_of_the_others(server) -> None:
    _process(server, "self", "mnt:[1]")
    _process(server, "700", "mnt:[2]", "", root="/run/empty")
    _process(server, "701", "mnt:[2]", ON_NVME)
    assert _mount_of_container(server) == f"{server.dev}/nvme0n1 {IN_701}"


def test_a_list_of_mounts_that_makes_no_sense_of_a_process_that_lives_frees_nothing(server) -> None:
    _process(server, "self", "mnt:[1]")
    _process(server, "701", "mnt:[2]", "90 27\n")
    with pytest.raises(RefusedError, match=r"refused \[usage\].*process 701 .*not a line of mountinfo"):
        read_usage(server)


def test_a_list_of_mounts_that_cannot_be_read_of_a_process_that_lives_frees_nothing(server) -> None:
    _process(server, "self", "mnt:[1]")
    (_process(server, "701", "mnt:[2]") / "mountinfo").unlink()
    with pytest.raises(RefusedError, match=r"refused \[usage\].*701/mountinfo"):
        read_usage(server)


def test_every_drive_of_a_btrfs_file_system_is_in_use(server) -> None:
    (server.sys / "fs/btrfs/1234-5678/devices/nvme0n1").mkdir(parents=True)
    disk = BlockDevice.of_name("nvme0n1", server)
    evidence = read_usage(server).of_device(ClaimKind.MOUNT, disk)
    assert evidence == f"{disk.node} is part of the btrfs file system 1234-5678, which is mounted"


def _nvme_target(roots: SystemRoots, place: str, path: str, enable: str) -> None:
    folder = roots.sys / "kernel/config/nvmet/subsystems/nqn.test" / place
    folder.mkdir(parents=True)
    (folder / "device_path").write_text(path)
    (folder / "enable").write_text(enable)


@pytest.mark.parametrize(
    ("place", "path", "enable", "served"),
    [
        ("namespaces/1", "/dev/nvme0n1", "1", True),
        ("namespaces/1", "/dev/nvme0n1", "0", False),
        ("namespaces/1", "/srv/image", "1", False),
        ("namespaces/1", "(null)", "0", False),
        ("passthru", "/dev/nvme0", "1", True),
    ],
)
def test_a_drive_that_the_nvme_target_serves(place, path, enable, served, server) -> None:
    disk = BlockDevice.of_name("nvme0n1", server)
    controllers = server.sys / "class/nvme"
    controllers.mkdir(exist_ok=True)
    if not (controllers / "nvme0").exists():
        (controllers / "nvme0").symlink_to(disk.folder.parent)
    _nvme_target(server, place, path, enable)
    evidence = read_usage(server).of_device(ClaimKind.EXPORT, disk)
    assert (evidence or "").endswith("is served to others by the NVMe target nqn.test") is served


def test_a_drive_that_the_scsi_target_serves(server) -> None:
    store = server.sys / "kernel/config/target/core/iblock_0/disk1"
    store.mkdir(parents=True)
    (store / "info").write_text(
        "Status: ACTIVATED  Max Queue Depth: 128\n  iBlock device: sda  UDEV PATH: (null)  readonly: 0\n"
    )
    evidence = read_usage(server).of_device(ClaimKind.EXPORT, BlockDevice.of_name("sda", server))
    assert evidence == f"{server.dev}/sda is served to others by the SCSI target disk1"


def test_a_character_device_leads_to_the_drives_behind_it(server) -> None:
    numbers = server.sys / "dev/char"
    numbers.mkdir()
    sas = BlockDevice.of_name("sdb", server).folder.parents[1]
    controller = BlockDevice.of_name("nvme0n1", server).folder.parent
    two_paths = server.sys / "devices/pci0000:80/0000:80:01.0/0000:81:00.0/nvme/nvme2"
    folders = {
        "21:1": sas / "scsi_generic/sg1",
        "249:1": sas / "bsg/1:0:0:0",
        "250:0": controller / "ng0n1",
        "251:0": controller,
        "251:2": two_paths,
        "1:3": server.sys / "devices/virtual/mem/null",
    }
    for number, folder in folders.items():
        folder.mkdir(parents=True, exist_ok=True)
        (numbers / number).symlink_to(folder)
    behind = {number: drives_behind(numbers / number) for number in (*folders, "99:99")}
    assert behind == {
        "21:1": ("sdb",),
        "249:1": ("sdb",),
        "250:0": ("nvme0n1",),
        "251:0": ("nvme0n1",),
        "251:2": ("nvme2n1",),
        "1:3": (),
        "99:99": (),
    }


def test_a_process_that_hides_what_it_has_open_is_named(server, monkeypatch) -> None:
    listed = os.scandir

    def listing(folder: Path) -> Iterable[os.DirEntry[str]]:
        if Path(folder).parts[-2:] == ("4242", "fd"):
            raise PermissionError
        return listed(folder)

    monkeypatch.setattr(os, "scandir", listing)
    assert read_usage(server).secretive == ("process 4242 (qemu-system-x86)",)


def test_a_process_that_lists_what_it_has_open_and_no_more_is_named_but_for_the_first(
    server, monkeypatch
) -> None:
    (server.proc / "1/fd").mkdir(parents=True)
    (server.proc / "1/fd/3").symlink_to("/dev/sda")
    follow = os.readlink

    def refused(link: Path | str) -> str:
        if Path(link).parts[-2] == "fd":
            raise PermissionError
        return follow(link)

    monkeypatch.setattr(os, "readlink", refused)
    assert read_usage(server).secretive == ("process 4242 (qemu-system-x86)",)


@pytest.mark.parametrize(
    ("namespace", "secretive"),
    [("pid:[4026531836]", ()), ("pid:[4026532281]", ("the processes outside of this container",))],
)
def test_in_a_container_the_processes_outside_count_as_hidden(namespace, secretive, server) -> None:
    (server.proc / "self/ns").mkdir()
    (server.proc / "self/ns/pid").symlink_to(namespace)
    assert read_usage(server).secretive == secretive


@pytest.mark.parametrize(
    ("name", "program", "user", "counts"),
    [
        ("systemd-udevd", "/usr/lib/systemd/systemd-udevd", 0, False),
        ("udevd", "/sbin/udevd", 0, False),
        ("(udev-worker)", "/usr/bin/udevadm (deleted)", 0, False),
        ("udev-worker", "/usr/bin/udevadm", 0, False),
        ("(udev-worker)", "/usr/bin/udevadm", 1000, True),
        ("(udev-worker)", "/home/me/bin/udevadm", 0, True),
        ("systemd-udevd", "/usr/bin/python3.11", 0, True),
        ("eudevour", "/usr/bin/udevadm", 0, True),
    ],
)
def test_only_udev_itself_may_have_a_drive_open(name, program, user, counts, server) -> None:
    process = server.proc / "77"
    (process / "comm").write_text(f"{name}\n")
    (process / "exe").unlink()
    (process / "exe").symlink_to(program)
    (process / "status").write_text(f"Name:\t{name}\nUid:\t{user}\t{user}\t{user}\t{user}\n")
    evidence = read_usage(server).of_device(ClaimKind.OPEN, BlockDevice.of_name("sda", server))
    assert (evidence is not None) is counts


def test_a_loop_device_that_is_detached_meanwhile_is_none(server, monkeypatch) -> None:
    """What it stored its data in can't be found any more, and would count as any file."""

    def detached(node: Path) -> None:
        (server.sys / "block" / node.name / "loop/backing_file").unlink()

    assert any(claim.loop for claim in read_usage(server).claims)
    monkeypatch.setattr(usage, "loop_backing", detached)
    assert not any(claim.loop for claim in read_usage(server).claims)
