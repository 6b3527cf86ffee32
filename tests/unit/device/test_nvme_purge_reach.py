"""What Format and Sanitize of NVMe would reach, and what is against them, before any command is sent."""

from collections.abc import Callable, Sequence

import pytest
from msgspec.structs import force_setattr, replace

from openpts.device.block_device import BlockDevice
from openpts.device.nvme.nvme_admin import NvmeCommandError
from openpts.device.nvme.nvme_identify import NvmeController
from openpts.device.purge.nvme_format import NvmeFormat
from openpts.device.purge.nvme_sanitize import NvmeSanitize
from openpts.device.purge.nvme_sanitize_log import SanitizeAction
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import PurgeError
from openpts.programs import ProgramError, Reply
from openpts.system_files import SystemRoots
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
from tests.support.transcript import Golden

__all__ = ["device", "roots", "target"]


@pytest.mark.parametrize(
    ("told", "ses", "supported"),
    [
        (controller(), 1, True),
        (controller(oacs=0), 1, False),
        (controller(), 2, False),
        (controller(fna=4), 2, True),
    ],
)
def test_what_a_controller_announces_of_formats(
    told: NvmeController, ses: int, supported: bool, device: BlockDevice, golden: Golden
) -> None:
    capability = formatting(Drive(told), ses).capability(device)
    assert (capability.supported, capability.reaches) == (supported, ())
    assert capability.reason == golden


@pytest.mark.parametrize("fna", [1, 2])
def test_a_format_of_all_namespaces_names_the_others(
    fna: int, device: BlockDevice, roots: SystemRoots
) -> None:
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
    method: Callable[[Drive], NvmeFormat | NvmeSanitize],
    allocated: Sequence[int] | Exception,
    reason: str,
    target: OpenTarget,
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


def test_a_format_that_reaches_one_namespace_minds_no_other(device: BlockDevice) -> None:
    drive = Drive(controller(oacs=MANAGES), allocated=(1, 2))
    assert formatting(drive).capability(device).supported


def test_a_drive_whose_namespaces_are_all_shown_is_sanitized(device: BlockDevice, roots: SystemRoots) -> None:
    other = add_namespace(roots, "nvme0n2")
    told = replace(controller(oacs=MANAGES, sanicap=2), tnvmcap=1_024_000, unvmcap=0)
    for allocated in ((1, 2), NvmeCommandError("NVMe status 0x4002")):
        drive = Drive(told, [DONE], [identify_namespace()], allocated=allocated)
        capability = sanitizing(drive).capability(device)
        assert (capability.supported, capability.reaches) == (True, (str(other.node),))


def test_a_drive_that_tells_neither_namespaces_nor_space_is_not_sanitized(
    device: BlockDevice, golden: Golden
) -> None:
    drive = Drive(
        controller(oacs=MANAGES, sanicap=2), [DONE], allocated=NvmeCommandError("NVMe status 0x4002")
    )
    capability = sanitizing(drive).capability(device)
    assert not capability.supported
    assert capability.reason == golden
    drive.controller = replace(drive.controller, nn=1)
    assert sanitizing(drive).capability(device).supported


@pytest.mark.parametrize("method", [formatting, sanitizing])
def test_nothing_is_sent_where_what_it_would_reach_can_not_be_asked(
    method: Callable[[Drive], NvmeFormat | NvmeSanitize], target: OpenTarget, roots: SystemRoots
) -> None:
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


def test_without_nvme_cli_nothing_can_be_done(device: BlockDevice) -> None:
    capability = NvmeFormat("nvme-format", "", 1, run=no_programs).capability(device)
    assert (capability.supported, capability.foreign) == (False, False)
    assert capability.reason.endswith("install the package nvme-cli")


def test_a_drive_of_another_kind_is_foreign(roots: SystemRoots) -> None:
    folder = roots.sys / "devices/virtual/block/loop0"
    folder.mkdir(parents=True)
    assert formatting(Drive(controller())).capability(BlockDevice(folder, roots)).foreign


def test_a_user_who_may_not_ask_gets_no_answer(device: BlockDevice) -> None:
    def refused(_fd: int) -> NvmeController:
        raise NvmeCommandError("Permission denied")

    drive = Drive(controller())
    method = NvmeFormat("nvme-format", "", 1, run=drive.run)
    force_setattr(method, "questions", drive.questions().__class__(controller=refused))
    assert method.capability(device).reason == "can't query the controller: Permission denied"


@pytest.mark.parametrize("action", SanitizeAction)
def test_a_sanitize_is_offered_where_it_is_announced(action: SanitizeAction, device: BlockDevice) -> None:
    bit = {SanitizeAction.CRYPTO: 1, SanitizeAction.BLOCK: 2, SanitizeAction.OVERWRITE: 4}[action]
    logs = [sanitize_log(0xFFFF, 0, 0, overwrite_s=1600, block_s=60, crypto_s=2)]
    capability = sanitizing(Drive(controller(sanicap=bit), logs), action).capability(device)
    estimates = {SanitizeAction.CRYPTO: 2, SanitizeAction.BLOCK: 60, SanitizeAction.OVERWRITE: 100}
    assert (capability.supported, capability.duration_s) == (True, estimates[action])
    assert not sanitizing(Drive(controller(sanicap=7 - bit), logs), action).capability(device).supported


def test_a_sanitize_that_goes_on_already_is_in_the_way_of_everything(device: BlockDevice) -> None:
    drive = Drive(controller(sanicap=7), [sanitize_log(0x8000, 2, BLOCK_ALLOWING_EXIT)])
    for method in (formatting(drive), sanitizing(drive)):
        capability = method.capability(device)
        assert not capability.supported
        assert capability.reason == "a sanitize is in progress, 50% done: wait for its end"


def test_a_sanitize_reaches_all_namespaces(device: BlockDevice, roots: SystemRoots) -> None:
    other = add_namespace(roots, "nvme0n2")
    capability = sanitizing(Drive(controller(sanicap=2), [DONE])).capability(device)
    assert capability.reaches == (str(other.node),)
