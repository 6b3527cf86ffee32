"""Whether a drive is at a self-test, by the bytes of the Device Self-test log and by smartctl's answers."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest

from openpts.device.block_device import BlockDevice
from openpts.device.nvme_admin import NvmeCommandError, NvmeController, parse_identify_controller
from openpts.programs import ProgramRunner, Reply
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import Scenario
from openpts_drives.health import health as self_test
from openpts_drives.health.health import self_test_fact
from openpts_host.advice.advice import Grade
from openpts_host.advice.table import ADVICE
from tests.support.program_answers import no_programs

HAS_SELF_TEST = 1 << 4
(LINE,) = (advice for advice in ADVICE if advice.key == "self_test")


def controller(oacs: int) -> NvmeController:
    page = bytearray(4096)
    page[256:258] = oacs.to_bytes(2, "little")
    return parse_identify_controller(bytes(page))


@pytest.fixture
def nvme(server: SystemRoots, monkeypatch) -> Callable[..., BlockDevice]:
    """An NVMe drive whose log begins with such bytes; 564 are asked for, as the specification has them."""

    @contextmanager
    def opened(_device: BlockDevice) -> Iterator[int]:
        yield -1

    def make(begin: bytes | Exception, oacs: int = HAS_SELF_TEST) -> BlockDevice:
        def read(_fd: int, page: int, length: int) -> bytes:
            assert (page, length) == (6, 564)
            if isinstance(begin, Exception):
                raise begin
            return begin.ljust(length, b"\0")

        monkeypatch.setattr(self_test, "open_to_ask", opened)
        monkeypatch.setattr(self_test, "identify_controller", lambda _fd: controller(oacs))
        monkeypatch.setattr(self_test, "read_log", read)
        return BlockDevice.of_name("nvme0n1", server)

    return make


@pytest.mark.parametrize(
    ("begin", "value", "grade"),
    [
        (b"\x00\x00", "none", Grade.GOOD),
        (b"\x01\x28", "short self-test, 40 % done", Grade.BAD),
        (b"\x02\xe3", "extended self-test, 99 % done", Grade.BAD),  # bit 7 is reserved
        (b"\x0e\x00", "vendor's self-test, 0 % done", Grade.BAD),
        (b"\x07\x01", "unknown self-test, 1 % done", Grade.BAD),
    ],
)
def test_what_the_log_of_an_nvme_drive_says(nvme, begin, value, grade) -> None:
    fact = self_test_fact(nvme(begin))
    assert (fact.value, fact.source) == (value, "NVMe log page 06h")
    assert {LINE.grade(fact.value, scenario) for scenario in Scenario} == {grade}


def test_a_drive_without_the_command_is_not_asked_for_the_log(nvme) -> None:
    fact = self_test_fact(nvme(AssertionError("asked"), oacs=0xFFFF & ~HAS_SELF_TEST))
    assert fact.value == "none (the drive has no self-test)"
    assert LINE.grade(fact.value, Scenario.SYNTHETIC) is Grade.GOOD


def test_a_log_that_can_t_be_read_is_unknown(nvme) -> None:
    fact = self_test_fact(nvme(NvmeCommandError("NVMe status 0x4109")))
    assert (fact.value, fact.source) == (None, "NVMe log page 06h can't be read: NVMe status 0x4109")
    assert LINE.grade(fact.value, Scenario.SYNTHETIC) is Grade.UNKNOWN


def test_a_node_that_may_not_be_opened_is_unknown(server, golden) -> None:
    fact = self_test_fact(BlockDevice.of_name("nvme0n1", server))
    assert fact.value is None
    assert fact.source == golden


def says(tree: object) -> ProgramRunner:
    def run(command: Sequence[str], timeout_s: float, *, to_the_end: bool = False) -> Reply:
        # a disk that sleeps is not woken for it, and nothing is begun
        assert command[:-1] == ["smartctl", "--json=c", "--nocheck=standby", "--capabilities"]
        return Reply(tuple(command), 0, json.dumps(tree), "", 0)

    return run


def answer(status: int | None) -> dict[str, object]:
    told = {} if status is None else {"ata_smart_data": {"self_test": {"status": {"value": status}}}}
    return {"json_format_version": [1, 0], "smartctl": {"version": [7, 3]}, **told}


@pytest.mark.parametrize(
    ("status", "value"),
    [
        (0x00, "none"),
        (0x19, "none"),  # the latest was aborted with 90 % left
        (0xF9, "self-test, 10 % done"),
        (0xF0, "self-test, 100 % done"),
        (None, None),
    ],
)
def test_what_smartctl_says_of_a_sata_drive(status, value, server, golden) -> None:
    fact = self_test_fact(BlockDevice.of_name("sda", server), says(answer(status)))
    assert fact.value == value
    assert fact.source == golden


def test_without_smartctl_it_is_unknown(server, golden) -> None:
    fact = self_test_fact(BlockDevice.of_name("sda", server), no_programs)
    assert fact.value is None
    assert fact.source == golden


def test_what_is_no_drive_has_none(virtual_machine) -> None:
    fact = self_test_fact(BlockDevice.of_name("vda", virtual_machine))
    assert fact.value == "none (not of a disk of virtio)"
    assert LINE.grade(fact.value, Scenario.REAL_WORLD) is Grade.GOOD
