"""The links between drives and the processor of made-up machines, with rates worked out by hand."""

import pytest

from openpts.device.block_device import BlockDevice
from openpts.system_files import SystemRoots
from openpts_drives.link import HostPath, host_paths, path_gauge
from tests.data.system_trees import server, shelf

__all__ = ["server", "shelf"]

# PCIe 3.0: 8 GT/s, 128 of 130 bits, 4 lanes; packets of 256 B with 24 B around them, 3 % for the link itself
GEN_3_X4 = 8e9 * 128 / 130 / 8 * 4 * 256 / 280 * 0.97
# SAS at 12 Gbit/s: 8 of 10 bits, 7 % for frames and primitives
SAS_12 = 12e9 * 8 / 10 / 8 * 0.93


def path(name: str, roots: SystemRoots) -> HostPath:
    (found,) = host_paths((BlockDevice.of_name(name, roots),), roots)
    return found


def test_drives_behind_a_switch_share_its_uplink(shelf) -> None:
    found = path("nvme3n1", shelf)
    own, uplink = found.links
    assert (own.disks, own.payload_bytes_per_s) == (("nvme3n1",), pytest.approx(GEN_3_X4))
    assert uplink.disks == tuple(f"nvme{n}n1" for n in range(8))
    assert uplink.payload_bytes_per_s == pytest.approx(GEN_3_X4)
    assert found.of_host == (uplink,)


def test_disks_behind_an_expander_share_its_phys_and_the_adapters_link(shelf) -> None:
    found = path("sdc", shelf)
    assert [(link.disks, link.name.split(" at ")[0]) for link in found.links] == [
        (("sdc",), "SAS 1 x 6 Gbit/s"),
        (("sda", "sdb", "sdc"), "SAS 2 x 12 Gbit/s"),
    ]
    assert [link.payload_bytes_per_s for link in found.links] == pytest.approx([SAS_12 / 2, 2 * SAS_12])
    assert [link.name for link in found.of_host] == ["SAS 2 x 12 Gbit/s at port-0:0"]


def test_a_link_that_is_slower_than_its_drive_is_the_hosts(server) -> None:
    assert [link.name for link in path("nvme0n1", server).of_host] == ["PCIe 4.0 x4 at 0000:42:00.0"]
    # behind a bridge that is slower still
    assert [link.name for link in path("nvme1n1", server).of_host] == ["PCIe 3.0 x2 at 0000:00:03.1"]
    assert path("sda", server).of_host == ()


def test_several_namespaces_of_a_drive_do_not_share_its_link(shelf) -> None:
    folder = BlockDevice.of_name("nvme3n1", shelf).folder
    second = folder.with_name("nvme3n2")
    second.mkdir()
    for name in ("size", "dev"):
        (second / name).write_text((folder / name).read_text())
    (second / "device").symlink_to("../../nvme3")
    (shelf.sys / "block/nvme3n2").symlink_to(second)
    own, uplink = path("nvme3n1", shelf).links
    assert (own.disks, own.is_shared) == (("nvme3n1", "nvme3n2"), False)
    assert (len(uplink.disks), uplink.ends) == (9, 8)


def test_what_is_made_of_others_has_no_links(server) -> None:
    assert path("loop0", server).links == ()
    gauge = path_gauge((BlockDevice.of_name("loop0", server),), server)
    assert gauge.what is None


def diskstats(**sectors: tuple[int, int]) -> bytes:
    lines = (f"8 0 {name} 1 0 {read} 0 1 0 {written} 0 0 0 0\n" for name, (read, written) in sectors.items())
    return "".join(lines).encode()


def test_the_use_of_a_link_is_that_of_all_drives_behind_it_in_the_busier_direction(shelf, golden) -> None:
    (shelf.proc / "diskstats").touch()
    gauge = path_gauge((BlockDevice.of_name("nvme3n1", shelf),), shelf)
    assert str(gauge.what) == golden
    half = round(GEN_3_X4 / 512 / 2)
    before = diskstats(nvme3n1=(5, 5), nvme7n1=(5, 5), sda=(5, 5))
    # in 2 s: the neighbor read what the link carries in 1 s, this drive a quarter of that, others more
    after = diskstats(nvme3n1=(5 + half // 2, 5), nvme7n1=(5 + 2 * half, 5 + half), sda=(5 + 9 * half, 5))
    assert gauge.understand([before], 0) == {}
    assert gauge.understand([after], 2 * 10**9) == {"path_0_use_pct": pytest.approx(62.5, rel=1e-6)}


def test_drives_that_the_kernel_does_not_count_are_named(shelf, golden) -> None:
    (shelf.proc / "diskstats").touch()
    device = BlockDevice.of_name("nvme3n1", shelf)
    (device.folder / "queue").mkdir()
    (device.folder / "queue/iostats").write_text("0\n")
    assert str(path_gauge((device,), shelf).what) == golden
