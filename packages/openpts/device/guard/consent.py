"""What the operator agrees to lose, and the rule that a drive must be named twice."""

import os
import shlex
from typing import Final

from msgspec import Struct

from openpts.device.block_device import BlockDevice, whole_drives
from openpts.device.guard.rules import Refusal
from openpts.device.identity.drive_name import serial_number
from openpts.device.nvme.nvme_subsystem import NvmeSubsystem
from openpts.device.targets.open_target import OpenTarget
from openpts.device.targets.target import BlockTarget
from openpts.units import format_capacity
from openpts.vocabulary.consent import Consent

_UNPRINTABLE: Final = "\N{REPLACEMENT CHARACTER}"


def unconfirmed(target: BlockTarget, device: BlockDevice, consent: Consent) -> Refusal | None:
    """The refusal if the drive wasn't named twice: as the target, and by its serial number.

    By its path once more where that number is missing or can't be typed; by both where it is another drive's
    too, say of the next namespace, or of the same disk on another path.
    """
    serial = serial_number(device).value
    namesakes = [disk for disk in whole_drives(device.roots) if disk != device and _serial(disk) == serial]
    words = []
    if serial is not None and _UNPRINTABLE not in serial:
        words.append(_Word("--confirm-serial", consent.confirm_serial, (serial,)))
    if not words or namesakes:
        paths = (str(target.path), os.path.realpath(target.path))
        words.append(_Word("--confirm-device-path", consent.confirm_device_path, paths))
    missing = [word for word in words if word.given not in word.expected]
    if not missing:
        return None
    drive = f"{device.node} ({format_capacity(device.capacity_bytes)}, serial number {serial or 'none'})"
    if (wrong := next((word for word in missing if word.given is not None), None)) is not None:
        return Refusal(
            "confirmation",
            f"{wrong.option} {shlex.quote(wrong.given or '')} does not match {drive}",
            f"make sure that this is the drive you mean, see openpts devices{_now_elsewhere(wrong, device)}",
        )
    shared = (
        f"; {', '.join(str(disk.node) for disk in namesakes)} has the same serial number" if namesakes else ""
    )
    add = " ".join(f"{word.option} {shlex.quote(word.expected[0])}" for word in missing)
    return Refusal(
        "confirmation",
        f"all data on {drive} will be lost{shared if serial else ''}",
        f"to confirm that, add {add}",
    )


class _Word(Struct, frozen=True):
    """What the operator gave with an option, and what would do."""

    option: str
    given: str | None
    expected: tuple[str, ...]


def _serial(disk: BlockDevice) -> str | None:
    return serial_number(disk).value


def _now_elsewhere(wrong: _Word, device: BlockDevice) -> str:
    """The kernel may rename drives after a reset: the intended drive may have another name now."""
    if wrong.option != "--confirm-serial":
        return ""
    found = [str(disk.node) for disk in whole_drives(device.roots) if _serial(disk) == wrong.given]
    return f"; that number is now {' and '.join(found)}" if found else ""


def not_a_sibling(opened: OpenTarget, other: BlockDevice) -> Refusal | None:
    """The refusal if a drive that may be erased too is not another namespace of the one that is open."""
    others = () if opened.device is None else NvmeSubsystem.of(opened.device).besides(opened.device)
    if other in others:
        return None
    names = ", ".join(str(namespace.node) for namespace in others)
    return Refusal(
        "namespaces",
        f"{other.node} is not another namespace of {opened.facts.path}",
        f"--confirm-namespace can name {names}" if names else "remove --confirm-namespace",
    )
