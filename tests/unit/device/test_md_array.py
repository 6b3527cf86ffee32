"""The shape of md arrays, read from a made-up sysfs, and the orders that take them apart and make them anew.

The attributes and the words of mdadm for each were seen on arrays of a virtual machine: Linux 6.1, mdadm 4.2.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from openpts.device.block_device import BlockDevice
from openpts.device.md_array import create_array, is_array, read_array, stop_array, sync_progress
from openpts.errors import TargetError
from openpts.programs import Answer
from openpts.system_files import SystemRoots
from tests.support.program_answers import no_programs

RAID5 = {
    "level": "raid5",
    "chunk_size": "65536",
    "layout": "2",
    "metadata_version": "1.2",
    "raid_disks": "3",
    "degraded": "0",
    "sync_action": "idle",
    "bitmap/location": "none",
}


EXPORT = """\
MD_LEVEL=raid5
MD_DEVICES=3
MD_METADATA=1.2
MD_UUID=c42611dd:2fe5529e:4dfd6fd8:2b8d3a42
MD_NAME=lab:0
MD_DEVICE_dev_nvme2n1_ROLE=2
MD_DEVICE_dev_nvme2n1_DEV=/dev/nvme2n1
"""


class Mdadm:
    """Keeps the orders that change something; answers as it was told."""

    def __init__(self, returncode: int = 0, stderr: str = "", export: str = EXPORT) -> None:
        self.orders: list[tuple[str, ...]] = []
        self._answer = (returncode, stderr)
        self._export = export

    def __call__(self, command: Sequence[str], timeout_s: float, *, to_the_end: bool = False) -> Answer:
        assert timeout_s > 0
        assert to_the_end
        if "--export" in command:
            return Answer(tuple(command), 0, self._export, "", 1)
        self.orders.append(tuple(command))
        returncode, stderr = self._answer
        return Answer(tuple(command), returncode, "", stderr, 1)


def made_up_array(root: Path, members: Sequence[str] = ("in_sync",) * 3, **attributes: str) -> BlockDevice:
    md = root / "devices/virtual/block/md0/md"
    for name, text in {**RAID5, **attributes}.items():
        path = md / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    for number, state in enumerate(members):
        disk = root / f"devices/pci0/nvme{number}n1"
        disk.mkdir(parents=True)
        folder = md / f"dev-nvme{number}n1"
        folder.mkdir()
        # the second drive has the last place: order is that of the places
        slot = {0: "0", 1: str(len(members) - 1), 2: "1"}.get(number, str(number - 1))
        (folder / "slot").write_text("none\n" if state in {"spare", "journal"} else f"{slot}\n")
        (folder / "state").write_text(f"{state}\n")
        (folder / "block").symlink_to(disk)
    return BlockDevice(md.parent, SystemRoots(sys=root, dev=Path("/dev")))


def test_an_array_is_made_again_of_the_same_drives_in_the_same_places(tmp_path: Path) -> None:
    array = read_array(made_up_array(tmp_path), Mdadm())
    assert str(array) == "raid5 of 3 drives, chunk 64 KiB, left-symmetric"
    mdadm = Mdadm()
    stop_array(array, mdadm)
    create_array(array, mdadm, assume_clean=True)
    stop, create = mdadm.orders
    assert stop == ("mdadm", "--stop", "/dev/md0")
    assert create[:3] == ("mdadm", "--create", "/dev/md0")
    assert set(create[3:-3]) == {
        "--run",
        "--quiet",
        "--metadata=1.2",
        "--level=5",
        "--raid-devices=3",
        "--bitmap=none",
        "--chunk=64K",
        "--layout=left-symmetric",
        "--assume-clean",
        "--uuid=c42611dd:2fe5529e:4dfd6fd8:2b8d3a42",
        "--homehost=lab",
        "--name=0",
    }
    assert create[-3:] == ("/dev/nvme0n1", "/dev/nvme2n1", "/dev/nvme1n1")


@pytest.mark.parametrize(
    ("level", "number", "word"),
    [
        ("raid10", 258, "n2"),  # near 2, far 1
        ("raid10", 513, "f2"),  # near 1, far 2
        ("raid10", 513 | 65536, "o2"),
        ("raid6", 0, "left-asymmetric"),
        ("raid6", 3, "right-symmetric"),
    ],
)
def test_layouts_have_the_words_of_mdadm(level: str, number: int, word: str, tmp_path: Path) -> None:
    device = made_up_array(tmp_path, ("in_sync",) * 4, level=level, layout=str(number), raid_disks="4")
    mdadm = Mdadm()
    create_array(read_array(device, Mdadm()), mdadm, assume_clean=False)
    assert f"--layout={word}" in mdadm.orders[0]
    assert "--assume-clean" not in mdadm.orders[0]


def test_what_has_no_redundancy_has_nothing_to_assume(tmp_path: Path) -> None:
    device = made_up_array(tmp_path, level="raid0", layout="0", sync_action="")
    mdadm = Mdadm()
    create_array(read_array(device, Mdadm()), mdadm, assume_clean=True)
    assert not {"--assume-clean", "--layout=None"} & set(mdadm.orders[0])


def test_a_bitmap_is_made_again(tmp_path: Path) -> None:
    device = made_up_array(tmp_path, **{"bitmap/location": "+8"})
    mdadm = Mdadm()
    create_array(read_array(device, Mdadm()), mdadm, assume_clean=True)
    assert "--bitmap=internal" in mdadm.orders[0]


@pytest.mark.parametrize(
    ("members", "attributes", "says"),
    [
        (("in_sync", "in_sync"), {}, "is degraded: 2 of 3 members"),
        (("in_sync", "in_sync", "faulty"), {}, "is degraded: 2 of 3 members"),
        (("in_sync",) * 3, {"degraded": "1"}, "is degraded"),
        (("in_sync", "in_sync", "spare"), {}, r"has nvme2n1 \(spare\) besides its members"),
        (("in_sync", "in_sync", "in_sync", "spare"), {}, r"has nvme3n1 \(spare\) besides its members"),
        (("in_sync", "in_sync", "in_sync", "journal"), {}, r"has nvme3n1 \(journal\) besides"),
        (("in_sync",) * 3, {"sync_action": "resync"}, "is busy with a resync"),
        (("in_sync",) * 3, {"sync_action": "reshape"}, "is busy with a reshape"),
        (("in_sync",) * 3, {"metadata_version": "external:imsm"}, "metadata as external:imsm"),
        (("in_sync",) * 3, {"level": "container"}, "is a container array"),
    ],
)
def test_what_can_not_be_made_again_is_not_taken_apart(
    members: Sequence[str], attributes: dict[str, str], says: str, tmp_path: Path
) -> None:
    with pytest.raises(TargetError, match=says):
        read_array(made_up_array(tmp_path, members, **attributes), Mdadm())


@pytest.mark.parametrize(
    ("export", "words"),
    [
        ("MD_NAME=host:data:2\n", {"--homehost=host", "--name=data:2"}),
        ("MD_NAME=data\n", {"--name=data"}),
        ("MD_LEVEL=raid5\n", set()),
        ("", set()),
    ],
)
def test_an_array_keeps_the_name_that_it_has(export: str, words: set[str], tmp_path: Path) -> None:
    mdadm = Mdadm(export=export)
    create_array(read_array(made_up_array(tmp_path), mdadm), mdadm, assume_clean=True)
    assert {word for word in mdadm.orders[0] if word.startswith(("--homehost", "--name"))} == words


def test_a_disk_is_no_array(tmp_path: Path) -> None:
    (tmp_path / "sda").mkdir()
    disk = BlockDevice(tmp_path / "sda", SystemRoots(sys=tmp_path, dev=Path("/dev")))
    assert not is_array(disk)
    with pytest.raises(TargetError, match="is not an md array"):
        read_array(disk, Mdadm())


def test_what_mdadm_has_against_it_is_told(tmp_path: Path) -> None:
    array = read_array(made_up_array(tmp_path), Mdadm())
    mdadm = Mdadm(1, "mdadm: failed to stop array /dev/md0: Device or resource busy\n")
    with pytest.raises(TargetError, match=r"can't stop /dev/md0: mdadm: failed to stop .* busy"):
        stop_array(array, mdadm)


def test_an_absent_mdadm_is_named_with_its_package(tmp_path: Path) -> None:
    array = read_array(made_up_array(tmp_path), Mdadm())

    with pytest.raises(TargetError, match="install the package mdadm"):
        stop_array(array, no_programs)


@pytest.mark.parametrize(
    ("action", "completed", "share"),
    [
        ("idle", "none", None),
        ("resync", "1000 / 4000", 0.25),
        ("resync", "delayed", 0.0),
        ("resync", "none", 0.0),
        ("recover", "3 / 0", 0.0),
    ],
)
def test_how_far_a_resync_is(action: str, completed: str, share: float | None, tmp_path: Path) -> None:
    device = made_up_array(tmp_path, sync_action=action, sync_completed=completed)
    assert sync_progress(device) == share
