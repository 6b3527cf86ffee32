"""Layers that hand I/O on in threads of the kernel, of made-up machines."""

from pathlib import Path

import pytest

from openpts.device.block_device import BlockDevice
from openpts.device.link import kernel_threads, kernel_threads_fact
from openpts.system_files import SystemRoots
from openpts.vocabulary.engine_overhead import KERNEL_THREADS, NO_KERNEL_THREADS
from openpts.vocabulary.facts import TargetFacts, TargetKind
from tests.data.system_trees import server

__all__ = ["server"]


@pytest.fixture
def roots(tmp_path) -> SystemRoots:
    for name in ("sys/class/block", "sys/dev/block", "sys/devices", "proc/self", "dev"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_text("")
    return SystemRoots(sys=tmp_path / "sys", proc=tmp_path / "proc", dev=tmp_path / "dev")


def make(roots: SystemRoots, place: str, **attributes: str) -> Path:
    """A device at a place below /sys/devices, with files by their names (``__`` for a slash)."""
    folder = roots.sys / "devices" / place
    folder.mkdir(parents=True)
    for name, text in attributes.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    (roots.sys / "class/block" / folder.name).symlink_to(folder)
    return folder


def on(roots: SystemRoots, folder: Path, part: Path) -> None:
    (folder / "slaves").mkdir(exist_ok=True)
    (folder / "slaves" / part.name).symlink_to(part)


def layers(roots: SystemRoots, name: str) -> tuple[str, ...]:
    return kernel_threads(BlockDevice.of_name(name, roots))


@pytest.mark.parametrize(
    ("place", "attributes", "layer"),
    [
        ("virtual/block/loop3", {}, "loop3: loop driver"),
        ("virtual/block/nbd0", {}, "nbd0: network block device"),
        ("virtual/block/ublkb1", {}, "ublkb1: a program in user space, by ublk"),
        ("virtual/block/dm-0", {"dm__uuid": "CRYPT-LUKS2-0123-x"}, "dm-0: encryption by dm-crypt"),
        ("virtual/block/dm-1", {"dm__uuid": "CRYPT-VERITY-0123-x"}, "dm-1: verification by dm-verity"),
        ("virtual/block/md5", {"md__level": "raid5"}, "md5: parity of raid5"),
        (
            "platform/host3/session1/target3:0:0/3:0:0:1/block/sdc",
            {"device__scsi_level": "7"},
            "sdc: iSCSI over TCP",
        ),
    ],
)
def test_each_layer_is_named(roots, place, attributes, layer) -> None:
    make(roots, place, **attributes)
    host = roots.sys / "devices/platform/host3/scsi_host/host3"
    host.mkdir(parents=True)
    (host / "proc_name").write_text("iscsi_tcp\n")
    assert layers(roots, Path(place).name) == (layer,)


@pytest.mark.parametrize(
    ("transport", "found"), [("pcie", ()), ("tcp", ("nvme1n1: NVMe over TCP",)), ("fc", ())]
)
def test_nvme_goes_by_its_transport(roots, transport, found) -> None:
    folder = make(roots, "virtual/nvme/nvme1/nvme1n1")
    (folder.parent / "transport").write_text(transport + "\n")
    (folder / "device").symlink_to(folder.parent)
    assert layers(roots, "nvme1n1") == found


@pytest.mark.parametrize(
    "attributes", [{"dm__uuid": "LVM-abc"}, {"dm__uuid": "mpath-360"}, {"md__level": "raid1"}, {}]
)
def test_what_hands_on_in_the_callers_thread_is_none(roots, attributes) -> None:
    make(roots, "virtual/block/dm-0", **attributes)
    assert layers(roots, "dm-0") == ()


def test_all_layers_down_to_the_disk_are_found(roots) -> None:
    crypt = make(roots, "virtual/block/dm-0", dm__uuid="CRYPT-LUKS2-0123-x", dev="254:0")
    on(roots, crypt, make(roots, "virtual/block/md5", md__level="raid5"))
    (roots.sys / "dev/block/254:0").symlink_to(crypt)
    (roots.proc / "self/mountinfo").write_text("22 1 254:0 / /data rw - ext4 /dev/mapper/x rw\n")
    make(roots, "virtual/block/loop0", loop__backing_file="/data/image")
    expected = ("loop0: loop driver", "dm-0: encryption by dm-crypt", "md5: parity of raid5")
    assert layers(roots, "loop0") == expected
    target = TargetFacts(TargetKind.FILE, "scratch", "/data/scratch", 1 << 30, 512)
    assert kernel_threads_fact(target, roots)[KERNEL_THREADS].value == "; ".join(expected[1:])


def test_a_disk_of_its_own_has_none(server) -> None:
    for name in ("nvme0n1", "sda"):
        target = TargetFacts(TargetKind.BLOCK, name, f"/dev/{name}", 1 << 30, 512)
        assert kernel_threads_fact(target, server)[KERNEL_THREADS].value == NO_KERNEL_THREADS


def test_without_a_device_below_nothing_is_said(roots) -> None:
    for kind, name in ((TargetKind.FILE, "scratch"), (TargetKind.BLOCK, "sdz")):
        assert kernel_threads_fact(TargetFacts(kind, name, f"/{name}", 1 << 30, 512), roots) == {}
