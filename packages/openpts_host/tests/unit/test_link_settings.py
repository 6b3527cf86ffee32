"""What the links of made-up machines are set to."""

from openpts.device.block_device import BlockDevice
from openpts.system_files import SystemRoots
from openpts_host.link_settings import link_settings
from tests.data.system_trees import malformed, server

__all__ = ["malformed", "server"]


def values(name: str, roots: SystemRoots) -> dict[str, str | None]:
    facts = link_settings(BlockDevice.of_name(name, roots), roots)
    assert all(fact.source for fact in facts.values())
    return {key: fact.value for key, fact in facts.items()}


def test_an_nvme_drive_tells_its_queue_its_link_and_its_power(server, golden) -> None:
    assert values("nvme0n1", server) == golden


def test_a_drive_that_sleeps_without_leave(server) -> None:
    tolerance = server.sys / "class/block/nvme0n1/device/power/pm_qos_latency_tolerance_us"
    tolerance.write_text("0\n")
    assert values("nvme0n1", server)["apst"] == "off"


def test_a_sata_drive_has_no_power_states_of_nvme(server) -> None:
    found = values("sda", server)
    assert found["storage_driver"] == "ahci, of the kernel"
    assert found["apst"] == "none (not of ATA)"
    assert found["poll_queues"] == "none (not of ATA)"
    assert found["sata_power"] == "med_power_with_dipm"
    assert found["disk_suspend"] == "may be suspended"
    assert found["usb_suspend"] == "none (not on USB)"
    assert found["nr_requests"] == "64 of 32"
    assert found["iommu"] == "off"


def test_what_a_machine_does_not_tell_is_left_open(malformed) -> None:
    found = values("nvme0n1", malformed)
    assert found.pop("iommu") == "off"
    assert found.pop("sata_power") == "none (not on SATA)"
    assert found.pop("disk_suspend") == "none (not of a disk of NVMe)"
    assert found.pop("usb_suspend") == "none (not on USB)"
    assert set(found.values()) == {None}
