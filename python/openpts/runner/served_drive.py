"""A simulated drive that is served by NVMe over TCP: what is served, by which name, and how well."""

import ipaddress
import uuid
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Final

from openpts import _native
from openpts.device.simulated_target import DriveState, SimulatedTarget
from openpts.errors import TargetError, UsageError
from openpts.runner.simulated_device import DEFAULT_SEED, size_and_scale
from openpts.simulation.presets import Preset, load_preset
from openpts.units import GB

DEFAULT_CAPACITY_BYTES: Final = 4 * GB
"""Of a drive whose capacity nobody named: so much is filled in minutes also through an emulated machine."""

TOO_LATE_SHARE: Final = 0.1
"""Answers that are late by more than this share of the drive's own time make another drive of it."""

_NQN_PREFIX: Final = "nqn.2014-08.org.nvmexpress:uuid:"
_MOST_NQN_BYTES: Final = 223
_SERIAL_WIDTH: Final = 20


@dataclass(frozen=True, slots=True)
class Faults:
    """What goes wrong on purpose; ``unreadable_lbas`` are those of the LBA format that it begins with."""

    sanitize_fails: bool = False
    format_fails: bool = False
    purge_lies: bool = False
    unreadable_lbas: tuple[int, ...] = ()
    vanishes_after_ios: int | None = None


@dataclass(frozen=True, slots=True)
class ServeOrder:
    """What to serve, where, and by which name; None for what the preset, or a rule, shall decide.

    Block and crypto erase take ``sanitize_takes_s`` at least.
    ``address`` is an IP address with a port; port 0 takes one that is free. ``data`` is the file that keeps
    the contents; without it they are in memory and end with the program.
    """

    target: SimulatedTarget
    address: str
    nqn: str | None = None
    serial: str | None = None
    data: Path | None = None
    ambient_c: float | None = None
    initial_wear_pct: float = 0.0
    sanitize_takes_s: float = 0.0
    faults: Faults = Faults()


@dataclass(frozen=True, slots=True)
class Served:
    """What was served. Lateness: how long after the model's moment answers went out; None without an I/O."""

    ios: int
    read_bytes: int
    write_bytes: int
    modelled_ns: int
    late_ns: int
    late_p50_ns: int | None
    late_p99_ns: int | None
    late_p99_9_ns: int | None
    late_max_ns: int | None
    connections: int

    @property
    def late_share(self) -> float:
        """How much longer I/Os took than the model says, as a share of that."""
        return self.late_ns / self.modelled_ns if self.modelled_ns else 0.0


class ServedDrive:
    """A drive that is served until ``stop``, or until it vanishes as it was told to."""

    def __init__(self, order: ServeOrder) -> None:
        """Make the drive and listen.

        Raises UsageError for an order that makes no sense, TargetError if the address or the file for the
        contents can't be had.
        """
        self.preset: Preset = load_preset(order.target.preset)
        target = order.target
        if target.capacity_bytes is None and self.preset.capacity_bytes > DEFAULT_CAPACITY_BYTES:
            target = replace(target, capacity_bytes=DEFAULT_CAPACITY_BYTES)
        capacity_bytes, self.scale = size_and_scale(target, self.preset)
        self.seed = DEFAULT_SEED if target.seed is None else target.seed
        name = uuid.uuid5(
            uuid.NAMESPACE_URL, f"{self.preset.label}/{capacity_bytes}/{self.scale}/{self.seed}"
        )
        self.nqn = order.nqn or f"{_NQN_PREFIX}{name}"
        self.serial = order.serial or f"SIM{name.hex[:12].upper()}"
        _check_names(self.nqn, self.serial)
        sector_bytes = self.preset.sector_bytes
        try:
            self._served = _native.ServedDrive(
                self.preset.text,
                address=order.address,
                capacity_bytes=capacity_bytes,
                scale=self.scale,
                seed=self.seed,
                worn_in=target.state is DriveState.WORN_IN,
                ambient_c=order.ambient_c,
                initial_wear_pct=order.initial_wear_pct,
                nqn=self.nqn,
                serial=self.serial,
                model=f"openpts SIMULATED {self.preset.name}",
                firmware=version("openpts"),
                guid=name.bytes,
                data=order.data,
                sanitize_takes_s=order.sanitize_takes_s,
                sanitize_fails=order.faults.sanitize_fails,
                format_fails=order.faults.format_fails,
                purge_lies=order.faults.purge_lies,
                unreadable_bytes=[lba * sector_bytes for lba in order.faults.unreadable_lbas],
                vanishes_after_ios=order.faults.vanishes_after_ios,
            )
        except ValueError as error:
            raise UsageError(str(error)) from error
        except OSError as error:
            raise TargetError(str(error)) from error

    @property
    def address(self) -> str:
        """Where it listens, with the port's number."""
        return self._served.address

    @property
    def capacity_bytes(self) -> int:
        """Size of the drive as hosts see it."""
        return self._served.capacity_bytes

    @property
    def is_serving(self) -> bool:
        """Whether hosts can still reach it."""
        return self._served.is_serving()

    def served(self) -> Served:
        """What was served so far."""
        return Served(**self._served.served())

    def stop(self) -> None:
        """End all connections; contents in a file are complete afterwards."""
        self._served.stop()


def checked_address(text: str) -> str:
    """An IP address with a port, as the operator wrote it. Raises UsageError if it is none."""
    host, colon, port = text.rpartition(":")
    try:
        ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        colon = ""
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise UsageError(
            f"{text!r} is no IP address with a port: write for example 127.0.0.1:4420 or [::1]:4420"
        )
    return text


def host_and_port(address: str) -> tuple[str, str]:
    """The two parts of an address, as nvme-cli takes them."""
    host, _, port = address.rpartition(":")
    return host.removeprefix("[").removesuffix("]"), port


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach it."""
    return ipaddress.ip_address(host_and_port(address)[0]).is_loopback


def _check_names(nqn: str, serial: str) -> None:
    if not nqn.startswith("nqn.") or not nqn.isascii() or not nqn.isprintable() or len(nqn) > _MOST_NQN_BYTES:
        raise UsageError(
            f"{nqn!r} is no name of an NVMe subsystem: it begins with nqn. and has up to {_MOST_NQN_BYTES} "
            "letters, such as nqn.2026-11.org.example:drive1"
        )
    if not serial or not serial.isascii() or not serial.isprintable() or len(serial) > _SERIAL_WIDTH:
        raise UsageError(f"{serial!r} is no serial number: it has 1 to {_SERIAL_WIDTH} ASCII letters")
