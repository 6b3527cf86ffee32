import pytest
from hypothesis import given
from hypothesis import strategies as st

from openpts.device import identity
from openpts.device.ata_identify import serial_number, unit_serial_number
from openpts.device.block_device import BlockDevice
from openpts.device.identity import dut_facts
from openpts.device.nvme_admin import parse_identify_controller
from openpts.errors import TargetError
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import Facts, TargetFacts, TargetKind
from tests import DATA

RECORDED = DATA / "identify/qemu-nvme-identify-controller.bin"
KEYS = {
    "manufacturer", "model", "serial", "slot", "firmware", "capacity", "interface", "form_factor", "media",
    "nand_type", "features", "sector", "file_system", "pcie", "hba",
}  # fmt: skip


def _drive_facts(name: str, roots: SystemRoots) -> Facts:
    facts = dut_facts(TargetFacts(TargetKind.BLOCK, name, f"/dev/{name}", 3840755982336, 512), roots)
    assert set(facts) == KEYS
    assert all(fact.source for fact in facts.values())
    return facts


def _file_facts(path: str, roots: SystemRoots) -> Facts:
    facts = dut_facts(TargetFacts(TargetKind.FILE, "x", path, 536870912, 4096), roots)
    assert set(facts) == KEYS - {"slot"}
    return facts


def test_an_nvme_drive(server, monkeypatch) -> None:
    (server.dev / "nvme0n1").touch()
    controller = parse_identify_controller(RECORDED.read_bytes())
    monkeypatch.setattr(identity, "identify_controller", lambda fd: controller)
    values = {key: fact.value for key, fact in _drive_facts("nvme0n1", server).items()}
    assert values == {
        "manufacturer": "Samsung Electronics Co Ltd",
        "model": "SAMSUNG MZWLO3T8HCLS-00A07",
        "serial": "S795NC0T100001",
        "slot": None,
        "firmware": "OPPA4B5Q",
        "capacity": "3,841 GB (3,840,755,982,336 bytes)",
        "interface": "NVMe 1.4 over PCIe",
        "form_factor": None,
        "media": None,
        "nand_type": None,
        "features": "Format NVM, Deallocate, Write Zeroes, volatile write cache",
        "sector": "512 B logical, 4096 B physical",
        "file_system": "none (raw block device)",
        "pcie": "Gen 4 x4 of Gen 5 x4",
        "hba": "none (direct PCIe)",
    }


def test_a_controller_that_cannot_be_asked_leaves_its_facts_open(server, golden) -> None:
    facts = _drive_facts("nvme0n1", server)
    assert facts["features"].value is None
    assert facts["features"].source == golden
    (server.dev / "nvme0n1").touch()
    assert _drive_facts("nvme0n1", server)["features"].source == golden


def test_a_sata_drive_by_its_identify_page(server) -> None:
    facts = _drive_facts("sda", server)
    assert facts["manufacturer"].value is None
    assert facts["model"].value == "QEMU HARDDISK"
    assert facts["model"].source.endswith("sda/device/vpd_pg89")
    assert facts["firmware"].value == "2.5+"
    assert facts["features"].value == "NCQ, queue depth 32, TRIM, volatile write cache"


def test_a_sas_drive_by_its_inquiry(server) -> None:
    facts = _drive_facts("sdb", server)
    assert facts["manufacturer"].value == "SEAGATE"
    assert facts["model"].value == "XS1600LE70084"
    assert facts["firmware"].value == "0004"
    assert facts["form_factor"].value == "2.5 inch"
    assert facts["sector"].value == "4096 B logical"


def test_a_vendor_that_pci_ids_does_not_know_has_a_number(server) -> None:
    assert _drive_facts("nvme2n1", server)["manufacturer"].value == "PCI vendor 0x1e0f"


def test_what_the_firmware_says_is_made_harmless(malformed) -> None:
    facts = _drive_facts("nvme0n1", malformed)
    replaced = "\N{REPLACEMENT CHARACTER}"
    assert facts["model"].value == f"EVIL{replaced}[31m MODEL{replaced}{replaced}"
    assert facts["serial"].value == f"{replaced}SN"
    assert facts["firmware"].value is None
    assert facts["manufacturer"].value is None
    assert facts["pcie"].value is None


def test_malformed_pages_leave_facts_open(malformed) -> None:
    facts = _drive_facts("sda", malformed)
    open_keys = (
        "manufacturer", "model", "serial", "firmware", "form_factor", "features", "sector", "pcie", "hba",
    )  # fmt: skip
    assert all(facts[key].value is None for key in open_keys)


@pytest.mark.parametrize(
    ("path", "model"),
    [
        ("/data/x", "file on ext4 on WD_BLACK SN850X 1000GB (nvme1n1)"),
        ("/boot/efi/x", "file on vfat on WD_BLACK SN850X 1000GB (nvme1n1)"),
        ("/srv/my data/x", "file on btrfs on XS1600LE70084 (sdb)"),
    ],
)
def test_a_file_is_labeled_with_what_is_below_it(path, model, server) -> None:
    facts = _file_facts(path, server)
    assert facts["model"].value == model
    assert facts["serial"].value is None
    assert facts["capacity"].value == "537 MB (536,870,912 bytes)"
    assert facts["sector"].value == "4096 B"


def test_a_file_has_a_file_system_with_version_and_options(server) -> None:
    facts = _file_facts("/srv/my data/x", server)
    assert facts["file_system"].value == (
        "btrfs of Linux 6.8.0-45-generic, rw,noatime, mounted at /srv/my data"
    )
    assert facts["interface"].value == "file system btrfs"


def test_a_drive_below_without_a_model_has_its_kind(virtual_machine) -> None:
    assert _file_facts("/x", virtual_machine)["model"].value == "file on btrfs on vda (virtio)"
    assert _file_facts("/ramdisk/x", virtual_machine)["model"].value == "file on tmpfs on tmpfs"


def test_without_mountinfo_a_file_is_on_something(malformed) -> None:
    facts = _file_facts("/x", malformed)
    assert facts["model"].value is None
    assert facts["file_system"].value is None


def test_a_drive_that_has_gone_is_a_target_error(server) -> None:
    disk = BlockDevice.of_name("nvme0n1", server)
    (server.sys / "class/block" / disk.name).unlink()
    with pytest.raises(TargetError, match="not known to the kernel"):
        _drive_facts("nvme0n1", server)


@pytest.mark.parametrize(
    ("name", "serial", "source"),
    [
        ("nvme0n1", "S795NC0T100001", "nvme0n1/device/serial"),
        ("nvme2n1", "61A0A000T5MM", "nvme2n1/device/serial"),
        ("sda", "LABSATA0000", "sda/device/vpd_pg80"),
        ("sdb", "HLJ00101", "sdb/device/vpd_pg80"),
    ],
)
def test_each_driver_keeps_it_elsewhere(name, serial, source, server) -> None:
    fact = serial_number(BlockDevice.of_name(name, server))
    assert fact.value == serial
    assert fact.source.endswith(source)


def test_virtio_keeps_it_on_the_disk_or_has_none(virtual_machine) -> None:
    assert serial_number(BlockDevice.of_name("vdc", virtual_machine)).value == "scratch disk 3"
    assert serial_number(BlockDevice.of_name("vdb", virtual_machine)).value is None


def test_a_world_wide_name_is_no_serial_number(virtual_machine) -> None:
    disk = BlockDevice.of_name("vdb", virtual_machine)
    (disk.folder / "wwid").write_text("naa.5000c50000000001\n")
    assert serial_number(disk).value is None


def test_control_characters_do_not_get_through(malformed) -> None:
    assert serial_number(BlockDevice.of_name("nvme0n1", malformed)).value == "\N{REPLACEMENT CHARACTER}SN"


def test_a_page_that_lies_about_itself_is_none(malformed) -> None:
    assert serial_number(BlockDevice.of_name("sda", malformed)).value is None
    assert serial_number(BlockDevice.of_name("sdb", malformed)).value is None


@given(st.binary(max_size=40))
def test_any_page_of_a_serial_number_is_read_or_refused(page) -> None:
    serial = unit_serial_number(page)
    assert serial is None or serial.isprintable()


@given(st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", min_size=1, max_size=60), st.integers(0, 20))
def test_a_serial_number_survives_its_padding(serial, blanks) -> None:
    text = (serial + blanks * " ").encode()
    assert unit_serial_number(bytes((0, 0x80)) + len(text).to_bytes(2, "big") + text) == serial
