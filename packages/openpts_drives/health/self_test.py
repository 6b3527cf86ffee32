"""Whether a drive is testing itself: it reads its own media then, beside whatever is measured."""

from typing import Final

from openpts.device.block_device import BlockDevice, DeviceKind
from openpts.device.kernel_calls import open_to_ask
from openpts.device.nvme_admin import NvmeCommandError, identify_controller, read_log
from openpts.programs import ProgramError, ProgramRunner, run_program
from openpts.vocabulary.facts import Fact
from openpts_drives.health.smartctl import SmartctlError, ask_smartctl

_NONE: Final = "none"
_TIMEOUT_S: Final = 30.0

# NVM Express Base Specification, Device Self-test log
_NVME_LOG: Final = 0x06
_NVME_LOG_BYTES: Final = 564
_NVME_KINDS: Final = {1: "short", 2: "extended", 3: "host-initiated refresh", 0xE: "vendor's"}

# ACS, SMART READ DATA: the upper half of the status byte while a test is in progress; the lower counts tenths
_ATA_STATUS: Final = ("ata_smart_data", "self_test", "status", "value")
_ATA_IN_PROGRESS: Final = 0xF


def self_test_fact(device: BlockDevice, run: ProgramRunner = run_program) -> Fact:
    """The self-test that a drive is at; never raises. A sleeping disk sleeps on."""
    disk = device.whole
    if disk.kind is DeviceKind.NVME:
        source = "NVMe log page 06h"
        try:
            with open_to_ask(disk) as fd:
                if not identify_controller(fd).tests_itself:
                    return Fact(f"{_NONE} (the drive has no self-test)", "Identify Controller, bit 4 of OACS")
                log = read_log(fd, _NVME_LOG, _NVME_LOG_BYTES)
        except (OSError, NvmeCommandError, ValueError) as error:
            return Fact(None, f"{source} can't be read: {error}")
        kind = log[0] & 0xF
        if kind == 0:
            return Fact(_NONE, source)
        return Fact(f"{_NVME_KINDS.get(kind, 'unknown')} self-test, {log[1] & 0x7F} % done", source)
    if disk.kind is DeviceKind.ATA:
        return _of_ata(disk, run)
    if disk.kind is DeviceKind.SCSI:
        return Fact(None, "openpts does not ask SCSI drives for it")
    return Fact(
        f"{_NONE} (not of a disk of {disk.kind})", f"{disk.node} is no drive with commands of its own"
    )


def _of_ata(disk: BlockDevice, run: ProgramRunner) -> Fact:
    try:
        answer = ask_smartctl(disk, run, _TIMEOUT_S, questions=("--capabilities",))
    except (SmartctlError, ProgramError) as error:
        return Fact(None, f"the self-test's status can't be read: {error}")
    source = f"{answer.name} --capabilities"
    status = answer.number(*_ATA_STATUS)
    if status is None:
        return Fact(None, f"{source}: the drive tells nothing of self-tests")
    state, tenths_left = divmod(int(status), 16)
    return Fact(_NONE if state != _ATA_IN_PROGRESS else f"self-test, {100 - 10 * tenths_left} % done", source)
