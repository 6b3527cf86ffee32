"""The native module of the testbench."""

from collections.abc import Mapping
from typing import Any, Final, final

__all__ = ["ServedDrive"]

@final
class ServedDrive:
    """A simulated drive, of a preset's text, served by NVMe over TCP in wall-clock time until ``stop``.

    ``address`` is an IP address with a port, 0 for any. What is written is kept in the file that ``data`` is
    a descriptor of, or in memory. ``initial_wear_pct`` is endurance used up already, in per cent of the rated
    erases; a sanitize that erases blocks or keys takes ``sanitize_takes_s`` at least;
    ``unreadable_bytes`` are offsets that end a read over them with a media error; after
    ``vanishes_after_ios`` I/Os nobody reaches the drive any more. With ``power_faults``, even none of them,
    it has a volatile write cache that is lost if the process is killed. ``secrets`` are
    keys by host NQN, of the host and of the drive, transformed with the owner's name; with any, hosts must
    authenticate. ``overrides`` change answers: opcode, number of what is asked or None for any, how many
    answers stay as they are, ``page``, ``bytes``, ``status`` or ``delay``, its number, and bytes.
    Raises ValueError if an option makes no sense, OSError if the address, the file or a thread
    can't be had.
    """

    def __new__(
        cls,
        preset: str,
        *,
        address: str,
        capacity_bytes: int,
        scale: int,
        seed: int,
        worn_in: bool,
        ambient_c: float | None,
        initial_wear_pct: float,
        nqn: str,
        serial: str,
        model: str,
        firmware: str,
        guid: bytes,
        data: int | None,
        access: tuple[str, float, float],
        sanitize_takes_s: float,
        sanitize_fails: bool,
        format_fails: bool,
        purge_lies: bool,
        unreadable_bytes: list[int],
        vanishes_after_ios: int | None,
        power_faults: list[tuple[str, float]] | None,
        secrets: Mapping[str, tuple[bytes, bytes | None]],
        overrides: list[tuple[int, int | None, int, str, int, bytes]],
    ) -> ServedDrive: ...
    address: Final[str]
    """Where it listens; the port is a number also where 0 was asked for."""

    capacity_bytes: Final[int]
    """Size of the drive as hosts see it."""

    def is_serving(self) -> bool:
        """Whether hosts reach it; false after a stop, and when it has vanished."""

    def served(self) -> dict[str, Any]:
        """I/Os, bytes and connections so far, and how late answers went out, all in ns."""

    def stop(self) -> None:
        """End all connections and complete the file of the contents."""
