"""Ways to interrupt a drive, each by the kernel's own switch for it; one that took it away brings it back."""

import re
import shlex
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from openpts.device.journalled_drive import drive_subject
from openpts.errors import TargetError, UsageError, failing_as
from openpts.host.setting_file import write_request
from openpts.journal import Journal, Kind
from openpts.programs import ProgramError, refuse_missing, run_program
from openpts.system_files import SystemRoots, read_text
from openpts_nvme.ready.kernel_drive import KernelDrive
from openpts_nvme.ready.measure import Order

_ADDRESS: Final = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_COMMAND_TIMEOUT_S: Final = 600.0
_OFF_S: Final = 2.0
_GONE_S: Final = 30.0
_LOOK_S: Final = 0.01


class Way(Struct, frozen=True):
    """``order`` interrupts the drive; ``title`` ends the words "after ..."."""

    name: str
    title: str
    order: Callable[[KernelDrive, SystemRoots], Order]


def _reset(drive: KernelDrive, roots: SystemRoots) -> Order:
    """The driver shuts the controller off and on again."""
    told_ns = time.monotonic_ns()
    write_request(drive.controller / "reset_controller", "1", roots)
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
    if namespace is None:
        raise TargetError(f"the drive with serial number {drive.serial} is not there: see dmesg")
    entry = journal.add(Kind.REMOVED_DRIVE, drive_subject(namespace), {"request": str(on[0]), "value": on[1]})
    try:
        begun_ns = time.monotonic_ns()
        write_request(*off, roots)
        _wait_until_gone(drive)
        shutdown_ns = time.monotonic_ns() - begun_ns
        time.sleep(_OFF_S)
    finally:
        told_ns = time.monotonic_ns()
        write_request(*on, roots)
        journal.remove(entry)
    return Order(told_ns, shutdown_ns)


def _wait_until_gone(drive: KernelDrive) -> None:
    deadline_s = time.monotonic() + _GONE_S
    while time.monotonic() < deadline_s:
        with suppress(TargetError):
            _ = drive.controller
            time.sleep(_LOOK_S)
            continue
        return


def _function(drive: KernelDrive) -> Path:
    """The drive's PCI function in sysfs. Raises TargetError for a drive behind a network."""
    function = (drive.controller / "device").resolve()
    if not _ADDRESS.fullmatch(function.name):
        raise TargetError(f"the drive with serial number {drive.serial} is not on PCI Express")
    return function


def _commanded(words: list[str]) -> Callable[[KernelDrive, SystemRoots], Order]:
    def order(_drive: KernelDrive, _roots: SystemRoots) -> Order:
        told_ns = time.monotonic_ns()
        with failing_as(TargetError, f"--command: {words[0]}", of=ProgramError):
            answer = run_program(words, _COMMAND_TIMEOUT_S, to_the_end=True)
        if answer.returncode != 0:
            raise TargetError(f"--command ended with {answer.returncode}: {answer.complaint}")
        return Order(told_ns)

    return order


WAYS: Final = {
    way.name: way
    for way in (
        Way("reset", "a reset of its controller", _reset),
        Way("flr", "a Function Level Reset", _function_reset),
        Way("removal", "its removal and return", _removal),
        Way("power", "its slot was switched off and on", _power),
    )
}
"""By their names."""


def by_command(command: str) -> Way:
    """The operator's own way, such as a power switch, or nvme-cli to activate firmware. Raises UsageError."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"invalid --command {command!r}: {error}") from error
    if not words:
        raise UsageError("--command is empty: name a program that interrupts the drive")
    refuse_missing(words[0], "--command")
    return Way("command", f"`{command}`", _commanded(words))
