import pytest
from hypothesis import given
from hypothesis import strategies as st

from openpts.device.block_device import BlockDevice
from openpts.device.identity.drive_name import serial_number, unit_serial_number


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
def test_any_page_is_read_or_refused(page) -> None:
    serial = unit_serial_number(page)
    assert serial is None or serial.isprintable()


@given(st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", min_size=1, max_size=60), st.integers(0, 20))
def test_a_serial_number_survives_its_padding(serial, blanks) -> None:
    text = (serial + blanks * " ").encode()
    assert unit_serial_number(bytes((0, 0x80)) + len(text).to_bytes(2, "big") + text) == serial
