import pytest

from openpts.host.inventory import primary_storage_fact
from openpts.system_files import SystemRoots


def _with_root(roots: SystemRoots, *lines: str) -> str | None:
    (roots.proc / "self/mountinfo").write_text("".join(f"{line}\n" for line in lines))
    return primary_storage_fact(roots).value


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("1 0 259:2 / / rw - ext4 /dev/nvme1n1p1 rw", "ext4 on WD_BLACK SN850X 1000GB (nvme1n1, 1,000 GB)"),
        ("1 0 8:16 / / rw - xfs /dev/sdb rw", "xfs on XS1600LE70084 (sdb, 1,600 GB)"),
        ("1 0 0:44 / / rw - btrfs /dev/sdb rw", "btrfs on XS1600LE70084 (sdb, 1,600 GB)"),
        ("1 0 7:0 / / rw - squashfs /dev/loop0 ro", "squashfs on loop0 (1.05 MB)"),
        ("1 0 0:24 / / rw - overlay overlay rw", "overlay on overlay"),
        ("1 0 0:50 / / rw - nfs4 server:/export rw", "nfs4 on server:/export"),
    ],
)
def test_the_drive_below_the_root(line: str, text: str, server: SystemRoots) -> None:
    assert _with_root(server, line) == text


def test_what_was_mounted_last_over_the_root_counts(server: SystemRoots) -> None:
    lines = ("1 0 0:1 / / rw - rootfs rootfs rw", "27 1 8:16 / / rw - xfs /dev/sdb rw")
    assert _with_root(server, *lines) == "xfs on XS1600LE70084 (sdb, 1,600 GB)"


def test_no_root_is_left_open(server: SystemRoots) -> None:
    assert _with_root(server, "1 0 0:1 / /proc rw - proc proc rw") is None
