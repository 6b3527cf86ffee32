"""SANITIZE and FORMAT UNIT of SCSI drives: answers recorded in the lab, and ones made after SPC."""

from collections.abc import Iterable
from itertools import chain, repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openpts.device.block_device import BlockDevice
from openpts.device.purge.methods import SanitizeKind
from openpts.errors import PurgeError
from openpts.programs import ProgramRunner, Reply
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import Fact
from openpts_drives.purge.purge_programs import Clock
from openpts_drives.purge.scsi import ScsiFormat, ScsiSanitize, Sense, parse_sense
from tests import DATA
from tests.support.held_drive import held
from tests.support.hours import Hours
from tests.support.program_answers import no_programs
from tests.support.recorded_exchanges import RecordedExchange

AT_ONCE = Clock(lambda: 0.0, lambda _: None)
METHODS = [
    ScsiFormat,
    lambda run: ScsiSanitize(SanitizeKind.BLOCK, run),
    lambda run: ScsiSanitize(SanitizeKind.OVERWRITE, run),
]


def _sas(roots: SystemRoots) -> BlockDevice:
    return BlockDevice.of_name("sdb", roots)


def _carry_out(method: ScsiSanitize | ScsiFormat, roots: SystemRoots) -> tuple[str, list[float | None]]:
    """The detail, and the shares that were told."""
    shares: list[float | None] = []
    with held(_sas(roots)) as target:
        return method.carry_out(target, lambda share, _text: shares.append(share)), shares


def _block(run: ProgramRunner) -> ScsiSanitize:
    return ScsiSanitize(SanitizeKind.BLOCK, run, AT_ONCE)


def test_a_sanitize_is_begun_and_followed_to_its_end(server) -> None:
    run = RecordedExchange("made-up-scsi-sanitize")
    method = _block(run)
    assert method.capability(_sas(server)).supported
    assert _carry_out(method, server) == ("BLOCK ERASE", [0.25, 0.75])
    with held(_sas(server)) as target:
        assert method.status(target) == {
            "scsi_sense": Fact(
                "nothing in progress, no failure (sense key 0h, code 00h/00h)", "REQUEST SENSE"
            )
        }


def test_one_that_fails_inside_the_drive_is_a_failure(server) -> None:
    run = RecordedExchange("made-up-scsi-sanitize-failed")
    with pytest.raises(
        PurgeError, match=r"failed: the sanitize command failed \(sense key 3h, code 31h/03h\)"
    ):
        _carry_out(_block(run), server)


def test_a_drive_that_vanishes_in_the_middle_is_told_from_one_that_failed(server) -> None:
    hours = Hours()
    answers = chain([DONE], repeat(Reply(("sg_requests",), 52, "", "", 1)))
    with pytest.raises(
        PurgeError,
        match=r"how SCSI SANITIZE.* ended: .* not reported its state for 9[0-9]{2} s.*continues inside",
    ):
        _carry_out(_sanitizing(answers, hours), server)


DONE = Reply(("sg_sanitize",), 0, "", "", 1)
AT_HALF = "70 00 02 00 00 00 00 0a 00 00 00 00 04 1b 00 80 80 00"
ENDED = "70 00 00 00 00 00 00 0a 00 00 00 00 00 00 00 00 00 00"


def _sense(data: str) -> Reply:
    return Reply(("sg_requests",), 0, f" 00     {data[:47]}\n 10     {data[48:]}\n", "", 1)


def _sanitizing(answers: Iterable[Reply], hours: Hours) -> ScsiSanitize:
    left = iter(answers)
    return ScsiSanitize(SanitizeKind.BLOCK, lambda *_, **__: next(left), hours.clock)


@pytest.mark.parametrize(
    "look",
    [
        Reply(("sg_requests",), 52, "", "open error: No such device or address", 1),
        _sense("70 00 06 00 00 00 00 0a 00 00 00 00 29 02 00 00 00 00"),  # unit attention: a bus reset
        _sense("70 00 02 00 00 00 00 0a 00 00 00 00 04 01 00 00 00 00"),  # not ready: becoming ready
    ],
    ids=["no answer", "unit attention", "becoming ready"],
)
def test_looks_that_tell_nothing_end_no_format_of_hours(look, server) -> None:
    hours = Hours()
    answers = [DONE, _sense(AT_HALF), *[look] * 30, _sense(AT_HALF), look, _sense(ENDED)]
    detail, shares = _carry_out(_sanitizing(answers, hours), server)
    assert detail == "BLOCK ERASE"
    assert [share for share in shares if share is not None] == [0.5, 0.5]


def test_no_command_goes_to_another_drive_that_has_got_the_node(server) -> None:
    sent: list[object] = []
    method = _block(lambda command, *_, **__: sent.append(command))
    with held(_sas(server)) as target:
        (_sas(server).folder / "dev").write_text("8:160\n")
        with pytest.raises(PurgeError, match="is no longer the drive that was opened"):
            method.carry_out(target, lambda *_: None)
    assert sent == []


def test_a_format_keeps_the_protection_type(server, golden) -> None:
    disk = _sas(server).folder / "device/scsi_disk/1:0:0:0"
    disk.mkdir(parents=True, exist_ok=True)
    (disk / "protection_type").write_text("1\n")
    run = RecordedExchange("made-up-scsi-format")
    method = ScsiFormat(run, AT_ONCE)
    assert method.capability(_sas(server)).supported
    assert _carry_out(method, server) == ("block size 512 B and protection type 1 kept", [0.5])
    (disk / "protection_type").write_text("7\n")
    assert method.capability(_sas(server)).reason == golden


@pytest.mark.parametrize("method", METHODS)
def test_a_drive_that_lists_other_commands_has_none(method, server, golden) -> None:
    capability = method(RecordedExchange("scsi-debug")).capability(_sas(server))
    assert not capability.supported
    assert capability.reason == golden


@pytest.mark.parametrize("method", METHODS)
def test_a_drive_that_keeps_no_list_has_none(method, server, golden) -> None:
    capability = method(RecordedExchange("qemu-scsi")).capability(_sas(server))
    assert not capability.supported
    assert capability.reason == golden


@pytest.mark.parametrize("name", ["sda", "nvme0n1"])
def test_other_drives_are_not_even_asked(name, server, golden) -> None:
    run = RecordedExchange()
    found = [method(run).capability(BlockDevice.of_name(name, server)) for method in METHODS]
    assert all(capability.foreign for capability in found)
    assert [capability.reason for capability in found] == golden
    assert run.asked == []


def test_a_list_that_the_driver_leaves_empty_tells_nothing(server, golden) -> None:
    """As libata answers for a SATA drive: recorded in the lab."""
    answer = Reply(("sg_opcodes",), 0, "\n  Opcode=0x04\n  Command is not currently available\n", "", 1)
    capability = ScsiFormat(lambda *_, **__: answer).capability(_sas(server))
    assert capability.reason == golden


def test_a_recorded_sanitize_that_ended_with_0_after_a_host_error_is_a_failure(server) -> None:
    run = RecordedExchange("qemu-scsi")
    method = ScsiSanitize(SanitizeKind.OVERWRITE, run, AT_ONCE)
    assert not method.is_purge
    with pytest.raises(PurgeError, match=r"failed: sg_sanitize: .*DID_ERROR"):
        _carry_out(method, server)


def test_a_drive_at_work_is_left_alone(server, golden) -> None:
    supported = Reply(("sg_opcodes",), 0, "  Command is supported [conforming to SCSI standard]\n", "", 1)
    sense = " 00     70 00 02 00 00 00 00 0a  00 00 00 00 04 04 00 80\n 10     10 00\n"
    busy = Reply(("sg_requests",), 0, sense, "", 1)

    def run(command, _timeout_s: float, *, to_the_end: bool = False) -> Reply:
        del to_the_end
        return supported if command[0] == "sg_opcodes" else busy

    capability = ScsiFormat(run).capability(_sas(server))
    assert not capability.supported
    assert capability.reason == golden


def test_without_sg3_utils_the_package_is_named(server, golden) -> None:
    assert ScsiFormat(no_programs).capability(_sas(server)).reason == golden


def test_sense_data_of_both_formats() -> None:
    recorded = (DATA / "exchanges/scsi-debug.toml").read_text()
    fixed = " 00     70 00 00 00 00 00 00 0a  00 00 00 00 00 00 00 00\n 10     00 00\n"
    assert fixed in recorded
    assert parse_sense(fixed) == Sense(0, (0, 0), None)
    assert parse_sense(" 00     72 00 00 00 00 00 00 00\n") == Sense(0, (0, 0), None)
    assert parse_sense(" 00     72 02 04 1b 00 00 00 08  02 06 00 00 80 40 00 00\n") == Sense(
        2, (4, 0x1B), 0.25
    )
    for nothing in ("", "sg_requests failed\n", " 00     00 00\n"):
        assert parse_sense(nothing) is None


@given(st.binary(max_size=64))
def test_any_sense_data_are_read_without_an_error(data) -> None:
    lines = [f" {at:02x}     {data[at : at + 16].hex(' ')}" for at in range(0, len(data), 16)]
    parse_sense("\n".join(lines))
