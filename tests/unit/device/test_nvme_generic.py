import os
from pathlib import Path

import pytest

from openpts.device.block_device import BlockDevice
from openpts.device.nvme.nvme_generic import open_nvme_generic
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import TargetError
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import TargetFacts, TargetKind

FACTS = TargetFacts(TargetKind.BLOCK, "x", "/dev/x", 1 << 30, 512)


def opened(device: BlockDevice | None, fd: int = -1) -> OpenTarget:
    return OpenTarget(fd, FACTS, device)


@pytest.mark.parametrize("name", ["sda", "nvme1n1p1"])
def test_only_a_whole_namespace_can_be_passed_commands(name: str, server: SystemRoots) -> None:
    device = BlockDevice.of_name(name, server)
    with pytest.raises(TargetError, match="not an NVMe namespace"), open_nvme_generic(opened(device)):
        pass


def test_a_file_cannot(server: SystemRoots) -> None:
    with pytest.raises(TargetError, match="not an NVMe namespace"), open_nvme_generic(opened(None)):
        pass


def test_a_namespace_without_a_generic_device_is_told(server: SystemRoots, tmp_path: Path) -> None:
    device = BlockDevice(
        BlockDevice.of_name("nvme0n1", server).folder, SystemRoots(sys=server.sys, dev=tmp_path)
    )
    held = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(TargetError, match="ng0n1 can't be opened"), open_nvme_generic(opened(device, held)):
        pass
    os.close(held)


def test_a_node_of_that_name_that_is_another_device_gets_no_commands(
    server: SystemRoots, tmp_path: Path
) -> None:
    device = BlockDevice(
        BlockDevice.of_name("nvme0n1", server).folder, SystemRoots(sys=server.sys, dev=tmp_path)
    )
    (tmp_path / "ng0n1").write_bytes(b"")
    held = os.open(tmp_path / "ng0n1", os.O_RDONLY)
    with pytest.raises(TargetError), open_nvme_generic(opened(device, held)):
        pass
    os.close(held)
