"""A door to a served drive, by the tests' own NVMe/TCP host."""

import struct
from typing import Self

from openpts_nvme.drivers.dssd.ask import AdminCommand, CommandCompletion
from openpts_testbench.served_drive import ServedDrive
from tests.support.nvme_tcp_host import Host

_DEALLOCATE = 1 << 25


class TcpDoor:
    """Implements Door on a queue pair of its own."""

    def __init__(self, drive: ServedDrive, admin: Host, io: Host) -> None:
        self.drive, self.host, self.io = drive, admin, io
        self.namespace = 1
        self.sector_bytes = drive.preset.sector_bytes
        self.capacity_bytes = drive.capacity_bytes
        self.others: list[Host] = []

    @classmethod
    def open(cls, drive: ServedDrive) -> Self:
        admin = Host(drive.address, drive.names.nqn)
        admin.open()
        admin.enable()
        io = Host(drive.address, drive.names.nqn, queue=1, controller=admin.controller)
        io.open()
        return cls(drive, admin, io)

    def close(self) -> None:
        for host in (*self.others, self.io, self.host):
            host.stream.close()

    def admin(self, command: AdminCommand) -> CommandCompletion:
        done = self.host.command(
            command.opcode,
            *command.dwords,
            namespace=command.namespace,
            data=command.data,
            reads=command.reads,
        )
        return CommandCompletion(done.status, done.result, done.data)

    def register(self, offset: int, size: int) -> int | None:
        done = self.host.fabrics(4, struct.pack("<II", size == 8, offset))
        return None if done.status else done.result

    def write_register(self, offset: int, value: int) -> bool:
        return not self.host.fabrics(0, struct.pack("<IIQ", 0, offset, value)).status

    def config_space(self) -> bytes:
        return b""

    def read(self, offset: int, length: int) -> bytes:
        done = self.io.read(offset // self.sector_bytes, length, sector=self.sector_bytes)
        if done.status:
            raise OSError(f"status {done.status:#x}")
        return done.data

    def write(self, offset: int, data: bytes) -> None:
        done = self.io.write(offset // self.sector_bytes, data, sector=self.sector_bytes)
        if done.status:
            raise OSError(f"status {done.status:#x}")

    def trim(self, offset: int, length: int) -> None:
        entry = struct.pack("<IIQ", 0, length // self.sector_bytes, offset // self.sector_bytes)
        if self.io.command(9, 0, 4, namespace=1, data=entry).status:
            raise OSError("trim refused")

    def write_zeroes(self, offset: int, length: int) -> None:
        first, blocks = offset // self.sector_bytes, length // self.sector_bytes
        words = (first & 0xFFFFFFFF, first >> 32, blocks - 1 | _DEALLOCATE)
        if self.io.command(8, *words, namespace=1).status:
            raise OSError("write zeroes refused")

    def reset(self) -> None:
        self.host.fabrics(0, struct.pack("<IIQ", 0, 0x14, 0x00460000))
        self.io.stream.close()
        self.host.enable()
        self.io = Host(self.drive.address, self.drive.names.nqn, queue=1, controller=self.host.controller)
        self.io.open()

    def beside(self) -> "TcpDoor":
        io = Host(
            self.drive.address,
            self.drive.names.nqn,
            queue=2 + len(self.others),
            controller=self.host.controller,
        )
        io.open()
        self.others.append(io)
        return TcpDoor(self.drive, self.host, io)
