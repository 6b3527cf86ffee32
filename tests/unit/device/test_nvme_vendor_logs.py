"""Pages C0h and CAh: their layouts written down a second time, and who is asked for them."""

import struct
import uuid
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openpts.device.health.nvme_health import (
    INTEL_PAGE,
    OCP_PAGE,
    ocp_uuid_index,
    parse_vendor_log,
    vendor_log_page,
)
from openpts.device.nvme.nvme_identify import NvmeController, parse_identify_controller
from tests.support.published_drives import identify_page, published

MIB_32 = 32 * 2**20
GUID = 0xAFD514C97C6F4F9CA4F2BFEA2810AFC5  # as OCP's specification writes it


def _controller(vid: int, oacs: int) -> NvmeController:
    return NvmeController(ver=0x10400, oacs=oacs, sanicap=0, oncs=0, fna=0, vwc=0, vid=vid)


@pytest.mark.parametrize(
    ("vid", "oacs", "page"),
    [
        (0x144D, 0x5F, OCP_PAGE),
        (0x144D, 0x17, None),  # of a laptop: no namespace management
        (0x8086, 0x06, INTEL_PAGE),
        (0x025E, 0x5E, OCP_PAGE),  # Solidigm's newer drives have both
        (0x025E, 0x06, INTEL_PAGE),
        (0x1B36, 0x0A, None),  # QEMU announces namespace management
    ],
)
def test_only_drives_that_are_likely_to_have_a_page_are_asked(vid: int, oacs: int, page: int | None) -> None:
    assert vendor_log_page(_controller(vid, oacs)) == page


def test_of_the_published_models_intels_are_asked_for_theirs() -> None:
    asked = {
        drive.name: vendor_log_page(parse_identify_controller(identify_page(drive)))
        for drive in published("nvme")
    }
    assert {name for name, page in asked.items() if page is not None} == {
        name for name in asked if name.startswith("intel")
    }


def _uuid_list(*uuids: uuid.UUID) -> bytes:
    """Entry 0 is reserved; each has 16 bytes of header and the UUID."""
    return b"".join((bytes(32), *(bytes(16) + entry.bytes for entry in uuids))).ljust(4096, b"\0")


OCP_UUID = uuid.UUID("c194d55b-e094-4794-a21d-29998f56be6f")
OTHER_UUID = uuid.UUID(int=7)


@pytest.mark.parametrize(
    ("uuids", "index"),
    [
        ((), 0),
        ((OCP_UUID,), 1),
        ((OTHER_UUID, OCP_UUID), 2),
        ((OTHER_UUID, uuid.UUID(int=0), OCP_UUID), 0),  # after the end of the list
        ((OTHER_UUID,) * 126 + (OCP_UUID,), 127),
        ((OTHER_UUID,) * 127, 0),
    ],
)
def test_ocps_page_is_asked_for_by_its_place_in_the_list(uuids: tuple[uuid.UUID, ...], index: int) -> None:
    assert ocp_uuid_index(_uuid_list(*uuids)) == index


@given(st.binary(max_size=4096))
def test_any_bytes_are_a_list(data: bytes) -> None:
    assert 0 <= ocp_uuid_index(data) < 128


def _ocp(changed: Mapping[int, bytes] | None = None) -> bytes:
    page = bytearray(512)
    page[0:16] = (527_805_403_860_992).to_bytes(16, "little")
    page[16:32] = (467_772_386_381_824).to_bytes(16, "little")
    struct.pack_into("<Q", page, 32, 7 | 100 << 48)  # raw in 6 bytes, normalized in 2
    struct.pack_into("<Q", page, 40, 2 | 99 << 48)
    page[96], page[97] = 3, 1
    page[496:512] = GUID.to_bytes(16, "little")
    for start, data in (changed or {}).items():
        page[start : start + len(data)] = data
    return bytes(page)


def test_ocp_tells_bytes_of_flash_bad_blocks_and_throttling() -> None:
    assert parse_vendor_log(OCP_PAGE, _ocp(), {}) == {
        "nand_write_bytes": 527_805_403_860_992.0,
        "nand_read_bytes": 467_772_386_381_824.0,
        "bad_user_blocks": 7.0,
        "bad_system_blocks": 2.0,
        "drive_throttle_events": 3.0,
        "throttle_level": 1.0,
    }


def test_a_field_that_is_all_ones_is_not_reported() -> None:
    told = parse_vendor_log(OCP_PAGE, _ocp({0: b"\xff" * 16, 32: b"\xff" * 6, 96: b"\xff"}), {})
    assert set(told) == {"nand_read_bytes", "bad_system_blocks", "throttle_level"}


def test_a_page_of_another_meaning_is_not_read_as_ocps() -> None:
    with pytest.raises(ValueError, match="GUID"):
        parse_vendor_log(OCP_PAGE, _ocp({496: b"\x00"}), {})


def _intel(nand: int, host: int) -> bytes:
    """Items of 12 bytes: key, 2 reserved, normalized, reserved, 6 raw, reserved."""
    items = [(0xAB, 0), (0xF4, nand), (0xF5, host), (0xEA, 0)]
    return b"".join(
        bytes([key, 0, 0, 100, 0]) + raw.to_bytes(6, "little") + b"\x00" for key, raw in items
    ).ljust(512, b"\x00")


def test_intel_counts_32_mib_if_its_host_writes_are_those_of_the_log() -> None:
    # nand_bytes_written and host_bytes_written of https://github.com/linux-nvme/nvme-cli/issues/814
    page = _intel(nand=40262, host=45197)
    told = parse_vendor_log(INTEL_PAGE, page, {"host_write_bytes": 45197 * MIB_32 + 20e6})
    assert told == {"nand_write_bytes": 40262.0 * MIB_32, "nand_write_unit_bytes": MIB_32}


@pytest.mark.parametrize(
    ("page", "standard"),
    [
        (_intel(40262, 45197), {"host_write_bytes": 45197e6}),  # another unit
        (_intel(0, 0), {"host_write_bytes": 1e12}),  # as in https://github.com/linux-nvme/nvme-cli/issues/245
        (_intel(40262, 45197), {}),
        (bytes(512), {"host_write_bytes": 1e12}),
    ],
)
def test_intel_counts_whose_unit_can_not_be_checked_are_left_out(
    page: bytes, standard: dict[str, float]
) -> None:
    with pytest.raises(ValueError, match=r"unit is unknown|no counts"):
        parse_vendor_log(INTEL_PAGE, page, standard)


@pytest.mark.parametrize("page", [OCP_PAGE, INTEL_PAGE])
@given(data=st.binary(max_size=600))
def test_any_bytes_are_a_page_or_a_reason(page: int, data: bytes) -> None:
    try:
        values = parse_vendor_log(page, data, {"host_write_bytes": 0.0})
    except ValueError:
        return
    assert all(value >= 0 for value in values.values())


def test_a_device_that_is_gone_has_no_page() -> None:
    with pytest.raises(ValueError, match="link is gone"):
        parse_vendor_log(OCP_PAGE, b"\xff" * 512, {})
