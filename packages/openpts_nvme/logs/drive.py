"""Declared pages read from a drive that is open."""

from typing import Final

from msgspec import Struct

from openpts.device.nvme.nvme_admin import (
    NvmeCommandError,
    identify_controller,
    identify_uuid_list,
    read_log,
    set_feature,
)
from openpts_drives.health.nvme_health import ocp_uuid_index
from openpts_nvme.logs.declaration import Log
from openpts_nvme.logs.encode import encode_feature
from openpts_nvme.logs.page import LogError, LogPage, Value, decode, whole_bytes

# What every controller gives at once; and no more is read of a page that says how long it is
_PIECE_BYTES: Final = 4096
_MOST_BYTES: Final = 1 << 20


class DriveLog(Struct, frozen=True):
    """A page as a drive gave it, and by which UUID index; ``page`` is None where ``refused`` says why.

    Index 0 is no particular vendor.
    """

    log: Log
    uuid_index: int
    data: bytes = b""
    page: LogPage | None = None
    refused: str = ""


def decoded(log: Log, uuid_index: int, data: bytes) -> DriveLog:
    """The bytes of a page; what its declaration refuses is in words."""
    try:
        return DriveLog(log, uuid_index, data, decode(log, data))
    except LogError as error:
        return DriveLog(log, uuid_index, data, refused=str(error))


class LogReader:
    """Log pages of an open NVMe drive, OCP's by their UUID index. Raises NvmeCommandError."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self.controller = identify_controller(fd)
        self.uuid_index = 0
        if self.controller.has_uuid_list:
            self.uuid_index = ocp_uuid_index(identify_uuid_list(fd))

    def read(self, log: Log) -> DriveLog:
        """A page, up to 1 MiB of it, and decoded; a refusal by drive or declaration is in words."""
        index = self.uuid_index if log.ocp else 0

        def part(offset: int, length: int) -> bytes:
            asked = -(-length // 4) * 4
            group = int(log.scope == "endurance group")
            return read_log(
                *(self._fd, log.id, asked),
                uuid_index=index,
                offset=offset,
                endurance_group=group,
                retain_events=True,
            )[:length]

        try:
            data = part(0, log.length)
            whole = min(whole_bytes(log, data), _MOST_BYTES)
            for at in range(len(data), whole, _PIECE_BYTES):
                data += part(at, min(_PIECE_BYTES, whole - at))
        except NvmeCommandError as error:
            return DriveLog(log, index, refused=f"the drive refuses it: {error}")
        return decoded(log, index, data)

    def configure(self, log: Log, values: dict[str, Value]) -> int:
        """Set a declared feature on a target of the guard, and return the UUID index that the drive took.

        It is OCP's, as the specification asks, or 0 for a drive that refuses that one.
        Raises NvmeCommandError, LogError.
        """
        data = encode_feature(log, values)
        try:
            set_feature(self._fd, log.id, 0, data=data, uuid_index=self.uuid_index)
        except NvmeCommandError:
            if not self.uuid_index:
                raise
            set_feature(self._fd, log.id, 0, data=data)
            return 0
        return self.uuid_index
