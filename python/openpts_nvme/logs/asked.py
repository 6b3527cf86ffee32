"""What the operator asks for: a page by its name, of a drive or of a file."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from openpts.device.block_device import BlockDevice, DeviceKind
from openpts.device.kernel_calls import open_to_ask
from openpts.device.nvme.nvme_admin import NvmeCommandError
from openpts.errors import TargetError, UsageError
from openpts.system_files import SystemRoots, printable
from openpts_nvme.logs.declaration import Log, declared_logs
from openpts_nvme.logs.drive import DriveLog, LogReader
from openpts_nvme.logs.page import LogError, decode


class Source(Protocol):
    """Where pages come from."""

    def all(self) -> Sequence[DriveLog]:
        """All pages that the drive should have."""

    def one(self, log: Log) -> DriveLog:
        """The page of a declaration."""


class _Drive:
    def __init__(self, reader: LogReader) -> None:
        self._reader = reader

    def all(self) -> Sequence[DriveLog]:
        return [self._reader.read(log) for log in self._reader.expected]

    def one(self, log: Log) -> DriveLog:
        return self._reader.read(log)


class _File:
    def __init__(self, path: Path) -> None:
        self._path = path

    def all(self) -> Sequence[DriveLog]:
        raise UsageError(f"{printable(str(self._path))} is a file: name the log whose page it has")

    def one(self, log: Log) -> DriveLog:
        data = self._path.read_bytes()
        try:
            return DriveLog(log, 0, data, decode(log, data))
        except LogError as error:
            return DriveLog(log, 0, data, refused=str(error))


@contextmanager
def source_of(text: str) -> Iterator[Source]:
    """A drive, or a file with a page. Raises TargetError if it is neither, or can't be read."""
    path = Path(text)
    if path.is_file():
        yield _File(path)
        return
    disk = BlockDevice.of_node(path, SystemRoots()).whole
    if disk.kind is not DeviceKind.NVME:
        raise TargetError(f"{disk.node} has no NVMe logs: it is a device of another kind ({disk.kind})")
    try:
        with open_to_ask(disk) as fd:
            yield _Drive(LogReader(fd))
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
