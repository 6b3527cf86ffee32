"""Ways to interrupt a drive, most by the kernel's own switch; one that took it away brings it back."""

import os
import re
import shlex
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from openpts.device.journalled_drive import drive_subject
from openpts.device.nvme.nvme_admin import (
    NvmeCommandError,
    identify_controller_data,
    read_log,
    reset_subsystem,
    send_admin,
)
from openpts.errors import TargetError, UsageError, failing_as
from openpts.host.setting_file import write_request
from openpts.journal import Journal, Kind
from openpts.programs import ProgramError, refuse_missing, run_program
from openpts.system_files import SystemRoots, read_text
from openpts.vocabulary.readiness import Interrupt, Way
from openpts_nvme.drivers.ready.kernel_drive import KernelDrive
from openpts_nvme.drivers.ready.measure import Order

_ADDRESS: Final = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_COMMAND_TIMEOUT_S: Final = 600.0
_OFF_S: Final = 2.0
_GONE_S: Final = 30.0
_FRMW: Final = 260
_ACTIVATES_AT_ONCE: Final = 1 << 4
_FIRMWARE_LOG: Final = 0x03
_FIRMWARE_COMMIT: Final = 0x10
_ACTIVATE: Final = 3
_LOOK_S: Final = 0.01


Orderer = Callable[[KernelDrive, SystemRoots], Order]
"""Interrupts the drive."""


def _requested(name: str) -> Orderer:
    """By a file of the controller's: shut it off and on again, or identify all namespaces beside the I/O."""

    def order(drive: KernelDrive, roots: SystemRoots) -> Order:
        told_ns = time.monotonic_ns()
        write_request(drive.controller / name, "1", roots)
        return Order(told_ns)

    return order


def _subsystem_reset(drive: KernelDrive, roots: SystemRoots) -> Order:
    """NVM Subsystem Reset, of all controllers, where the drive has it."""
    name = drive.controller.name
    with failing_as(TargetError, f"can't reset the subsystem of {name}", of=(OSError, NvmeCommandError)):
        fd = os.open(roots.dev / name, os.O_RDONLY | os.O_CLOEXEC)
        try:
            told_ns = time.monotonic_ns()
            reset_subsystem(fd)
        finally:
            os.close(fd)
    return Order(told_ns)


def _firmware(drive: KernelDrive, roots: SystemRoots) -> Order:
    """The image that runs is activated once more, from its own slot and without a reset."""
    del roots
    name = drive.controller.name
    with failing_as(TargetError, f"{name} can't say what firmware it has", of=NvmeCommandError):
        slots = identify_controller_data(drive.fd)[_FRMW]
        active = read_log(drive.fd, _FIRMWARE_LOG, 512)[0] & 7
    if not slots & _ACTIVATES_AT_ONCE:
        raise TargetError(
            f"{name} activates firmware by a reset only (FRMW {slots:#04x}): use --interrupt-command"
        )
    told_ns = time.monotonic_ns()
    status, _, _ = send_admin(drive.fd, _FIRMWARE_COMMIT, (active | _ACTIVATE << 3,), timeout_ms=120_000)
    if status:
        raise TargetError(f"{name} does not activate slot {active} again: NVMe status {status:#x}")
    return Order(told_ns)


def _function_reset(drive: KernelDrive, roots: SystemRoots) -> Order:
    """Function Level Reset, by the kernel, which is told to use no other reset for the moment."""
    function = _function(drive)
    methods = read_text(function / "reset_method")
    if methods is None or "flr" not in methods.split():
        raise TargetError(f"{function.name} has no Function Level Reset: {function}/reset_method has none")
    write_request(function / "reset_method", "flr", roots)
    try:
        told_ns = time.monotonic_ns()
        write_request(function / "reset", "1", roots)
    finally:
        write_request(function / "reset_method", methods, roots)
    return Order(told_ns)


def _removal(drive: KernelDrive, roots: SystemRoots) -> Order:
    """The driver shuts the drive down and lets go of it; then the bus is looked through again."""
    function = _function(drive)
    off, on = (function / "remove", "1"), (roots.sys / "bus/pci/rescan", "1")
    return _taken_away(drive, off, on, roots)


def _power(drive: KernelDrive, roots: SystemRoots) -> Order:
    """The slot is switched off and on, where the machine can do that."""
    address = _function(drive).name.partition(".")[0]
    for slot in sorted((roots.sys / "bus/pci/slots").glob("*")):
        if read_text(slot / "address") == address and (slot / "power").exists():
            return _taken_away(drive, (slot / "power", "0"), (slot / "power", "1"), roots)
    raise TargetError(f"no slot of this machine can switch {address} off: see /sys/bus/pci/slots")


_Request = tuple[Path, str]


def _taken_away(drive: KernelDrive, off: _Request, on: _Request, roots: SystemRoots) -> Order:
    """Noted before it is taken away: the next run brings it back if this one is killed."""
    namespace, journal = drive.namespace(), Journal.of_machine()
    controller = drive.controller
    if namespace is None:
        raise TargetError(f"the drive with serial number {drive.serial} is not there: see dmesg")
    entry = journal.add(Kind.REMOVED_DRIVE, drive_subject(namespace), {"request": str(on[0]), "value": on[1]})
    try:
        begun_ns = time.monotonic_ns()
        write_request(*off, roots)
        _wait_until_gone(controller)
        shutdown_ns = time.monotonic_ns() - begun_ns
        time.sleep(_OFF_S)
    finally:
        told_ns = time.monotonic_ns()
        write_request(*on, roots)
        journal.remove(entry)
    return Order(told_ns, shutdown_ns)


def _wait_until_gone(controller: Path) -> None:
    """One of several controllers of a drive may go, and the others stay."""
    deadline_s = time.monotonic() + _GONE_S
    while controller.exists() and time.monotonic() < deadline_s:
        time.sleep(_LOOK_S)


def _function(drive: KernelDrive) -> Path:
    """The drive's PCI function in sysfs. Raises TargetError for a drive behind a network."""
    function = (drive.controller / "device").resolve()
    if not _ADDRESS.fullmatch(function.name):
        raise TargetError(f"the drive with serial number {drive.serial} is not on PCI Express")
    return function


def _commanded(command: str) -> Orderer:
    """The operator's own way, such as a power switch, or nvme-cli to activate firmware. Raises UsageError."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"invalid --interrupt-command {command!r}: {error}") from error
    if not words:
        raise UsageError("--interrupt-command is empty: name a program that interrupts the drive")
    refuse_missing(words[0], "--interrupt-command")

    def order(_drive: KernelDrive, _roots: SystemRoots) -> Order:
        told_ns = time.monotonic_ns()
        with failing_as(TargetError, f"--interrupt-command: {words[0]}", of=ProgramError):
            answer = run_program(words, _COMMAND_TIMEOUT_S, to_the_end=True)
        if answer.returncode != 0:
            raise TargetError(f"--interrupt-command ended with {answer.returncode}: {answer.complaint}")
        return Order(told_ns)

    return order


_WAYS: Final[Mapping[Way, Orderer]] = {
    Way.RESET: _requested("reset_controller"),
    Way.SUBSYSTEM_RESET: _subsystem_reset,
    Way.FLR: _function_reset,
    Way.RESCAN: _requested("rescan_controller"),
    Way.REMOVAL: _removal,
    Way.POWER: _power,
    Way.FIRMWARE: _firmware,
}


def order_of(request: Interrupt) -> Orderer:
    """What interrupts the drive. Raises UsageError for a command that is none."""
    return _WAYS[request.way] if request.command is None else _commanded(request.command)
