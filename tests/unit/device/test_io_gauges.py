"""I/O of others: on the other drives of a made-up machine, and on the target itself."""

from pathlib import Path

import pytest

from openpts.device.block_device import BlockDevice
from openpts.device.gauges import disks_below, foreign_gauge, others_gauge
from openpts.gauge import Gauge
from openpts.system_files import SystemRoots
from tests.support.transcript import Golden

# major minor name reads merged sectors ms writes merged sectors ms in-flight ms ms discards merged sectors ms
DISK_LINE = "   8       0 {} {} 0 {} 9 {} 0 {} 9 0 9 9 0 0 0 0 0 0\n"


def line(name: str, reads: int, read_sectors: int, writes: int, written_sectors: int) -> str:
    return DISK_LINE.format(name, reads, read_sectors, writes, written_sectors)


def others(server: SystemRoots, *ours: str) -> Gauge:
    (server.proc / "diskstats").touch()
    return others_gauge([BlockDevice.of_name(name, server) for name in ours], server)


def test_all_other_drives_are_summed_up_without_partitions_and_what_is_made_of_drives(
    server: SystemRoots, golden: Golden
) -> None:
    gauge = others(server, "nvme0n1")
    names = ("nvme0n1", "nvme1n1", "nvme1n1p2", "sda", "dm-0", "nvme2c2n1", "not-there")
    before = "".join(line(name, 0, 0, 0, 0) for name in names)
    after = "".join(line(name, 10, 2000, 30, 4000) for name in names)
    assert gauge.understand([before.encode()], 0) == {}
    # nvme1n1 and sda
    assert gauge.understand([after.encode()], 2 * 10**9) == {
        "others_read_bytes_per_s": 2 * 2000 * 512 / 2,
        "others_write_bytes_per_s": 2 * 4000 * 512 / 2,
        "others_ios_per_s": 2 * 40 / 2,
    }
    assert str(gauge.what) == golden


@pytest.mark.parametrize("text", ["", "8 0 sda", "8 0 sda x y z a b c d e f g\n", "\n\n"])
def test_lines_that_make_no_sense_count_nothing(text: str, server: SystemRoots) -> None:
    gauge = others(server)
    gauge.understand([b""], 0)
    assert set(gauge.understand([text.encode()], 10**9).values()) == {0}


def test_a_loop_device_lies_on_the_disk_of_its_file(server: SystemRoots) -> None:
    device = BlockDevice.of_name("nvme1n1", server)
    assert disks_below(device, device.node, server) == (device,)
    assert disks_below(None, Path("/srv/my data/x"), server)[0].name == "sdb"


def stat(reads: int, writes: int, discards: int) -> bytes:
    return f"1 0 {reads} 9 1 0 {writes} 9 0 9 9 1 0 {discards} 9 0 0\n".encode()


def test_what_the_kernel_counts_beyond_the_engines_own_is_foreign(server: SystemRoots) -> None:
    device, own = BlockDevice.of_name("nvme0n1", server), 0
    (device.folder / "stat").write_bytes(stat(0, 0, 0))
    gauge = foreign_gauge(device, lambda: own, 4096)
    assert gauge.resolution == 4096
    own = 600 * 512
    assert gauge.understand([stat(100, 200, 300)], 0) == {"foreign_bytes": 0}
    assert gauge.understand([stat(100, 200, 308)], 0) == {"foreign_bytes": 4096}
    own = 700 * 512  # asked for later than the kernel's count was read
    assert gauge.understand([stat(100, 200, 308)], 0) == {"foreign_bytes": 4096}
    assert gauge.understand([stat(200, 200, 316)], 0) == {"foreign_bytes": 8192}
    assert gauge.understand([b"1 2 3"], 0) == {}


def test_a_kernel_that_does_not_count_is_told(server: SystemRoots, golden: Golden) -> None:
    device = BlockDevice.of_name("nvme0n1", server)
    assert foreign_gauge(device, lambda: 0, 1).what is None
    (device.folder / "stat").write_bytes(stat(0, 0, 0))
    (device.folder / "queue/iostats").write_text("0\n")
    assert foreign_gauge(device, lambda: 0, 1).source == golden
