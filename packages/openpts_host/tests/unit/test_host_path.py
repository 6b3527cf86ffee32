"""The links between drives and the processor of made-up machines, with rates worked out by hand."""

from pathlib import Path

import pytest

from openpts.device.block_device import BlockDevice
from openpts.device.link.kernel_threads import kernel_threads, kernel_threads_fact
from openpts.system_files import SystemRoots
from openpts.vocabulary.engine_overhead import KERNEL_THREADS, NO_KERNEL_THREADS
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts_host.link.host_path import HostPath, host_paths
from openpts_host.link.link_settings import link_settings
from openpts_host.link.path_use import path_gauge
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


def _values(name: str, roots: SystemRoots) -> dict[str, str | None]:
    facts = link_settings(BlockDevice.of_name(name, roots), roots)
    assert all(fact.source for fact in facts.values())
    return {key: fact.value for key, fact in facts.items()}


def test_an_nvme_drive_tells_its_queue_its_link_and_its_power(server) -> None:
    assert _values("nvme0n1", server) == {
        "storage_driver": "nvme 1.0",
        "numa_node": "node 1 of 2, processors 2-3,6-7",
        "scheduler": "none",
        "nomerges": "0",
        "rq_affinity": "1",
        "iostats": "1",
        "wbt_lat_usec": "2000",
        "add_random": "0",
        "nr_requests": "256 of 1023",
        "max_sectors_kb": "512 KiB of 2048 KiB",
        "poll_queues": "4",
        "interrupts": "3, which end in 2 places",
        "link": "Gen 4 x4 of Gen 5 x4",
        "aspm": "policy default; on: L1",
        "apst": "on, up to 100000 us",
        "power_state": "D0, kept awake",
        "sata_power": "none (not on SATA)",
        "disk_suspend": "none (not of a disk of NVMe)",
        "usb_suspend": "none (not on USB)",
        "iommu": "translates (DMA-FQ)",
        "aer": "correctable 2, nonfatal 0, fatal 0",
    }


def test_a_drive_that_sleeps_without_leave(server) -> None:
    tolerance = server.sys / "class/block/nvme0n1/device/power/pm_qos_latency_tolerance_us"
    tolerance.write_text("0\n")
    assert _values("nvme0n1", server)["apst"] == "off"


def test_a_sata_drive_has_no_power_states_of_nvme(server) -> None:
    values = _values("sda", server)
    assert values["storage_driver"] == "ahci, of the kernel"
    assert values["apst"] == "none (not of ATA)"
    assert values["poll_queues"] == "none (not of ATA)"
    assert values["sata_power"] == "med_power_with_dipm"
    assert values["disk_suspend"] == "may be suspended"
    assert values["usb_suspend"] == "none (not on USB)"
    assert values["nr_requests"] == "64 of 32"
    assert values["iommu"] == "off"


def test_what_a_machine_does_not_tell_is_left_open(malformed) -> None:
    values = _values("nvme0n1", malformed)
    assert values.pop("iommu") == "off"
    assert values.pop("sata_power") == "none (not on SATA)"
    assert values.pop("disk_suspend") == "none (not of a disk of NVMe)"
    assert values.pop("usb_suspend") == "none (not on USB)"
    assert set(values.values()) == {None}
