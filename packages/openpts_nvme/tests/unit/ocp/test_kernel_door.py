"""The kernel's door to a drive with several controllers."""

from openpts.device.block_device import BlockDevice
from openpts.device.targets.open_target import OpenTarget
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts_nvme.drivers.dssd.kernel_door import KernelDoor
from tests.data.system_trees import server

__all__ = ["server"]


def test_a_shared_namespace_is_reset_by_its_live_controller(server) -> None:
    drive = BlockDevice.of_name("nvme2n1", server)
    subsystem = server.sys / "devices/virtual/nvme-subsystem/nvme-subsys2"
    (server.sys / "class/nvme-subsystem").mkdir(parents=True, exist_ok=True)
    (server.sys / "class/nvme-subsystem/nvme-subsys2").symlink_to(subsystem)
    (subsystem / "nvme2/state").write_text("live\n")
    (subsystem / "nvme2/device").mkdir(exist_ok=True)
    (subsystem / "nvme2/device/config").write_bytes(b"\x44\x14")
    facts = TargetFacts(TargetKind.BLOCK, drive.name, str(drive.node), 1 << 30, 512)
    assert KernelDoor(OpenTarget(-1, facts, drive)).config_space() == b"\x44\x14"
