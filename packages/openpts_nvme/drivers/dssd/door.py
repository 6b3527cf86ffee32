"""The door to a drive: admin commands, registers, and I/O of whole sectors."""

from typing import Protocol

from msgspec import Struct


class CommandCompletion(Struct, frozen=True):
    """A command's completion: status type and code, dword 0 (and 1), and its data."""

    status: int
    result: int
    data: bytes


class AdminCommand(Struct, frozen=True):
    """An admin command: ``dwords`` are CDW10 on, ``data`` is for the drive, ``reads`` bytes come back."""

    opcode: int
    dwords: tuple[int, ...] = ()
    namespace: int = 0
    data: bytes = b""
    reads: int = 0
    limit_s: float = 30.0


class Door(Protocol):
    """A drive that is open. ``namespace`` is the one whose sectors are read and written."""

    namespace: int
    sector_bytes: int
    capacity_bytes: int

    def admin(self, order: AdminCommand) -> CommandCompletion:
        """Send an admin command and wait for it. Raises OSError if the drive is gone."""

    def register(self, offset: int, size: int) -> int | None:
        """A controller register; None where the transport has no way to it."""

    def write_register(self, offset: int, value: int) -> bool:
        """Write a controller register of 32 bits; False where the kernel's driver has it to itself."""

    def config_space(self) -> bytes:
        """PCI configuration space; empty for a drive without one, or where it may not be read."""

    def read(self, offset: int, length: int) -> bytes:
        """Contents, by one command."""

    def write(self, offset: int, data: bytes) -> None:
        """Write contents, by one command."""

    def trim(self, offset: int, length: int) -> None:
        """Deallocate a range."""

    def write_zeroes(self, offset: int, length: int) -> None:
        """Write zeros by a command without data, with deallocation."""

    def reset(self) -> None:
        """Reset the controller; returns when it is ready again."""

    def beside(self) -> "Door":
        """The same drive for another thread."""
