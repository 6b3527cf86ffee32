import pytest

from openpts.device.block_device import BlockDevice
from openpts.device.identity.interface import host_bus_adapter, interface
from openpts.device.nvme.nvme_identify import NvmeController


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("nvme0n1", "NVMe over PCIe"),
        ("nvme2n1", "NVMe over PCIe"),
        ("sda", "SATA, 6.0 Gbps"),
        ("sdb", "SAS, 12.0 Gbit"),
        ("sdc", "SAS"),
        ("loop0", "loop"),
        ("dm-0", None),
    ],
)
def test_interface_and_speed(name, text, server) -> None:
    assert interface(BlockDevice.of_name(name, server), None).value == text


def test_the_version_of_an_identified_controller_is_told(server, golden) -> None:
    controller = NvmeController(ver=0x20000, oacs=0, sanicap=0, oncs=0, fna=0, vwc=0)
    fact = interface(BlockDevice.of_name("nvme0n1", server), controller)
    assert fact.value == "NVMe 2.0 over PCIe"
    assert fact.source == golden


@pytest.mark.parametrize(
    ("transport", "interface_text", "adapter"),
    [("tcp", "NVMe over TCP", None), ("loop", "NVMe over loop", None)],
)
def test_nvme_over_fabrics(transport, interface_text, adapter, server) -> None:
    disk = BlockDevice.of_name("nvme0n1", server)
    (disk.folder / "device/transport").write_text(transport)
    assert interface(disk, None).value == interface_text
    assert host_bus_adapter(disk, server).value is adapter


def test_a_sata_drive_behind_a_sas_adapter_says_so(server) -> None:
    disk = BlockDevice.of_name("sdb", server)
    (disk.folder / "device/vendor").write_text("ATA     ")
    assert interface(disk, None).value == "SATA behind SAS, 12.0 Gbit"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("nvme0n1", "none (direct PCIe)"),
        ("nvme2n1", "none (direct PCIe)"),
        ("sda", "Intel Corporation C620 Series Chipset Family SATA Controller [AHCI mode], driver ahci"),
        ("sdb", "Broadcom / LSI Fusion-MPT 24GSAS/PCIe SAS40xx, driver mpt3sas, firmware 24.00.00.00"),
        ("loop0", None),
    ],
)
def test_the_adapter_has_name_driver_and_firmware(name, text, server) -> None:
    assert host_bus_adapter(BlockDevice.of_name(name, server), server).value == text


def test_without_pci_ids_the_adapter_has_numbers(server) -> None:
    (server.share / "misc/pci.ids").unlink()
    fact = host_bus_adapter(BlockDevice.of_name("sda", server), server)
    assert fact.value == "PCI 8086:a182, driver ahci"
