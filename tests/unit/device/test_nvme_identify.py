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
    assert all(text.isprintable() for text in (controller.mn, controller.sn, controller.fr))


def test_a_recorded_page_says_what_smartctl_reads_in_it() -> None:
    recorded = (Path(__file__).parents[2] / "data/identify/qemu-nvme-identify-controller.bin").read_bytes()
    controller = parse_identify_controller(recorded)
    told = json.loads(captured("qemu-nvme"))
    assert (controller.vid, controller.ssvid) == (
        told["nvme_pci_vendor"]["id"],
        told["nvme_pci_vendor"]["subsystem_id"],
    )
    assert (controller.ieee, controller.ver, controller.nn, controller.cntlid) == (
        told["nvme_ieee_oui_identifier"],
        told["nvme_version"]["value"],
        told["nvme_number_of_namespaces"],
        told["nvme_controller_id"],
    )
    assert (controller.mn, controller.fr) == (told["model_name"], told["firmware_version"])
    (state,) = controller.power_states
    assert (state.max_power_w, state.operational) == (25, True)


@pytest.mark.parametrize(
    ("flags", "max_power_w", "operational"),
    [(0b00, 12.5, True), (0b01, 0.125, True), (0b10, 12.5, False), (0b11, 0.125, False)],
)
def test_a_power_state_has_two_scales_and_may_do_no_io(
    flags: int, max_power_w: float, operational: bool
) -> None:
    """Base Specification 2.0, Identify Power State Descriptor: MXPS is bit 24, NOPS is bit 25."""
    page = bytearray(4096)
    struct.pack_into("<HxB", page, 2048, 1250, flags)
    (state,) = parse_identify_controller(bytes(page)).power_states
    assert (state.max_power_w, state.operational) == (pytest.approx(max_power_w), operational)


@pytest.mark.parametrize("length", [0, 4095, 4097])
def test_another_length_is_no_identify(length: int) -> None:
    with pytest.raises(ValueError, match="4096"):
        parse_identify_controller(bytes(length))


def test_control_characters_in_a_model_reach_nobody() -> None:
    data = bytearray(4096)
    data[24:64] = b"\x1b[2JEVIL\x00\xffSSD".ljust(40)
    assert parse_identify_controller(bytes(data)).mn == "\ufffd[2JEVIL\ufffd\ufffdSSD"


def test_abilities_of_power_and_heat() -> None:
    data = bytearray(4096)
    data[265] = 1
    struct.pack_into("<HHH", data, 322, 1, 303, 353)
    struct.pack_into("<H", data, 256, 1 << 3)
    controller = parse_identify_controller(bytes(data))
    assert (controller.apsta, controller.hctma) == (1, 1)
    assert (controller.mntmt, controller.mxtmt) == (303, 353)
    assert controller.manages_namespaces


def test_more_power_states_than_there_is_room_for_are_those_that_fit() -> None:
    data = bytearray(4096)
    data[263] = 255
    assert len(parse_identify_controller(bytes(data)).power_states) == 32
