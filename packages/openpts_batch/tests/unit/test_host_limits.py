"""Before a batch begins it says which part of the host is too slow for its drives together."""

from openpts.device.block_device import BlockDevice
from openpts_batch.chosen_drives import LocatedDrive, limits_together
from tests.data.system_trees import server, shelf

__all__ = ["server", "shelf"]

MANY = 64


def test_drives_that_share_a_link_are_counted_together(shelf) -> None:
    drives = [
        LocatedDrive(name, (name,), BlockDevice.of_name(name, shelf), slot=str(slot))
        for slot, name in enumerate(("nvme0n1", "nvme1n1", "nvme2n1"), start=4)
    ]
    found = [limit for limit in limits_together(drives, MANY, shelf) if "PCIe" in limit]
    assert len(found) == 1
    assert found[0].startswith("slots 4 to 6 share PCIe 3.0 x4")
    assert not [limit for limit in limits_together(drives[:1], MANY, shelf) if "PCIe" in limit]


def test_what_is_no_device_has_no_link(shelf) -> None:
    assert limits_together([LocatedDrive("sim:mlc", ("sim:mlc",))], MANY, shelf) == ()
