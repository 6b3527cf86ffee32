"""Identify Controller: what real firmware puts into it, and what bytes of any kind make of it."""

import json
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openpts.device.nvme.nvme_identify import NvmeController, parse_identify_controller
from tests.support.published_drives import captured


@given(st.binary(min_size=100, max_size=3000).map(lambda data: data.ljust(4096, b"\xa5")))
def test_any_bytes_are_taken_apart_and_texts_are_printable(data: bytes) -> None:
    controller = parse_identify_controller(data)
    assert isinstance(controller, NvmeController)
    assert controller.sn.isprintable()


def test_a_recorded_page_says_what_smartctl_reads_in_it() -> None:
    recorded = (Path(__file__).parents[2] / "data/identify/qemu-nvme-identify-controller.bin").read_bytes()
    controller = parse_identify_controller(recorded)
    told = json.loads(captured("qemu-nvme"))
    assert (controller.vid, controller.ssvid) == (
        told["nvme_pci_vendor"]["id"],
        told["nvme_pci_vendor"]["subsystem_id"],
    )
    assert (controller.ver, controller.nn, controller.cntlid) == (
        told["nvme_version"]["value"],
        told["nvme_number_of_namespaces"],
        told["nvme_controller_id"],
    )


@pytest.mark.parametrize("length", [0, 4095, 4097])
def test_another_length_is_no_identify(length: int) -> None:
    with pytest.raises(ValueError, match="4096"):
        parse_identify_controller(bytes(length))


def test_control_characters_in_a_serial_number_are_not_passed_on() -> None:
    data = bytearray(4096)
    data[4:24] = b"\x1b[2JEVIL\x00\xffSSD".ljust(20)
    assert parse_identify_controller(bytes(data)).sn == "\ufffd[2JEVIL\ufffd\ufffdSSD"


def test_abilities_of_power_and_heat() -> None:
    data = bytearray(4096)
    struct.pack_into("<HHH", data, 322, 1, 303, 353)
    struct.pack_into("<H", data, 256, 1 << 3)
    controller = parse_identify_controller(bytes(data))
    assert (controller.hctma, controller.mntmt, controller.mxtmt) == (1, 303, 353)
    assert controller.manages_namespaces
