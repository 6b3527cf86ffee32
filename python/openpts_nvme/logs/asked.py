"""What the operator asks for: a page by its name, of a drive or of a file."""

from pathlib import Path

from openpts.device.block_device import BlockDevice, DeviceKind
from openpts.device.kernel_calls import open_to_ask
from openpts.device.nvme.nvme_admin import NvmeCommandError
from openpts.errors import TargetError, UsageError
from openpts.system_files import SystemRoots, printable
from openpts_nvme.logs.declaration import Log, declared_logs
from openpts_nvme.logs.drive import DriveLog, LogReader, decoded


def pages_of(text: str, log: Log | None) -> list[DriveLog]:
    """A page of a drive or of a file that has it; without ``log``, all that the drive should have.

    Raises UsageError for all pages of a file, and TargetError if it is neither, or can't be read.
    """
    path = Path(text)
    if path.is_file():
        if log is None:
            raise UsageError(f"{printable(text)} is a file: name the log whose page it has")
        return [decoded(log, 0, path.read_bytes())]
    disk = BlockDevice.of_node(path, SystemRoots()).whole
    if disk.kind is not DeviceKind.NVME:
        raise TargetError(f"{disk.node} has no NVMe logs: it is a device of another kind ({disk.kind})")
    try:
        with open_to_ask(disk) as fd:
            reader = LogReader(fd)
            return [reader.read(one) for one in (reader.expected if log is None else (log,))]
    except OSError as error:
        raise TargetError(f"can't open {disk.node}: {error.strerror}") from error
    except NvmeCommandError as error:
        raise TargetError(f"can't identify {disk.node}: {error}") from error


def named(text: str) -> Log:
    """A page by its name or by its number, such as ``C0h``. Raises UsageError."""
    known = {name: log for name, log in declared_logs().items() if not log.is_feature}
    numbers = {f"{log.id:02x}": log for log in known.values()}
    digits = text.lower().removeprefix("0x").removesuffix("h")
    log = known.get(text.lower()) or numbers.get(digits)
    if log is None:
        raise UsageError(f"invalid LOG {printable(text)!r}: use one of {', '.join(known)}")
    return log
