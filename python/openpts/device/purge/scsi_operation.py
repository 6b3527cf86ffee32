"""What FORMAT UNIT and SANITIZE of a SCSI drive have in common: both go on inside it when they have begun."""

from dataclasses import dataclass

from openpts.device.block_device import BlockDevice, DeviceKind
from openpts.device.purge.held_drive import held_drive
from openpts.device.purge.method import Capability, Progress
from openpts.device.purge.scsi_commands import ScsiCommandError, ScsiDrive, Sense
from openpts.device.purge.waiting import Clock, NothingToldError, wait_while_running
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import PurgeError
from openpts.programs import Run
from openpts.vocabulary.facts import Fact, Facts


@dataclass(frozen=True, slots=True)
class ScsiOrder:
    """A command that begins an operation, how long that may take, and who runs and waits."""

    command: tuple[str, ...]
    limit_s: float
    run: Run
    clock: Clock


def scsi_capability(
    device: BlockDevice, run: Run, operation_code: int, service_action: int | None = None
) -> Capability:
    """Whether a drive lists a command and has nothing under way."""
    if device.kind is DeviceKind.ATA:
        reason = "is an ATA drive: its own commands are ata-sanitize and ata-security-erase"
        return Capability(False, reason, foreign=True)
    if device.kind is not DeviceKind.SCSI:
        return Capability(False, f"is no SCSI drive but {device.kind}", foreign=True)
    drive = ScsiDrive(device.node, run)
    against = drive.supports(operation_code, service_action)
    if against is not None:
        return Capability(False, against)
    try:
        sense = drive.request_sense()
    except ScsiCommandError as error:
        return Capability(False, str(error))
    if sense.running:
        return Capability(False, f"is busy: {sense}; wait, see sg_requests --progress {device.node}")
    return Capability(True, "REPORT SUPPORTED OPERATION CODES lists it")


def carry_out_inside(target: OpenTarget, title: str, order: ScsiOrder, progress: Progress) -> None:
    """Begin an operation that goes on inside a drive, and wait for its end. Raises PurgeError."""
    device = held_drive(target, title)
    drive = ScsiDrive(device.node, order.run)
    what = f"{title} of {device.node}"
    try:
        drive.tell(order.command)
    except ScsiCommandError as error:
        raise PurgeError(f"{what} failed: {error}") from error
    sense = wait_while_running(lambda: _look(drive), what, order.limit_s, progress, order.clock)
    if sense.failure is not None:
        raise PurgeError(f"{what} failed: {sense}")


def scsi_status(target: OpenTarget, run: Run) -> Facts:
    """What the drive says of its last format or sanitize; empty for a file."""
    if target.device is None:
        return {}
    try:
        sense = ScsiDrive(target.device.node, run).request_sense()
    except ScsiCommandError as error:
        return {"scsi_sense": Fact(None, str(error))}
    return {"scsi_sense": Fact(str(sense), "REQUEST SENSE")}


def _look(drive: ScsiDrive) -> Sense:
    try:
        sense = drive.request_sense()
    except ScsiCommandError as error:
        raise NothingToldError(str(error)) from error
    if sense.is_of_something_else:
        raise NothingToldError(str(sense))
    return sense
