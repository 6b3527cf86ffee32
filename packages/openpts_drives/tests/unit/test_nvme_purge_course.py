"""The course of Format and Sanitize of NVMe, on drives as specified and as real ones were seen to be."""

import os
from collections.abc import Sequence

import pytest
from msgspec.structs import force_setattr, replace

from openpts.device.block_device import BlockDevice
from openpts.device.nvme_admin import NvmeCommandError, NvmeController, open_nvme_generic
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import PurgeError, TargetError
from openpts.programs import ProgramError, Reply
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts_drives.purge.nvme_drive import SanitizeAction, SanitizeLog, SanitizeState
from openpts_drives.purge.nvme_purges import NvmeFormat
from tests.support.nvme_answers import Drive, identify_namespace, sanitize_log
from tests.support.nvme_machine import (
    BLOCK_ALLOWING_EXIT,
    DONE,
    add_namespace,
    controller,
    device,
    formatting,
    open_drive,
    roots,
    sanitizing,
    target,
    unshown,
)
from tests.support.program_answers import no_programs
from tests.support.refusals import refusal

__all__ = ["device", "roots", "target"]


@pytest.mark.parametrize(
    ("flbas", "dps", "arguments"),
    [
        (0x00, 0x0, ["--lbaf=0", "--ms=0", "--pi=0", "--pil=0"]),
        (0x11, 0x9, ["--lbaf=1", "--ms=1", "--pi=1", "--pil=1"]),
        (0x21, 0x3, ["--lbaf=17", "--ms=0", "--pi=3", "--pil=0"]),
    ],
)
def test_a_format_keeps_what_the_namespace_is(flbas, dps, arguments, target, roots) -> None:
    drive = Drive(controller(), namespaces=[identify_namespace(flbas=flbas, dps=dps)])
    detail = formatting(drive).carry_out(target, unshown)
    (command,) = drive.commands
    assert command[:3] == ["nvme", "format", f"{roots.dev}/nvme0"]
    assert {"--namespace-id=1", "--ses=1", "--force", *arguments} < set(command)
    assert detail.startswith(f"LBA format {arguments[0].partition('=')[2]}")


@pytest.mark.parametrize("method", [formatting, sanitizing])
def test_no_command_goes_to_another_drive_that_has_got_the_name(method, target) -> None:
    drive = Drive(controller(sanicap=2, sn="OTHER"), [DONE])
    with pytest.raises(PurgeError, match="has serial number OTHER, but nvme0 has S3R1AL"):
        method(drive).carry_out(target, unshown)
    (target.device.folder / "dev").write_text("259:7\n")
    with pytest.raises(PurgeError, match="is no longer the drive that was opened"):
        method(drive).carry_out(target, unshown)
    assert drive.commands == []


def test_a_drive_that_comes_back_in_another_format_is_an_error(target) -> None:
    drive = Drive(
        controller(), namespaces=[identify_namespace(), identify_namespace(), identify_namespace(flbas=2)]
    )
    with pytest.raises(
        PurgeError, match="from 1,000 blocks of LBA format 0: 512 B blocks to 1,000 of LBA format 2"
    ):
        formatting(drive).carry_out(target, unshown)


def test_a_format_that_fails_says_what_helps(target, golden) -> None:
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


def test_the_wait_ends_with_the_log(target) -> None:
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
def test_a_log_that_still_tells_of_the_last_sanitize_is_not_its_end(before, target) -> None:
    logs = [before, before, before, sanitize_log(0x8000, 2, BLOCK_ALLOWING_EXIT), DONE]
    drive = Drive(controller(sanicap=2), logs)
    shares: list[float | None] = []
    sanitizing(drive).carry_out(target, lambda share, _: shares.append(share))
    assert 0.5 in shares
    assert drive.now_s == 3


def test_a_log_that_never_changes_is_believed_after_a_minute(target) -> None:
    drive = Drive(controller(sanicap=2), [DONE])
    assert sanitizing(drive).carry_out(target, unshown).startswith("completed successfully")
    assert 60 <= drive.now_s < 65


def test_a_sanitize_that_fails_says_what_can_be_done(target) -> None:
    drive = Drive(controller(sanicap=2), [DONE, sanitize_log(0xFFFF, 3, BLOCK_ALLOWING_EXIT)])
    with pytest.raises(
        PurgeError, match=r"failed, according to the Sanitize Status log.*nvme sanitize /dev/nvme0 --sanact=1"
    ):
        sanitizing(drive).carry_out(target, unshown)


def test_a_sanitize_that_never_ends_is_left_after_two_hours(target) -> None:
    """The log of an Intel 660p, which told 655 of 65,536 for a week."""
    drive = Drive(
        controller(sanicap=2), [sanitize_log(0xFFFF, 1, 0), sanitize_log(655, 2, BLOCK_ALLOWING_EXIT)]
    )
    with pytest.raises(
        PurgeError, match=r"has not ended after 120 min.*in progress, 1% done.*Switch the machine off"
    ):
        sanitizing(drive).carry_out(target, unshown)
    assert 7200 <= drive.now_s < 7210


def test_a_drive_that_estimates_longer_gets_longer(target) -> None:
    logs = [sanitize_log(0xFFFF, 1, 0, block_s=3600), sanitize_log(655, 2, BLOCK_ALLOWING_EXIT)]
    drive = Drive(controller(sanicap=2), logs)
    with pytest.raises(PurgeError, match="has not ended after 180 min"):
        sanitizing(drive).carry_out(target, unshown)


def test_a_drive_that_vanishes_in_the_middle_is_not_waited_for_without_end(target) -> None:
    logs = [DONE, sanitize_log(655, 2, BLOCK_ALLOWING_EXIT), NvmeCommandError("No such device")]
    drive = Drive(controller(sanicap=2), logs)
    with pytest.raises(
        PurgeError, match=r"was started, but the drive has not answered for 90[0-9] s.*No such device"
    ):
        sanitizing(drive).carry_out(target, unshown)


def test_a_sanitize_of_which_the_log_tells_nothing_is_an_error(target) -> None:
    drive = Drive(controller(sanicap=2), [sanitize_log(0xFFFF, 1, 0x4)])
    with pytest.raises(PurgeError, match=r"was accepted, but the drive's log shows none.*0x4 instead of 0xa"):
        sanitizing(drive).carry_out(target, unshown)


def test_a_sanitize_that_is_refused_is_not_waited_for(target) -> None:
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
def test_the_sanitize_log_in_words(data, state, text) -> None:
    log = SanitizeLog.parse(data)
    assert (log.state, str(log), log.estimates_s) == (state, text, {})


@pytest.mark.parametrize("data", [b"", bytes(19), sanitize_log(0, 7, 0)])
def test_a_sanitize_log_that_makes_no_sense(data) -> None:
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
def test_utilisation_is_told_where_the_drive_counts_it(namespace, value, target) -> None:
    facts = formatting(Drive(controller(), namespaces=[namespace])).status(target)
    assert facts["utilisation"].value == value
    assert facts["reads_as"].value == "zeros"
    assert "sanitize_status" not in facts


def test_the_status_tells_of_the_last_sanitize(target) -> None:
    facts = sanitizing(Drive(controller(sanicap=2), [DONE])).status(target)
    assert facts["sanitize_status"].value == "completed successfully; nothing written since"


def test_a_drive_under_another_name_is_found_by_its_serial_number(device, target, roots) -> None:
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


@pytest.mark.parametrize(
    ("told", "ses", "supported"),
    [
        (controller(), 1, True),
        (controller(oacs=0), 1, False),
        (controller(), 2, False),
        (controller(fna=4), 2, True),
    ],
)
def test_what_a_controller_announces_of_formats(told, ses, supported, device, golden) -> None:
    capability = formatting(Drive(told), ses).capability(device)
    assert (capability.supported, capability.reaches) == (supported, ())
    assert capability.reason == golden


@pytest.mark.parametrize("fna", [1, 2])
def test_a_format_of_all_namespaces_names_the_others(fna, device, roots) -> None:
    other = add_namespace(roots, "nvme0n2")
    add_namespace(roots, "nvme1n1", "OTHER")
    drive = Drive(controller(fna=fna))
    assert formatting(drive).capability(device).reaches == (str(other.node),)
    with open_drive(device) as target, open_drive(other) as sibling:
        with pytest.raises(PurgeError, match="nvme0n2 would be erased as well, which was not confirmed"):
            formatting(drive).carry_out(target, unshown)
        assert drive.commands == []
        both = OpenTarget(target.fd, target.facts, device, siblings=(sibling,))
        formatting(drive).carry_out(both, unshown)
    assert len(drive.commands) == 1


MANAGES = 0xA  # OACS: Format NVM, Namespace Management


@pytest.mark.parametrize("method", [formatting, sanitizing])
@pytest.mark.parametrize(
    ("allocated", "reason"),
    [
        ((1, 2, 7), "would erase namespaces 2 and 7 as well, which this machine does not show"),
        (NvmeCommandError("NVMe status 0x4002"), "would erase 1.02 MB more than this machine shows"),
    ],
)
def test_a_namespace_that_this_machine_does_not_show_is_in_the_way_of_what_erases_it(
    method, allocated, reason, target
) -> None:
    """It is detached, or attached to the host on the drive's other port."""
    told = replace(controller(oacs=MANAGES, fna=2, sanicap=2), tnvmcap=2_048_000, unvmcap=512_000)
    drive = Drive(told, [DONE], [identify_namespace(nvmcap=512_000)], allocated=allocated)
    assert target.device is not None
    capability = method(drive).capability(target.device)
    assert not capability.supported
    assert reason in capability.reason
    with pytest.raises(PurgeError, match=reason):
        method(drive).carry_out(target, unshown)
    assert drive.commands == []


def test_a_format_that_reaches_one_namespace_minds_no_other(device) -> None:
    drive = Drive(controller(oacs=MANAGES), allocated=(1, 2))
    assert formatting(drive).capability(device).supported


def test_a_drive_whose_namespaces_are_all_shown_is_sanitized(device, roots) -> None:
    other = add_namespace(roots, "nvme0n2")
    told = replace(controller(oacs=MANAGES, sanicap=2), tnvmcap=1_024_000, unvmcap=0)
    for allocated in ((1, 2), NvmeCommandError("NVMe status 0x4002")):
        drive = Drive(told, [DONE], [identify_namespace()], allocated=allocated)
        capability = sanitizing(drive).capability(device)
        assert (capability.supported, capability.reaches) == (True, (str(other.node),))


def test_a_drive_that_tells_neither_namespaces_nor_space_is_not_sanitized(device, golden) -> None:
    drive = Drive(
        controller(oacs=MANAGES, sanicap=2), [DONE], allocated=NvmeCommandError("NVMe status 0x4002")
    )
    capability = sanitizing(drive).capability(device)
    assert not capability.supported
    assert capability.reason == golden
    drive.controller = replace(drive.controller, nn=1)
    assert sanitizing(drive).capability(device).supported


@pytest.mark.parametrize("method", [formatting, sanitizing])
def test_nothing_is_sent_where_what_it_would_reach_can_not_be_asked(method, target, roots) -> None:
    """As from a machine so busy that nvme-cli takes longer than its limit to tell its version."""
    add_namespace(roots, "nvme0n2")
    drive = Drive(controller(fna=2, sanicap=2), [DONE])

    def late(command: Sequence[str], timeout_s: float, *, to_the_end: bool = False) -> Reply:
        if list(command) == ["nvme", "version"]:
            raise ProgramError("nvme did not end within 20 s and was killed")
        return drive.run(command, timeout_s, to_the_end=to_the_end)

    with pytest.raises(PurgeError, match="nvme did not end within 20 s"):
        replace(method(drive), run=late).carry_out(target, unshown)
    assert drive.commands == []


def test_without_nvme_cli_nothing_can_be_done(device) -> None:
    capability = NvmeFormat("nvme-format", "", 1, run=no_programs).capability(device)
    assert (capability.supported, capability.foreign) == (False, False)
    assert capability.reason.endswith("install the package nvme-cli")


def test_a_drive_of_another_kind_is_foreign(roots) -> None:
    folder = roots.sys / "devices/virtual/block/loop0"
    folder.mkdir(parents=True)
    assert formatting(Drive(controller())).capability(BlockDevice(folder, roots)).foreign


def test_a_user_who_may_not_ask_gets_no_answer(device) -> None:
    def refused(_fd: int) -> NvmeController:
        raise NvmeCommandError("Permission denied")

    drive = Drive(controller())
    method = NvmeFormat("nvme-format", "", 1, run=drive.run)
    force_setattr(method, "questions", drive.questions().__class__(controller=refused))
    assert method.capability(device).reason == "can't query the controller: Permission denied"


@pytest.mark.parametrize("action", SanitizeAction)
def test_a_sanitize_is_offered_where_it_is_announced(action, device) -> None:
    bit = {SanitizeAction.CRYPTO: 1, SanitizeAction.BLOCK: 2, SanitizeAction.OVERWRITE: 4}[action]
    logs = [sanitize_log(0xFFFF, 0, 0, overwrite_s=1600, block_s=60, crypto_s=2)]
    capability = sanitizing(Drive(controller(sanicap=bit), logs), action).capability(device)
    estimates = {SanitizeAction.CRYPTO: 2, SanitizeAction.BLOCK: 60, SanitizeAction.OVERWRITE: 100}
    assert (capability.supported, capability.duration_s) == (True, estimates[action])
    assert not sanitizing(Drive(controller(sanicap=7 - bit), logs), action).capability(device).supported


def test_a_sanitize_that_goes_on_already_is_in_the_way_of_everything(device) -> None:
    drive = Drive(controller(sanicap=7), [sanitize_log(0x8000, 2, BLOCK_ALLOWING_EXIT)])
    for method in (formatting(drive), sanitizing(drive)):
        capability = method.capability(device)
        assert not capability.supported
        assert capability.reason == "a sanitize is in progress, 50% done: wait for its end"


def test_a_sanitize_reaches_all_namespaces(device, roots) -> None:
    other = add_namespace(roots, "nvme0n2")
    capability = sanitizing(Drive(controller(sanicap=2), [DONE])).capability(device)
    assert capability.reaches == (str(other.node),)


FACTS = TargetFacts(TargetKind.BLOCK, "x", "/dev/x", 1 << 30, 512)


def opened(device: BlockDevice | None, fd: int = -1) -> OpenTarget:
    return OpenTarget(fd, FACTS, device)


@pytest.mark.parametrize("name", ["sda", "nvme1n1p1"])
def test_only_a_whole_namespace_can_be_passed_commands(name, server) -> None:
    device = BlockDevice.of_name(name, server)
    with pytest.raises(TargetError, match="not an NVMe namespace"), open_nvme_generic(opened(device)):
        pass


def test_a_file_cannot(server) -> None:
    with pytest.raises(TargetError, match="not an NVMe namespace"), open_nvme_generic(opened(None)):
        pass


def test_a_namespace_without_a_generic_device_is_told(server, tmp_path) -> None:
    device = BlockDevice(
        BlockDevice.of_name("nvme0n1", server).folder, SystemRoots(sys=server.sys, dev=tmp_path)
    )
    held = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(TargetError, match="ng0n1 can't be opened"), open_nvme_generic(opened(device, held)):
        pass
    os.close(held)


def test_a_node_of_that_name_that_is_another_device_gets_no_commands(server, tmp_path) -> None:
    device = BlockDevice(
        BlockDevice.of_name("nvme0n1", server).folder, SystemRoots(sys=server.sys, dev=tmp_path)
    )
    (tmp_path / "ng0n1").write_bytes(b"")
    held = os.open(tmp_path / "ng0n1", os.O_RDONLY)
    with pytest.raises(TargetError), open_nvme_generic(opened(device, held)):
        pass
    os.close(held)
