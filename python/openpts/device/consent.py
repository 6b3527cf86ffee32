"""What the operator agrees to lose, and the rule that a drive must be named twice."""

import os
import shlex
from dataclasses import dataclass
from pathlib import Path

from openpts.device.block_device import BlockDevice
from openpts.device.nvme_subsystem import NvmeSubsystem
from openpts.device.open_target import OpenTarget
from openpts.device.rules import Refusal
from openpts.device.serial_number import serial_number
from openpts.device.target import BlockTarget
from openpts.units import format_capacity


@dataclass(frozen=True, slots=True)
class Consent:
    """The operator's words, one field for each option of that name (``--confirm-serial`` and so on).

    ``confirm_namespaces`` are nodes of other namespaces of the drive that may be erased with it,
    ``confirm_members`` serial numbers of the drives that an array is made of.
    """

    confirm_serial: str | None = None
    confirm_device_path: str | None = None
    overwrite_file: bool = False
    erase_signatures: bool = False
    confirm_namespaces: tuple[Path, ...] = ()
    confirm_members: tuple[str, ...] = ()


def unconfirmed(target: BlockTarget, device: BlockDevice, consent: Consent) -> Refusal | None:
    """The refusal if the drive wasn't named twice: by its serial number too, or by its path if without."""
    serial = serial_number(device).value
    if serial is not None:
        option, expected, given = "--confirm-serial", [serial], consent.confirm_serial
    else:
        option, given = "--confirm-device-path", consent.confirm_device_path
        expected = [str(target.path), os.path.realpath(target.path)]
    if given in expected:
        return None
    drive = f"{device.node} ({format_capacity(device.capacity_bytes)}, serial number {serial or 'none'})"
    if given is not None:
        return Refusal(
            "confirmation",
            f"{option} {shlex.quote(given)} does not name {drive}",
            "make sure that this is the drive you mean, see openpts devices",
        )
    return Refusal(
        "confirmation",
        f"all data on {drive} will be lost",
        f"if that is meant add {option} {shlex.quote(expected[0])}",
    )


def not_a_sibling(opened: OpenTarget, other: BlockDevice) -> Refusal | None:
    """The refusal if a drive that may be erased too is no other namespace of the one that is open."""
    others = () if opened.device is None else NvmeSubsystem.of(opened.device).besides(opened.device)
    if other in others:
        return None
    names = ", ".join(str(namespace.node) for namespace in others)
    return Refusal(
        "namespaces",
        f"{other.node} is no other namespace of {opened.facts.path}",
        f"--confirm-namespace can name {names}" if names else "leave --confirm-namespace away",
    )
