"""ATA SANITIZE DEVICE, on answers recorded of real drives and on the words of hdparm's own source."""

from itertools import chain, repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openpts.device.ata_identify import parse_identify_words
from openpts.device.block_device import BlockDevice
from openpts.device.purge.methods import SanitizeKind
from openpts.errors import PurgeError
from openpts.programs import ProgramError, ProgramRunner, Reply
from openpts.system_files import SystemRoots
from openpts_drives.purge.ata_commands import fixed_senses, refusal
from openpts_drives.purge.ata_sanitize import AtaSanitize, SanitizeStatus, parse_status
from tests import DATA
from tests.support.ata_security_drive import AtaSecurityDrive
from tests.support.held_drive import held
from tests.support.hours import Hours
from tests.support.identify_words import as_hdparm_prints
from tests.support.recorded_exchanges import RecordedExchange


def _answer(stdout: str = "", stderr: str = "", returncode: int = 0) -> Reply:
    return Reply(("hdparm",), returncode, stdout, stderr, 1)


def _carry_out(run: ProgramRunner, roots: SystemRoots, hours: Hours) -> tuple[str, list[float | None]]:
    shares: list[float | None] = []
    method = AtaSanitize(SanitizeKind.BLOCK, run, hours.clock)
    with held(BlockDevice.of_name("sda", roots)) as target:
        return method.carry_out(target, lambda share, _text: shares.append(share)), shares


def test_a_recorded_block_erase_is_followed_to_its_end(server) -> None:
    run, hours = RecordedExchange("sanitize-block-erase"), Hours()
    detail, shares = _carry_out(run, server, hours)
    assert detail == "BLOCK ERASE EXT; idle, the last operation completed without error"
    assert shares == [0x41C2 / 0x10000]
    assert hours.naps == [1.0, 1.0]


def test_a_recorded_start_that_was_aborted_is_a_failure_though_hdparm_told_of_a_success(server) -> None:
    run = RecordedExchange("crucial-mx500-sanitize-aborted")
    with pytest.raises(PurgeError, match=r"the drive aborted the command \(hdparm ended with 0\)"):
        _carry_out(run, server, Hours())


def test_a_drive_that_aborts_the_question_has_no_sanitize(server) -> None:
    identify = RecordedExchange("samsung-870-qvo-frozen")
    status = RecordedExchange("crucial-mx500-sanitize-aborted")

    def run(command, timeout_s: float, *, to_the_end: bool = False) -> Reply:
        if command[1] != "--Istdout":
            return status(command, timeout_s, to_the_end=to_the_end)
        answer = identify(command, timeout_s)
        return _answer(_with_word(answer.stdout, 59, 0x9101))

    capability = AtaSanitize(SanitizeKind.BLOCK, run).capability(BlockDevice.of_name("sda", server))
    assert not capability.supported
    assert capability.reason == "its state is unknown: the drive aborted SANITIZE STATUS EXT"


def _with_word(text: str, number: int, value: int) -> str:
    """The words of hdparm with one changed, and the checksum left to be wrong: so it is taken out."""
    identity = parse_identify_words(text)
    words = list(identity.words)
    words[number], words[255] = value, 0
    return as_hdparm_prints(words)


@pytest.mark.parametrize("name", ["samsung-870-qvo-frozen", "seagate-st3160023as", "qemu-sata"])
def test_a_recorded_drive_without_the_feature_set(name, server, golden) -> None:
    sda = BlockDevice.of_name("sda", server)
    found = [AtaSanitize(kind, RecordedExchange(name)).capability(sda) for kind in SanitizeKind]
    assert not any(capability.supported for capability in found)
    (reason,) = {capability.reason for capability in found}
    assert reason == golden


def test_only_the_operations_that_word_59_lists_are_supported(server) -> None:
    device = BlockDevice.of_name("sda", server)
    idle = "Sanitize status:\n    State:    SD0 Sanitize Idle\n"
    text = RecordedExchange("samsung-870-qvo-frozen")(("hdparm", "--Istdout", "/dev/sda"), 1).stdout

    def run(command, _timeout_s: float, *, to_the_end: bool = False) -> Reply:
        del to_the_end
        return _answer(_with_word(text, 59, 0xD000) if command[1] == "--Istdout" else idle)

    supported = {kind: AtaSanitize(kind, run).capability(device).supported for kind in SanitizeKind}
    assert supported == {"block": True, "overwrite": True, "crypto": False}


@pytest.mark.parametrize(
    "status",
    [
        _answer("    State:    SD1 Sanitize Frozen\n"),
        _answer("    State:    SD2 Sanitize operation In Process\n    Progress: 0x8000 (50%)\n"),
        _answer(
            "Issuing SANITIZE_STATUS command\n",
            "SANITIZE failed: Input/output error\nSANITIZE device error reason: Last Sanitize Command "
            "completed unsuccessfully\nDrive in SD3 Sanitize Operation Failed state\n",
            5,
        ),
    ],
)
def test_a_state_in_the_way_is_explained(status, server, golden) -> None:
    text = RecordedExchange("samsung-870-qvo-frozen")(("hdparm", "--Istdout", "/dev/sda"), 1).stdout

    def run(command, _timeout_s: float, *, to_the_end: bool = False) -> Reply:
        del to_the_end
        return _answer(_with_word(text, 59, 0xF000)) if command[1] == "--Istdout" else status

    capability = AtaSanitize(SanitizeKind.BLOCK, run).capability(BlockDevice.of_name("sda", server))
    assert not capability.supported
    assert capability.reason == golden


def test_a_locked_drive_sanitizes_nothing(server, golden) -> None:
    drive = AtaSecurityDrive(password="theirs", locked=True)

    def run(command, timeout_s: float, *, to_the_end: bool = False) -> Reply:
        return _answer(_with_word(drive(command, timeout_s, to_the_end=to_the_end).stdout, 59, 0xF000))

    capability = AtaSanitize(SanitizeKind.BLOCK, run).capability(BlockDevice.of_name("sda", server))
    assert capability.reason == golden


def test_an_operation_that_fails_at_its_end_is_explained(server) -> None:
    answers = iter(
        [
            _answer("Operation started in background\n"),
            _answer("    State:    SD2 Sanitize operation In Process\n    Progress: 0x1000 (6%)\n"),
            _answer("", "Drive in SD3 Sanitize Operation Failed state\n", 5),
        ]
    )
    with pytest.raises(PurgeError, match=r"blocks could not be sanitized \(SD3\): .*serves data only after"):
        _carry_out(lambda *_, **__: next(answers), server, Hours())


def test_a_drive_that_vanishes_in_the_middle_is_told_from_one_that_failed(server) -> None:
    gone = _answer("", "/dev/sda: No such file or directory\n", 2)
    answers = chain([_answer("Operation started in background\n")], repeat(gone))
    with pytest.raises(
        PurgeError,
        match=r"how ATA SANITIZE.* ended: .* not reported its state for 9.*No such file.*continues inside",
    ):
        _carry_out(lambda *_, **__: next(answers), server, Hours())


@pytest.mark.parametrize("reset", [_answer("", "SG_IO: Input/output error\n", 5), None])
def test_looks_that_tell_nothing_end_no_sanitize_of_hours(reset, server) -> None:
    running = "    State:    SD2 Sanitize operation In Process\n    Progress: 0x8000 (50%)\n"
    ended = "    State:    SD0 Sanitize Idle\n    Last Sanitize Operation Completed Without Error\n"
    answers = iter([_answer("started\n"), _answer(running), *[reset] * 30, _answer(running), _answer(ended)])

    def run(*_: object, **__: object) -> Reply:
        answer = next(answers)
        if answer is None:
            raise ProgramError("hdparm did not end within 60 s and was killed")
        return answer

    _, shares = _carry_out(run, server, Hours())
    assert [share for share in shares if share is not None] == [0.5, 0.5]


def test_no_command_goes_to_another_drive_that_has_got_the_node(server) -> None:
    sent: list[object] = []
    device = BlockDevice.of_name("sda", server)
    with held(device) as target:
        (device.folder / "dev").write_text("8:160\n")
        with pytest.raises(PurgeError, match="is no longer the drive that was opened"):
            AtaSanitize(SanitizeKind.BLOCK, lambda command, *_, **__: sent.append(command)).carry_out(
                target, lambda *_: None
            )
    assert sent == []


def test_an_end_without_success_is_a_failure(server) -> None:
    idle = "    State:    SD0 Sanitize Idle\n"
    with pytest.raises(PurgeError, match="reports that it did not complete without error"):
        _carry_out(lambda *_, **__: _answer(idle), server, Hours())


def test_one_that_never_ends_is_given_up(server) -> None:
    hours = Hours()
    running = "    State:    SD2 Sanitize operation In Process\n    Progress: 0x1000 (6%)\n"
    with pytest.raises(PurgeError, match="has not ended after 4 h; the drive continues it by itself"):
        _carry_out(lambda *_, **__: _answer(running), server, hours)
    assert hours.passed_s == pytest.approx(4 * 3600, abs=60)
    assert max(hours.naps) == 10.0


def test_an_overwrite_is_one_pass_no_purge_and_has_the_time_that_a_disk_needs(server) -> None:
    hours, asked = Hours(), []

    def run(command, _timeout_s: float, *, to_the_end: bool = False) -> Reply:
        asked.append((command, to_the_end))
        return _answer("    State:    SD2 Sanitize operation In Process\n")

    method = AtaSanitize(SanitizeKind.OVERWRITE, run, hours.clock)
    assert not method.is_purge
    with (
        held(BlockDevice.of_name("sda", server), 20 * 10**12) as target,
        pytest.raises(PurgeError, match="has not ended after 282 h"),
    ):
        method.carry_out(target, lambda *_: None)
    command, to_the_end = asked[0]
    assert command[1:-1] == (
        "--yes-i-know-what-i-am-doing",
        "--sanitize-overwrite-passes",
        "1",
        "--sanitize-overwrite",
        "hex:00000000",
    )
    assert to_the_end


def test_answers_in_fixed_format_are_read_from_their_bytes() -> None:
    """From kernels that hand good answers on so, hdparm prints "idle" whatever goes on."""
    bytes_of = "SG_IO: bad/missing sense data, sb[]:  f0 00 01 00 50 40 00 0a 80 {} 00 00 1d 00" + " 00" * 18
    idle = "    State:    SD0 Sanitize Idle\n"
    running = parse_status(_answer(idle, bytes_of.format("c2 41")))
    assert (running.running, running.share) == (True, 0x41C2 / 0x10000)
    ended = parse_status(_answer(idle, bytes_of.format("ff ff")))
    assert ended == SanitizeStatus(completed=None)
    assert str(ended) == "idle, the end of the last operation is not reported"


def test_recorded_sense_data(golden) -> None:
    old = RecordedExchange("security-erase-frozen-laptop")
    command = [
        "hdparm", "--user-master", "u", "--security-mode", "h", "--security-set-pass", "openpts", "NODE",
    ]  # fmt: skip
    assert (refusal(old(command, 1)) or "") == golden
    good = RecordedExchange("wd-red-d-sense")(("hdparm", "-C", "NODE"), 1)
    (sense,) = fixed_senses(good.stderr)
    assert (sense.key, sense.status, sense.is_error) == (1, 0x50, False)
    assert refusal(good) is None


@pytest.mark.parametrize(
    "stderr", ["SG_IO: bad/missing sense data, sb[]:  72", "bad/missing sense data, sb[]: zz"]
)
def test_sense_data_that_make_no_sense_are_no_success(stderr, golden) -> None:
    assert (refusal(_answer("", stderr)) or "") == golden


@given(st.text())
def test_whatever_is_printed_is_read_without_an_error(text) -> None:
    refusal(_answer("", f"bad/missing sense data, sb[]:{text}"))
    parse_status(_answer(text, text))


def test_every_answer_that_tells_no_state_is_told_as_such() -> None:
    assert parse_status(_answer("")).complaint.startswith("hdparm reported no state")
    assert str(parse_status(_answer("", "SANITIZE feature set is not supported\n", 22))) == (
        "n/a (SANITIZE feature set is not supported)"
    )


def test_folder_of_exchanges_names_its_sources() -> None:
    files = list((DATA / "exchanges").glob("*.toml"))
    assert files
    for path in files:
        assert path.read_text().startswith("# "), path
