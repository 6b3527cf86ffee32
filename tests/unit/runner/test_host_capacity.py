"""What this host can't do that its drives may, all at once."""

import pytest
from msgspec.structs import replace

from openpts.device.block_device import BlockDevice
from openpts.runner.host_capacity import DrivenDrive, expected_limits
from openpts.system_files import SystemRoots
from openpts.vocabulary.memory_bandwidth import MemoryBandwidth
from tests.data.system_trees import server, shelf
from tests.unit.host.test_saturation_gauges import module, put

__all__ = ["server", "shelf"]

GB = 10**9
MANY = 64


def nvme(roots: SystemRoots, count: int, **rates: float) -> list[DrivenDrive]:
    """In slots from 4 on."""
    drives = []
    for number in range(count):
        device = BlockDevice.of_name(f"nvme{number}n1", roots)
        drives.append(replace(DrivenDrive.of_device(device, roots, str(4 + number)), **rates))
    return drives


def test_eight_drives_behind_one_uplink_would_need_eight_of_it(shelf, snapshot) -> None:
    for number in range(2):
        entry = put(shelf.sys / f"firmware/dmi/entries/17-{number}/raw", "")
        entry.write_bytes(module(3200))
    assert expected_limits(nvme(shelf, 8), 2, 800.0, shelf) == snapshot


@pytest.mark.parametrize(("rate", "said"), [(7.0 * GB, True), (7.2 * GB, False)])
def test_a_memory_that_was_measured_is_what_counts(rate, said, shelf, snapshot) -> None:
    """Twice the 3.53 GB/s that the drive can have, once a little less; its modules would do for both."""
    put(shelf.sys / "firmware/dmi/entries/17-0/raw", "").write_bytes(module(3200))
    memory = MemoryBandwidth(rate, measured=True, source="copies")
    drive = nvme(shelf, 1, bytes_per_s=3.53 * GB)
    found = [limit for limit in expected_limits(drive, MANY, None, shelf, memory) if "memory" in limit]
    assert bool(found) is said
    if said:
        assert found == snapshot


def test_one_drive_at_a_time_has_the_uplink_for_itself(shelf) -> None:
    assert expected_limits(nvme(shelf, 1), MANY, 100.0, shelf) == ()


@pytest.mark.parametrize(
    ("places", "said"),
    [((0, 1), "slots 4 and 5"), ((0, 1, 2), "slots 4 to 6"), ((0, 2, 5), "slots 4, 6 and 9")],
)
def test_drives_that_share_a_link_are_named_by_their_slots(places, said, shelf) -> None:
    drives = nvme(shelf, 8)
    (sentence,) = expected_limits([drives[place] for place in places], MANY, None, shelf)
    assert sentence.startswith(f"{said} share PCIe 3.0 x4")


def test_drives_that_are_slow_enough_fit(shelf) -> None:
    drives = nvme(shelf, 8, bytes_per_s=0.4 * GB, ios_per_s=50_000)
    assert expected_limits(drives, MANY, 500.0, shelf) == ()
    assert len(expected_limits(nvme(shelf, 8, bytes_per_s=0.5 * GB), MANY, None, shelf)) == 1


def test_neighbors_that_are_not_measured_are_named(shelf) -> None:
    (said,) = expected_limits(nvme(shelf, 2), MANY, None, shelf)
    assert said.endswith("and nvme2n1, nvme3n1, nvme4n1, nvme5n1, nvme6n1, nvme7n1 use it as well")


def test_disks_behind_an_expander_fit_through_two_phys_or_not(shelf) -> None:
    drives = [
        DrivenDrive.of_device(BlockDevice.of_name(name, shelf), shelf) for name in ("sda", "sdb", "sdc")
    ]
    # 12, 12 and 6 Gbit/s through 2 x 12
    (said,) = expected_limits(drives, MANY, None, shelf)
    assert said.startswith("sda, sdb and sdc share SAS 2 x 12 Gbit/s at port-0:0 (2.23 GB/s)")
    assert expected_limits(drives[1:], MANY, None, shelf) == ()


def test_a_drive_in_a_slow_slot(server, snapshot) -> None:
    drive = DrivenDrive.of_device(BlockDevice.of_name("nvme1n1", server), server)
    assert expected_limits([drive], MANY, 800.0, server) == snapshot


@pytest.mark.parametrize(("cpus", "quota", "said"), [(8, "max", 0), (4, "max", 1), (8, "400000", 1)])
def test_processors_are_those_that_a_control_group_leaves(cpus, quota, said, shelf) -> None:
    put(shelf.proc / "self/cgroup", "0::/\n")
    put(shelf.sys / "fs/cgroup/cpu.max", f"{quota} 100000\n")
    # 5 million I/Os at 500 ns: 2.5 processors, and as much again for the kernel
    drives = nvme(shelf, 5, bytes_per_s=1.0, ios_per_s=1_000_000)
    assert len(expected_limits(drives, cpus, 500.0, shelf)) == said


def test_a_drive_that_tells_nothing_is_not_judged(server) -> None:
    drive = DrivenDrive.of_device(BlockDevice.of_name("loop0", server), server)
    assert expected_limits([drive], 1, 10**6, server) == ()
