"""How files that describe the machine are read: openpts.system_files, below the rooms host and device."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openpts.system_files import (
    Mount,
    pci_name,
    printable,
    read_lines,
    read_mounts,
    read_text,
    unescape_octal,
)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("QEMU NVMe Ctrl          \n", "QEMU NVMe Ctrl"),
        ("SN\0\0\0", "SN"),
        ("a\tb", "a b"),
        ("a\x1b[31mb", "a\N{REPLACEMENT CHARACTER}[31mb"),
        ("a\nb", "a\N{REPLACEMENT CHARACTER}b"),
        ("a\u202eb", "a\N{REPLACEMENT CHARACTER}b"),
        ("Müller", "Müller"),
        (" \n", ""),
    ],
)
def test_device_strings_are_made_harmless(text, clean) -> None:
    assert printable(text) == clean


@given(st.text())
def test_whatever_it_was_it_is_printable_and_stays_so(text) -> None:
    clean = printable(text)
    assert clean.isprintable()
    assert printable(clean) == clean


def test_text_that_is_not_there_is_none(tmp_path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "bytes").write_bytes(b"\xff\xfeX")
    assert read_text(tmp_path / "missing") is None
    assert read_text(tmp_path) is None
    assert read_text(tmp_path / "empty") is None
    assert read_text(tmp_path / "bytes") == "\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}X"
    assert read_lines(tmp_path / "missing") == ()


def test_mounts_have_their_blanks_back(server) -> None:
    expected = Mount("0:44", "/srv/my data", "btrfs", "/dev/sdb", "rw,noatime", "/data", "rw,compress=zstd")
    assert read_mounts(server)[3] == expected


def test_optional_fields_may_be_many_or_none(server) -> None:
    mountinfo = server.proc / "self/mountinfo"
    mountinfo.write_text(
        "1 0 8:1 / /a rw shared:1 master:2 - ext4 /dev/sda1 rw\n2 0 8:2 / /b rw - xfs none rw\n"
    )
    assert [mount.fs_type for mount in read_mounts(server)] == ["ext4", "xfs"]


def test_a_mount_point_may_hold_odd_characters(server) -> None:
    (server.proc / "self/mountinfo").write_bytes(b"1 0 8:1 / /a\rb\x0b\xff rw - ext4 /dev/sda1 rw\n")
    (mount,) = read_mounts(server)
    assert os.fsencode(mount.mount_point) == b"/a\rb\x0b\xff"


@pytest.mark.parametrize(
    "line", ["", "1 0 8:1 / /a rw", "1 0 8:1 - ext4 /dev/sda1 rw", "1 0 8:1 / /a rw - ext4"]
)
def test_a_line_that_makes_no_sense_is_an_error(line, server) -> None:
    (server.proc / "self/mountinfo").write_text(f"{line}\n")
    with pytest.raises(ValueError, match="not a line of mountinfo"):
        read_mounts(server)


def test_octal_escapes() -> None:
    assert unescape_octal(r"/a\040b\011c\134d\012") == "/a b\tc\\d\n"


@pytest.mark.parametrize(
    ("vendor", "device", "name"),
    [
        ("0x144d", None, "Samsung Electronics Co Ltd"),
        ("0x144d", "0xa810", "Samsung Electronics Co Ltd NVMe SSD Controller PM1743"),
        ("0x144d", "0xaa8b", "Samsung Electronics Co Ltd device aa8b"),
        ("0x15b7", "0x5030", "Sandisk Corp device 5030"),
        ("0x1e0f", "0x0007", "PCI 1e0f:0007"),
        ("0x1e0f", None, "PCI vendor 0x1e0f"),
        ("0x1e0f", "garbage", "PCI vendor 0x1e0f"),
        ("garbage", "0x0007", None),
        (None, None, None),
    ],
)
def test_pci_names(vendor, device, name, server) -> None:
    assert pci_name(vendor, device, server) == name


def test_without_pci_ids_the_numbers_are_the_name(virtual_machine) -> None:
    assert pci_name("0x144d", "0xa810", virtual_machine) == "PCI 144d:a810"
