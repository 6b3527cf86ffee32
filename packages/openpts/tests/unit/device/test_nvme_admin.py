"""The two admin commands, with a controller in place of the ioctl that answers as told."""

import ctypes
import fcntl
import json
import struct
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openpts.device.nvme_admin import (
    NvmeCommandError,
    NvmeController,
    allocated_namespaces,
    identify_controller,
    identify_namespace,
    identify_uuid_list,
    parse_identify_controller,
    read_log,
    read_smart_log,
    set_volatile_write_cache,
    volatile_write_cache_enabled,
)
from tests import DATA
from tests.support.published_drives import captured

RECORDED = DATA / "identify/qemu-nvme-identify-controller.bin"
Answer = Callable[[bytearray], int]


class NvmePassthruCommand(ctypes.Structure):
    """struct nvme_passthru_cmd of <linux/nvme_ioctl.h>, written down a second time."""

    _fields_ = [
        ("opcode", ctypes.c_uint8),
        ("flags", ctypes.c_uint8),
        ("rsvd1", ctypes.c_uint16),
        ("nsid", ctypes.c_uint32),
        ("cdw2", ctypes.c_uint32),
        ("cdw3", ctypes.c_uint32),
        ("metadata", ctypes.c_uint64),
        ("addr", ctypes.c_uint64),
        ("metadata_len", ctypes.c_uint32),
        ("data_len", ctypes.c_uint32),
        *((f"cdw{number}", ctypes.c_uint32) for number in range(10, 16)),
        ("timeout_ms", ctypes.c_uint32),
        ("result", ctypes.c_uint32),
    ]


@pytest.fixture
def controller(monkeypatch) -> Callable[[Callable[[NvmePassthruCommand], int]], None]:
    """Answer commands with a function that gets the command as the kernel would see it."""

    def install(answer: Callable[[NvmePassthruCommand], int]) -> None:
        def ioctl(fd: int, request: int, command: bytearray, mutate: bool) -> int:
            size = request >> 16 & 0x3FFF
            assert size == len(command) == ctypes.sizeof(NvmePassthruCommand)
            assert mutate
            return answer(NvmePassthruCommand.from_buffer(command))

        monkeypatch.setattr(fcntl, "ioctl", ioctl)

    return install


def test_identify_controller_reads_4096_bytes(controller) -> None:
    def answer(command: NvmePassthruCommand) -> int:
        assert (command.opcode, command.cdw10, command.data_len) == (0x06, 1, 4096)
        assert command.timeout_ms > 0
        ctypes.memmove(command.addr, RECORDED.read_bytes(), 4096)
        return 0

    controller(answer)
    identified = identify_controller(3)
    assert identified.version == "1.4"
    assert identified.has_volatile_write_cache
    assert identified.features == ("Format NVM", "Deallocate", "Write Zeroes", "volatile write cache")


@pytest.mark.parametrize("count", [0, 2, 1024, 1500])
def test_the_list_of_namespaces_is_read_to_its_end(count, controller) -> None:
    """CNS 10h tells at most 1024 at once, those above the NSID that is given."""

    def answer(command: NvmePassthruCommand) -> int:
        assert (command.opcode, command.cdw10, command.data_len) == (0x06, 0x10, 4096)
        above = [nsid for nsid in range(3, 3 + count) if nsid > command.nsid][:1024]
        ctypes.memmove(command.addr, struct.pack(f"<{len(above)}I", *above).ljust(4096, b"\0"), 4096)
        return 0

    controller(answer)
    assert allocated_namespaces(3) == tuple(range(3, 3 + count))


@pytest.mark.parametrize(
    ("result", "enabled"), [(0, False), (1, True), (0xFFFFFFFE, False), (0xFFFFFFFF, True)]
)
def test_the_feature_is_bit_0_of_the_result(result, enabled, controller) -> None:
    def answer(command: NvmePassthruCommand) -> int:
        assert (command.opcode, command.cdw10, command.addr, command.data_len) == (0x0A, 6, 0, 0)
        command.result = result
        return 0

    controller(answer)
    assert volatile_write_cache_enabled(3) is enabled


@pytest.mark.parametrize("enabled", [True, False])
def test_setting_the_cache_changes_feature_06h_and_saves_nothing(enabled, controller) -> None:
    sent = []

    def answer(command: NvmePassthruCommand) -> int:
        sent.append((command.opcode, command.cdw10, command.cdw11, command.nsid, command.data_len))
        return 0

    controller(answer)
    set_volatile_write_cache(3, enabled=enabled)
    # Set Features 09h; the save bit 31 of dword 10 is clear
    assert sent == [(0x09, 0x06, int(enabled), 0, 0)]


def test_the_health_log_is_asked_for_as_a_whole_and_of_the_controller(controller) -> None:
    told = bytes(range(256)) * 2

    def answer(command: NvmePassthruCommand) -> int:
        # Get Log Page: page 02h, 128 dwords told as 127, all namespaces
        assert (command.opcode, command.nsid, command.data_len) == (0x02, 0xFFFFFFFF, 512)
        assert (command.cdw10 & 0xFF, command.cdw10 >> 16) == (0x02, 127)
        ctypes.memmove(command.addr, told, 512)
        return 0

    controller(answer)
    assert read_smart_log(3) == told


def test_a_status_of_the_controller_is_an_error(controller) -> None:
    controller(lambda command: 0x4002)
    with pytest.raises(NvmeCommandError, match="NVMe status 0x4002"):
        volatile_write_cache_enabled(3)


def test_what_is_no_nvme_drive_is_an_error(tmp_path) -> None:
    with (tmp_path / "file").open("wb") as file, pytest.raises(NvmeCommandError, match="ioctl"):
        identify_controller(file.fileno())


@pytest.mark.parametrize(
    ("ver", "text"), [(0x10000, "1.0"), (0x10201, "1.2.1"), (0x10400, "1.4"), (0x20100, "2.1"), (0, None)]
)
def test_versions(ver, text) -> None:
    assert NvmeController(ver=ver, oacs=0, sanicap=0, oncs=0, fna=0, vwc=0).version == text


def test_fields_lie_where_the_specification_has_them() -> None:
    data = bytearray(4096)
    struct.pack_into("<I", data, 80, 0x10300)
    struct.pack_into("<H", data, 256, 0b10011)
    struct.pack_into("<I", data, 328, 0b111)
    struct.pack_into("<H", data, 520, 0b1100)
    data[524], data[525] = 0b100, 0
    identified = parse_identify_controller(bytes(data))
    assert identified.features == (
        "Format NVM", "cryptographic erase", "Sanitize: Crypto Erase", "Sanitize: Block Erase",
        "Sanitize: Overwrite", "Deallocate", "Write Zeroes", "Security Send/Receive", "Device Self-test",
    )  # fmt: skip
    assert not identified.has_volatile_write_cache


@pytest.mark.parametrize(
    ("kelvin", "limits"),
    [
        ((0, 0), {}),
        ((343, 0), {"warning_limit_c": 70.0}),
        ((343, 353), {"warning_limit_c": 70.0, "critical_limit_c": 80.0}),
    ],
)
def test_limits_of_temperature_are_fields_266_and_268_in_kelvin(kelvin, limits) -> None:
    data = bytearray(4096)
    struct.pack_into("<HH", data, 266, *kelvin)
    assert parse_identify_controller(bytes(data)).temperature_limits_c == limits


def test_a_namespace_is_identified_by_its_number(controller) -> None:
    def answer(command: NvmePassthruCommand) -> int:
        # Identify, CNS 00h, of namespace 7
        assert (command.opcode, command.cdw10, command.nsid, command.data_len) == (0x06, 0, 7, 4096)
        ctypes.memmove(command.addr, b"\x10", 1)
        return 0

    controller(answer)
    assert identify_namespace(3, 7)[:2] == b"\x10\x00"


def test_a_vendors_page_is_asked_for_by_its_uuid(controller) -> None:
    def answer(command: NvmePassthruCommand) -> int:
        assert (command.opcode, command.nsid, command.cdw10, command.cdw14) == (0x02, 0xFFFFFFFF, 0x7F00C0, 3)
        return 0

    controller(answer)
    assert read_log(3, 0xC0, 512, uuid_index=3) == bytes(512)


def test_the_list_of_uuids_is_identify_17h(controller) -> None:
    def answer(command: NvmePassthruCommand) -> int:
        assert (command.opcode, command.cdw10, command.nsid, command.data_len) == (0x06, 0x17, 0, 4096)
        return 0

    controller(answer)
    assert identify_uuid_list(3) == bytes(4096)


@given(st.binary(min_size=100, max_size=3000).map(lambda data: data.ljust(4096, b"\xa5")))
def test_any_bytes_are_taken_apart_and_texts_are_printable(data) -> None:
    controller = parse_identify_controller(data)
    assert isinstance(controller, NvmeController)
    assert controller.sn.isprintable()


def test_a_recorded_page_says_what_smartctl_reads_in_it() -> None:
    recorded = (DATA / "identify/qemu-nvme-identify-controller.bin").read_bytes()
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
def test_another_length_is_no_identify(length) -> None:
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
