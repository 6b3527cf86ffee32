"""What to serve by NVMe over TCP, where, and by which name."""

import ipaddress
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from openpts.device.guard.consent import Consent
from openpts.device.guard.guard import open_contents
from openpts.device.targets.simulated_target import DriveState, SimulatedTarget
from openpts.engine.served_drive import SOUND, DriveNames, Faults, ServedDrive
from openpts.errors import UsageError
from openpts.runner.served_secrets import read_host_keys
from openpts.runner.simulated_device import DEFAULT_SEED, size_and_scale
from openpts.simulation.presets import load_preset
from openpts.system_files import SystemRoots
from openpts.units import GB

DEFAULT_CAPACITY_BYTES: Final = 4 * GB
"""Capacity by default: it is filled in minutes even through an emulated machine."""

_NQN_PREFIX: Final = "nqn.2014-08.org.nvmexpress:uuid:"
_MOST_NQN_BYTES: Final = 223
_SERIAL_WIDTH: Final = 20


@dataclass(frozen=True, slots=True)
class ServeOrder:
    """What to serve, where, and by which name; None for what the preset, or a rule, shall decide.

    Block and crypto erase take ``sanitize_takes_s`` at least.
    ``address`` is an IP address with a port; port 0 takes one that is free. ``data`` is the file that keeps
    the contents; without it they are in memory and end with the program. ``overwrite_file`` is the operator's
    consent to lose what that file holds. ``auth_secrets`` is the file with the secrets of the hosts that may
    connect; without it any may, and only this machine reaches the drive.
    """

    target: SimulatedTarget
    address: str
    nqn: str | None = None
    serial: str | None = None
    data: Path | None = None
    overwrite_file: bool = False
    auth_secrets: Path | None = None
    ambient_c: float | None = None
    initial_wear_pct: float = 0.0
    sanitize_takes_s: float = 0.0
    faults: Faults = SOUND


@contextmanager
def serve_drive(order: ServeOrder) -> Iterator[ServedDrive]:
    """Make the drive and serve it until the end of the block.

    Raises UsageError for an order that makes no sense, TargetError if the address or the file for the
    contents can't be had, and RefusedError where the guard is against that file.
    """
    if order.auth_secrets is None and not is_loopback(order.address):
        raise UsageError(
            f"can't serve on {order.address}: every host that reaches it could read, write and format the "
            "drive; name the hosts that may with --auth-secrets FILE, or listen on 127.0.0.1"
        )
    target = order.target
    preset = load_preset(target.preset)
    if target.capacity_bytes is None and preset.capacity_bytes > DEFAULT_CAPACITY_BYTES:
        target = replace(target, capacity_bytes=DEFAULT_CAPACITY_BYTES)
    capacity_bytes, scale = size_and_scale(target, preset)
    seed = DEFAULT_SEED if target.seed is None else target.seed
    guid = uuid.uuid5(uuid.NAMESPACE_URL, f"{preset.label}/{capacity_bytes}/{scale}/{seed}")
    nqn = order.nqn or f"{_NQN_PREFIX}{guid}"
    serial = order.serial or f"SIM{guid.hex[:12].upper()}"
    _check_names(nqn, serial)
    host_keys = {} if order.auth_secrets is None else read_host_keys(order.auth_secrets, nqn)
    lbas = capacity_bytes // preset.sector_bytes
    if beyond := [lba for lba in order.faults.unreadable_lbas if lba >= lbas]:
        raise UsageError(f"--fail read@{beyond[0]}: out of range, the last LBA is {lbas - 1}")
    with _contents(order) as contents:
        drive = ServedDrive(
            preset,
            DriveNames(nqn, serial, guid),
            address=order.address,
            capacity_bytes=capacity_bytes,
            scale=scale,
            seed=seed,
            worn_in=target.state is DriveState.WORN_IN,
            ambient_c=order.ambient_c,
            initial_wear_pct=order.initial_wear_pct,
            sanitize_takes_s=order.sanitize_takes_s,
            data=contents,
            faults=order.faults,
            host_keys=host_keys,
        )
        try:
            yield drive
        finally:
            drive.stop()


def _contents(order: ServeOrder) -> AbstractContextManager[int | None]:
    """The file for the contents, open; None: they are in memory."""
    if order.data is None:
        return nullcontext()
    return open_contents(order.data, Consent(overwrite_file=order.overwrite_file), SystemRoots())


def checked_address(text: str) -> str:
    """An IP address with a port, as the operator wrote it. Raises UsageError if it is none."""
    host, colon, port = text.rpartition(":")
    try:
        ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        colon = ""
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise UsageError(
            f"{text!r} is not an IP address with a port: write for example 127.0.0.1:4420 or [::1]:4420"
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
            f"{nqn!r} is not the name of an NVMe subsystem: it begins with nqn. and has up to "
            f"{_MOST_NQN_BYTES} letters, such as nqn.2026-11.org.example:drive1"
        )
    if not serial or not serial.isascii() or not serial.isprintable() or len(serial) > _SERIAL_WIDTH:
        raise UsageError(f"{serial!r} is not a serial number: it has 1 to {_SERIAL_WIDTH} ASCII letters")
