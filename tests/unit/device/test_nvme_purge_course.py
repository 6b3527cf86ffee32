"""The course of Format and Sanitize of NVMe, on drives as specified and as real ones were seen to be."""

from collections.abc import Callable, Sequence

import pytest
from msgspec.structs import replace

from openpts.device.block_device import BlockDevice
from openpts.device.nvme.nvme_admin import NvmeCommandError
from openpts.device.purge.nvme_format import NvmeFormat
from openpts.device.purge.nvme_sanitize import NvmeSanitize
from openpts.device.purge.nvme_sanitize_log import SanitizeLog, SanitizeState
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import PurgeError
from openpts.programs import Reply
from openpts.system_files import SystemRoots
from tests.support.nvme_answers import Drive, identify_namespace, sanitize_log
from tests.support.nvme_machine import (
    BLOCK_ALLOWING_EXIT,
    DONE,
    add_namespace,
    controller,
    device,
    formatting,
    roots,
    sanitizing,
    target,
    unshown,
)
from tests.support.refusals import refusal
from tests.support.transcript import Golden

__all__ = ["device", "roots", "target"]


@pytest.mark.parametrize(
    ("flbas", "dps", "arguments"),
    [
        (0x00, 0x0, ["--lbaf=0", "--ms=0", "--pi=0", "--pil=0"]),
        (0x11, 0x9, ["--lbaf=1", "--ms=1", "--pi=1", "--pil=1"]),
        (0x21, 0x3, ["--lbaf=17", "--ms=0", "--pi=3", "--pil=0"]),
    ],
)
def test_a_format_keeps_what_the_namespace_is(
    flbas: int, dps: int, arguments: list[str], target: OpenTarget, roots: SystemRoots
) -> None:
    drive = Drive(controller(), namespaces=[identify_namespace(flbas=flbas, dps=dps)])
    detail = formatting(drive).carry_out(target, unshown)
    (command,) = drive.commands
    assert command[:3] == ["nvme", "format", f"{roots.dev}/nvme0"]
    assert {"--namespace-id=1", "--ses=1", "--force", *arguments} < set(command)
    assert detail.startswith(f"LBA format {arguments[0].partition('=')[2]}")


@pytest.mark.parametrize("method", [formatting, sanitizing])
def test_no_command_goes_to_another_drive_that_has_got_the_name(
    method: Callable[[Drive], NvmeFormat | NvmeSanitize], target: OpenTarget
) -> None:
    drive = Drive(controller(sanicap=2, sn="OTHER"), [DONE])
    with pytest.raises(PurgeError, match="has serial number OTHER, but nvme0 has S3R1AL"):
        method(drive).carry_out(target, unshown)
    assert target.device is not None
    (target.device.folder / "dev").write_text("259:7\n")
    with pytest.raises(PurgeError, match="is no longer the drive that was opened"):
        method(drive).carry_out(target, unshown)
    assert drive.commands == []


def test_a_drive_that_comes_back_in_another_format_is_an_error(target: OpenTarget) -> None:
    drive = Drive(
        controller(), namespaces=[identify_namespace(), identify_namespace(), identify_namespace(flbas=2)]
    )
    with pytest.raises(
        PurgeError, match="from 1,000 blocks of LBA format 0: 512 B blocks to 1,000 of LBA format 2"
    ):
        formatting(drive).carry_out(target, unshown)


def test_a_format_that_fails_says_what_helps(target: OpenTarget, golden: Golden) -> None:
    cases = (
        # as the emulator's drive answers, on which nothing can be read afterwards
        "NVMe status: Internal Error: The command was not completed successfully due to an internal "
        "error(0x6)",
        "NVMe status: ACCESS_DENIED: Access to the namespace and/or LBA range is denied due to lack of "
        "access rights(0x4286)",
        "NVMe status: INVALID_FORMAT: The LBA Format specified is not supported. This may be due to "
        "various conditions(0x10a)",
        "NVMe status: INVALID_OPCODE: The associated command opcode field is not valid(0x1)",
    )
    assert [
        refusal(
            formatting(Drive(controller(), nvme=Reply((), 1, "", f"{said}\n", 1))).carry_out, target, unshown
        )
        for said in cases
    ] == golden


def test_the_wait_ends_with_the_log(target: OpenTarget) -> None:
    logs = [
        sanitize_log(0xFFFF, 0, 0),  # asked before
        sanitize_log(0xFFFF, 0, 0),  # late to begin
        sanitize_log(0x4000, 2, BLOCK_ALLOWING_EXIT),
        NvmeCommandError("Interrupted system call"),  # a reset
        sanitize_log(0xC000, 2, BLOCK_ALLOWING_EXIT),
        DONE,
    ]
    drive, told = Drive(controller(sanicap=2), logs), []
    detail = sanitizing(drive).carry_out(target, lambda share, text: told.append((share, text)))
    assert drive.commands == [
        ["nvme", "sanitize", str(target.device.roots.dev / "nvme0"), "--sanact=2", "--ause"]
    ]
    assert detail.startswith("completed successfully; nothing written since")
    assert [share for share, _ in told if share is not None] == [1.0, 0.25, 0.75]
    assert (None, "waiting for the drive, Interrupted system call") in told


@pytest.mark.parametrize("before", [sanitize_log(0xFFFF, 1, BLOCK_ALLOWING_EXIT), DONE])
def test_a_log_that_still_tells_of_the_last_sanitize_is_not_its_end(
    before: bytes, target: OpenTarget
) -> None:
    logs = [before, before, before, sanitize_log(0x8000, 2, BLOCK_ALLOWING_EXIT), DONE]
    drive = Drive(controller(sanicap=2), logs)
    shares: list[float | None] = []
    sanitizing(drive).carry_out(target, lambda share, _: shares.append(share))
    assert 0.5 in shares
    assert drive.now_s == 3


def test_a_log_that_never_changes_is_believed_after_a_minute(target: OpenTarget) -> None:
    drive = Drive(controller(sanicap=2), [DONE])
    assert sanitizing(drive).carry_out(target, unshown).startswith("completed successfully")
    assert 60 <= drive.now_s < 65


def test_a_sanitize_that_fails_says_what_can_be_done(target: OpenTarget) -> None:
    drive = Drive(controller(sanicap=2), [DONE, sanitize_log(0xFFFF, 3, BLOCK_ALLOWING_EXIT)])
    with pytest.raises(
        PurgeError, match=r"failed, according to the Sanitize Status log.*nvme sanitize /dev/nvme0 --sanact=1"
    ):
        sanitizing(drive).carry_out(target, unshown)


def test_a_sanitize_that_never_ends_is_left_after_two_hours(target: OpenTarget) -> None:
    """The log of an Intel 660p, which told 655 of 65,536 for a week."""
    drive = Drive(
        controller(sanicap=2), [sanitize_log(0xFFFF, 1, 0), sanitize_log(655, 2, BLOCK_ALLOWING_EXIT)]
    )
    with pytest.raises(
        PurgeError, match=r"has not ended after 120 min.*in progress, 1% done.*switch the machine off"
    ):
        sanitizing(drive).carry_out(target, unshown)
    assert 7200 <= drive.now_s < 7210


def test_a_drive_that_estimates_longer_gets_longer(target: OpenTarget) -> None:
    logs = [sanitize_log(0xFFFF, 1, 0, block_s=3600), sanitize_log(655, 2, BLOCK_ALLOWING_EXIT)]
    drive = Drive(controller(sanicap=2), logs)
    with pytest.raises(PurgeError, match="has not ended after 180 min"):
        sanitizing(drive).carry_out(target, unshown)


def test_a_drive_that_vanishes_in_the_middle_is_not_waited_for_without_end(target: OpenTarget) -> None:
    logs = [DONE, sanitize_log(655, 2, BLOCK_ALLOWING_EXIT), NvmeCommandError("No such device")]
    drive = Drive(controller(sanicap=2), logs)
    with pytest.raises(
        PurgeError, match=r"was started, but the drive has not answered for 90[0-9] s.*No such device"
    ):
        sanitizing(drive).carry_out(target, unshown)


def test_a_sanitize_of_which_the_log_tells_nothing_is_an_error(target: OpenTarget) -> None:
    drive = Drive(controller(sanicap=2), [sanitize_log(0xFFFF, 1, 0x4)])
    with pytest.raises(PurgeError, match=r"was accepted, but the drive's log shows none.*0x4 instead of 0xa"):
        sanitizing(drive).carry_out(target, unshown)


def test_a_sanitize_that_is_refused_is_not_waited_for(target: OpenTarget) -> None:
    said = "NVMe status: Sanitize In Progress: The requested command is prohibited(0x1d)"
    drive = Drive(controller(sanicap=2), [DONE], nvme=Reply((), 1, "", said, 1))
    with pytest.raises(PurgeError, match=r"failed: NVMe status: Sanitize In Progress.*wait for its end"):
        sanitizing(drive).carry_out(target, unshown)
    assert drive.now_s == 0


@pytest.mark.parametrize(
    ("data", "state", "text"),
    [
        (sanitize_log(0xFFFF, 0x000, 0), SanitizeState.NEVER, "never sanitized"),
        (DONE, SanitizeState.DONE, "completed successfully; nothing written since"),
        (sanitize_log(0xFFFF, 0x001, 2), SanitizeState.DONE, "completed successfully"),
        (sanitize_log(655, 0x002, 2), SanitizeState.IN_PROGRESS, "in progress, 1% done"),
        (sanitize_log(0xFFFF, 0x003, 2), SanitizeState.FAILED, "failed"),
        (
            sanitize_log(0xFFFF, 0x004, 2),
            SanitizeState.DONE_DEALLOCATED,
            "completed successfully, all blocks deallocated",
        ),
    ],
)
def test_the_sanitize_log_in_words(data: bytes, state: SanitizeState, text: str) -> None:
    log = SanitizeLog.parse(data)
    assert (log.state, str(log), log.estimates_s) == (state, text, {})


@pytest.mark.parametrize("data", [b"", bytes(19), sanitize_log(0, 7, 0)])
def test_a_sanitize_log_that_makes_no_sense(data: bytes) -> None:
    with pytest.raises(ValueError, match="Sanitize Status log"):
        SanitizeLog.parse(data)


@pytest.mark.parametrize(
    ("namespace", "value"),
    [
        (identify_namespace(nuse=250, nsfeat=1), "128 KB = 25.0%"),
        (identify_namespace(nuse=0), "0 B = 0.0%"),
        (identify_namespace(), None),
    ],
)
def test_utilisation_is_told_where_the_drive_counts_it(
    namespace: bytes, value: str | None, target: OpenTarget
) -> None:
    facts = formatting(Drive(controller(), namespaces=[namespace])).status(target)
    assert facts["utilisation"].value == value
    assert facts["reads_as"].value == "zeros"
    assert "sanitize_status" not in facts


def test_the_status_tells_of_the_last_sanitize(target: OpenTarget) -> None:
    facts = sanitizing(Drive(controller(sanicap=2), [DONE])).status(target)
    assert facts["sanitize_status"].value == "completed successfully; nothing written since"


def test_a_drive_under_another_name_is_found_by_its_serial_number(
    device: BlockDevice, target: OpenTarget, roots: SystemRoots
) -> None:
    """As a connection over a network does that was given up and made again in the middle."""
    drive = Drive(controller(sanicap=2), [DONE, NvmeCommandError("No such device"), DONE])
    method = sanitizing(drive)

    def connect_again(command: Sequence[str], timeout_s: float, *, to_the_end: bool = False) -> Reply:
        if command[1] == "sanitize":
            add_namespace(roots, "nvme5n1")
            (device.folder.parent / "serial").unlink()
        return drive.run(command, timeout_s, to_the_end=to_the_end)

    method = replace(method, run=connect_again)
    assert method.carry_out(target, unshown).startswith("completed successfully")
