"""What to serve by NVMe over TCP, where, by which name, and to which hosts."""

import base64
import binascii
import hmac
import ipaddress
import os
import stat
import uuid
import zlib
from collections.abc import Container, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.device.guard.guard import open_contents
from openpts.errors import UsageError
from openpts.system_files import SystemRoots
from openpts.units import GB
from openpts.vocabulary.purge import Consent
from openpts_sim.presets import load_preset
from openpts_sim.simulated_device import check_faults, size_and_scale
from openpts_sim.simulated_target import DEFAULT_SEED, DriveHistory, SimulatedTarget
from openpts_testbench.served_drive import OPEN, SOUND, Access, DriveNames, Faults, ServedDrive

HostKeys = tuple[bytes, bytes | None]
"""A host's key, and the one by which the drive proves itself to it; both bound to the name of their owner."""

_MOST_BYTES: Final = 1 << 20
_TRANSFORMATIONS: Final = {0: None, 1: "sha256", 2: "sha384", 3: "sha512"}
_KEY_BYTES: Final = {0: (32, 48, 64), 1: (32,), 2: (48,), 3: (64,)}
_CRC_BYTES: Final = 4
_MOST_WORDS: Final = 3


def read_host_keys(path: Path, subsystem_nqn: str) -> dict[str, HostKeys]:
    """The keys in a file of lines ``HOST-NQN SECRET [SECRET-OF-THE-DRIVE]``, by the hosts' names.

    Raises UsageError if the file can't be read, is open to others, or holds anything else; no message
    quotes a secret.
    """
    keys: dict[str, HostKeys] = {}
    for number, line in enumerate(_private_text(path).splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        try:
            _check_host(words, keys)
            own = _key(words[2], subsystem_nqn) if len(words) == _MOST_WORDS else None
            keys[words[0]] = (_key(words[1], words[0]), own)
        except ValueError as error:
            raise UsageError(f"can't use the secrets in {path}: line {number}: {error}") from None
    if not keys:
        raise UsageError(f"can't use the secrets in {path}: it has no line HOST-NQN SECRET")
    return keys


def _check_host(words: list[str], known: Container[str]) -> None:
    if not _MOST_WORDS - 1 <= len(words) <= _MOST_WORDS:
        raise ValueError("expected HOST-NQN SECRET [SECRET-OF-THE-DRIVE]")
    if not words[0].startswith("nqn.") or len(words[0].encode()) > _MOST_NQN_BYTES:
        raise ValueError("the first word is not a host NQN as in /etc/nvme/hostnqn")
    if words[0] in known:
        raise ValueError("its host already has a line")


def _private_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO) or found.st_uid not in {0, os.geteuid()}:
                raise UsageError(
                    f"can't use the secrets in {path}: others can read or replace it "
                    f"(mode {stat.S_IMODE(found.st_mode):o}, owner {found.st_uid}); chmod 600 {path}"
                )
            return file.read(_MOST_BYTES).decode()
    except OSError as error:
        raise UsageError(f"can't read the secrets in {path}: {error.strerror}") from error
    except UnicodeDecodeError:
        raise UsageError(f"can't use the secrets in {path}: it is not UTF-8 text") from None


def _key(secret: str, nqn: str) -> bytes:
    """A secret's key, transformed with its owner's name as the secret says. Raises ValueError for others."""
    match secret.split(":"):
        case ["DHHC-1", number, encoded, ""] if number in {f"{each:02}" for each in _TRANSFORMATIONS}:
            pass
        case _:
            raise ValueError(
                "a secret has the form DHHC-1:00:...: to DHHC-1:03:...:, from nvme gen-dhchap-key"
            )
    try:
        decoded = base64.b64decode(encoded, validate=True)
    except binascii.Error:
        raise ValueError("a secret is not in Base64") from None
    key, crc = decoded[:-_CRC_BYTES], decoded[-_CRC_BYTES:]
    lengths = _KEY_BYTES[int(number)]
    if len(key) not in lengths:
        expected = ", ".join(map(str, lengths))
        raise ValueError(f"a secret DHHC-1:{number} has a key of {expected} bytes, not {max(len(key), 0)}")
    if zlib.crc32(key).to_bytes(_CRC_BYTES, "little") != crc:
        raise ValueError("the checksum of a secret is wrong: it was truncated or mistyped")
    transformation = _TRANSFORMATIONS[int(number)]
    if transformation is None:
        return key
    return hmac.digest(key, f"{nqn}NVMe-over-Fabrics".encode(), transformation)


DEFAULT_CAPACITY_BYTES: Final = 4 * GB
"""Capacity by default: it is filled in minutes even through an emulated machine."""

_NQN_PREFIX: Final = "nqn.2014-08.org.nvmexpress:uuid:"
_MOST_NQN_BYTES: Final = 223
_SERIAL_WIDTH: Final = 20


class ServeOrder(Struct, frozen=True):
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
    access: Access = OPEN
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
            "drive. Name the hosts that may with --auth-secrets FILE, or listen on 127.0.0.1"
        )
    target = order.target
    check_faults(target)
    preset = load_preset(target.preset, target.parameters)
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
            worn_in=target.state is DriveHistory.WORN_IN,
            ambient_c=order.ambient_c,
            initial_wear_pct=order.initial_wear_pct,
            sanitize_takes_s=order.sanitize_takes_s,
            data=contents,
            access=order.access,
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
