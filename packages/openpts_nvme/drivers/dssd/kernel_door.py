"""The door to a drive by the kernel's own driver: passthrough commands, sysfs, and direct I/O."""

import mmap
import os
import time
from contextlib import suppress
from typing import Final, Self

from openpts.device.kernel_calls import discard, zero_out
from openpts.device.nvme_admin import send_admin
from openpts.device.nvme_subsystem import NvmeSubsystem
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import TargetError
from openpts.system_files import SystemRoots
from openpts_host.setting_file import write_request
from openpts_nvme.drivers.dssd.ask import AdminCommand, CommandCompletion

_FABRICS, _PROPERTY_SET, _PROPERTY_GET = 0x7F, 0x00, 0x04
_MS: Final = 1000


class KernelDoor:
    """Implements Door on a drive that the guard has opened. Raises TargetError for what is no NVMe drive."""

    def __init__(self, target: OpenTarget) -> None:
        controller = None if target.device is None else NvmeSubsystem.of(target.device).live_controller
        if target.device is None or controller is None:
            raise TargetError(f"{target.facts.path} is no NVMe drive: name one such as /dev/nvme0n1")
        self._target, self._controller = target, controller
        self.namespace = target.device.integer("nsid") or 1
        self.sector_bytes = target.facts.sector_bytes
        self.capacity_bytes = target.facts.user_capacity_bytes

    def admin(self, command: AdminCommand) -> CommandCompletion:
        """See the protocol."""
        status, result, data = send_admin(
            self._target.fd,
            command.opcode,
            command.dwords,
            nsid=command.namespace,
            data=command.data,
            read_bytes=command.reads,
            timeout_ms=round(command.limit_s * _MS),
        )
        return CommandCompletion(status, result, data)

    def register(self, offset: int, size: int) -> int | None:
        """See the protocol: by the mapped registers of PCI, or a property of Fabrics."""
        try:
            with (self._controller / "device/resource0").open("rb") as file:
                mapped = mmap.mmap(file.fileno(), mmap.PAGESIZE, access=mmap.ACCESS_READ)
        except (OSError, ValueError):
            try:
                command = (int(size == 8), offset)
                status, result, _ = send_admin(self._target.fd, _FABRICS, command, nsid=_PROPERTY_GET)
            except OSError:
                return None
            return None if status else result
        with mapped:
            parts = (mapped[at : at + 4] for at in range(offset, offset + size, 4))
            return int.from_bytes(b"".join(parts), "little")

    def write_register(self, offset: int, value: int) -> bool:
        """See the protocol: by Fabrics alone; those of PCI are the kernel's driver's own."""
        try:
            return not send_admin(self._target.fd, _FABRICS, (0, offset, value, 0), nsid=_PROPERTY_SET)[0]
        except OSError:
            return False

    def config_space(self) -> bytes:
        """See the protocol."""
        try:
            return (self._controller / "device/config").read_bytes()
        except OSError:
            return b""

    def read(self, offset: int, length: int) -> bytes:
        """See the protocol."""
        with mmap.mmap(-1, length) as buffer:
            if os.preadv(self._target.fd, [buffer], offset) != length:
                raise OSError(f"a read at {offset} was short")
            return buffer[:]

    def write(self, offset: int, data: bytes) -> None:
        """See the protocol."""
        with mmap.mmap(-1, len(data)) as buffer:
            buffer[:] = data
            os.pwritev(self._target.fd, [buffer], offset)

    def trim(self, offset: int, length: int) -> None:
        """See the protocol."""
        discard(self._target.fd, offset, length)

    def write_zeroes(self, offset: int, length: int) -> None:
        """See the protocol."""
        zero_out(self._target.fd, offset, length)

    def reset(self) -> None:
        """See the protocol; the kernel may need a moment to have the namespace back."""
        write_request(self._controller / "reset_controller", "1", SystemRoots())
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with suppress(OSError):
                self.read(0, self.sector_bytes)
                return
            time.sleep(0.001)

    def beside(self) -> Self:
        """See the protocol: reads by offset disturb no other thread."""
        return self
