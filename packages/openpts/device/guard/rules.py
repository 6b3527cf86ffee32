"""The guard's rules: what each says, the consent it needs, evidence of files and signatures.

A rule that is checked on a drive has its function in front of the table: it returns None (nothing against
the drive), or a sentence with the path, the mount point or the user of it. The others are upheld where a
target is opened: their texts are here too, so that the table is complete.
"""

import errno
import fcntl
import json
import os
import shlex
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field

from openpts.device.ata_identify import serial_number
from openpts.device.block_device import (
    BlockDevice,
    DeviceKind,
    all_disks,
    find_mount,
    number_text,
    whole_drives,
)
from openpts.device.guard.claims import Claim, ClaimKind, NamedFile, Usage
from openpts.device.guard.usage import OWNED_REMEDY, owner_of_drive
from openpts.device.nvme_subsystem import NvmeSubsystem
from openpts.device.security import read_security
from openpts.device.targets.open_target import OpenTarget
from openpts.device.targets.target import BlockTarget
from openpts.errors import RefusedError, failing_as
from openpts.programs import ProgramError, ProgramRunner, run_program
from openpts.system_files import SystemRoots, printable, read_lines
from openpts.units import format_capacity
from openpts.vocabulary.purge import Consent

_TIMEOUT_S: Final = 30
# the kinds of drives that udev's own rules have it read; it does so again after each that wrote to one
_RECORDED_KINDS: Final = frozenset(
    {DeviceKind.NVME, DeviceKind.ATA, DeviceKind.SCSI, DeviceKind.MMC, DeviceKind.VIRTIO}
)
_RECORDED: Final = {"E:ID_PART_TABLE_TYPE": "partition table", "E:ID_FS_TYPE": "signature"}


class SignatureSearchError(Exception):
    """The signatures of a drive can't be read; the text says why."""


def find_signatures(node: Path, run: ProgramRunner = run_program) -> tuple[str, ...]:
    """Signatures on a disk as wipefs of util-linux sees them, such as ``gpt at 0x200``; reads only.

    Raises SignatureSearchError if wipefs is missing, fails, takes too long or answers in riddles.
    """
    command = ["wipefs", "--no-act", "--noheadings", "--json", "--output", "OFFSET,TYPE,LABEL", str(node)]
    with failing_as(SignatureSearchError, f"wipefs could not read {node}", of=ProgramError):
        answer = run(command, _TIMEOUT_S)
    if answer.returncode != 0:
        raise SignatureSearchError(f"wipefs could not read {node}: {answer.complaint}")
    return _parse(answer.stdout)


def recorded_signatures(device: BlockDevice) -> tuple[str, ...] | None:
    """What udev found at its last scan, without reading the drive; None where it keeps no record."""
    record = read_lines(device.roots.run / f"udev/data/b{device.number}")
    if device.kind not in _RECORDED_KINDS or not any(line.startswith("I:") for line in record):
        return None
    entries = (line.partition("=") for line in record)
    return tuple(f"{_RECORDED[key]} {value}" for key, _, value in entries if key in _RECORDED)


def _parse(text: str) -> tuple[str, ...]:
    if not text.strip():
        return ()  # some versions say nothing at all where there is nothing
    try:
        return tuple(_describe(signature) for signature in json.loads(text)["signatures"])
    except (ValueError, KeyError, TypeError) as error:
        raise SignatureSearchError(f"can't parse the output of wipefs: {printable(text)[:80]!r}") from error


def _describe(signature: dict[str, Any]) -> str:
    label = f" labeled {signature['label']}" if signature.get("label") else ""
    return printable(f"{signature['type']}{label} at {signature['offset']}")


_Evidence = Callable[[BlockDevice, Usage], str | None]


def _partition(device: BlockDevice, _usage: Usage) -> str | None:
    """A partition is no drive."""
    return f"{device.node} is a partition of {device.whole.node}" if device.is_partition else None


def _read_only(device: BlockDevice, _usage: Usage) -> str | None:
    """The kernel's switch against writing."""
    return f"{device.node} is set read-only" if device.read_only else None


def _out_of_reach(device: BlockDevice, _usage: Usage) -> str | None:
    """Paths none of which takes I/O, as the drive reports: what is sent waits until one does."""
    paths = NvmeSubsystem.of(device).paths(device)
    if not paths or any(path.access is None or path.is_live for path in paths):
        return None
    return f"no path to {device.node} takes I/O: {'; '.join(path.text for path in paths)}"


def _claimed(kind: ClaimKind) -> _Evidence:
    """A use of one kind of the drive itself, or of a partition of it."""
    return lambda device, usage: usage.of_device(kind, device)


def _held(device: BlockDevice, usage: Usage) -> str | None:
    """A volume or array on it, with what that is used for."""
    for part in (device, *device.partitions):
        if part.holders:
            return f"{part.node} is part of {', '.join(part.holders)}{_use_above(part, usage)}"
    return None


def _use_above(part: BlockDevice, usage: Usage) -> str:
    for holder in part.holder_devices:
        if (found := _any_claim(holder, usage)) is not None:
            return f", and {found}"
        if further := _use_above(holder, usage):
            return further
    return ""


def _any_claim(device: BlockDevice, usage: Usage) -> str | None:
    claims = (usage.of_device(kind, device) for kind in ClaimKind)
    return next((claim for claim in claims if claim is not None), None)


def _other_path(device: BlockDevice, usage: Usage) -> str | None:
    """The same drive under another name, because several paths lead to it, in use there."""
    for other in other_paths(device):
        if (found := _held(other, usage) or _any_claim(other, usage)) is not None:
            return f"{other.node} is the same drive ({other.wwid}), and {found}"
    return None


def other_paths(device: BlockDevice) -> Iterator[BlockDevice]:
    """The same drive under its other names, where the driver does not join them to one."""
    own = device.whole
    for other in all_disks(device.roots):
        is_the_same = other.wwid is not None and other.wwid == own.wwid
        if is_the_same and other.folder != own.folder and other.text("hidden") != "1":
            yield other


def _shared(device: BlockDevice, usage: Usage) -> str | None:
    """Another use of the disks beneath a mapped device or an array."""
    tower = tuple(_tower(device))
    for part in tower[1:]:
        for piece in (part.whole, *part.whole.partitions):
            strangers = [other for other in piece.holder_devices if other not in tower]
            if strangers:
                return f"{piece.node} beneath {device.node} is part of {strangers[0].node} as well"
            if (found := _any_claim(piece, usage)) is not None:
                return f"beneath {device.node}, {found}"
    return None


def _tower(device: BlockDevice) -> Iterator[BlockDevice]:
    yield device
    for part in device.parts:
        yield from _tower(part)


def _backing(device: BlockDevice, usage: Usage) -> str | None:
    """Refusal of a loop device whose backing store is a drive, or a file in use elsewhere."""
    loops = {part.whole.name: part.whole for part in _tower(device)}
    for own in usage.claims:
        if own.loop in loops and (found := _other_use(own, loops[own.loop], usage)) is not None:
            return found
    return None


def _other_use(own: Claim, loop: BlockDevice, usage: Usage) -> str | None:
    """Refusal for the backing store of one loop device; ``own`` is that device's claim on the store."""
    if own.number is not None:
        return f"{loop.node} is a loop device over the drive {own.path}"
    if own.inode is None:
        return f"which file {loop.node} stores its data in is unknown"
    assert own.path is not None  # noqa: S101 a claim with an inode has a path
    file = NamedFile(own.path, own.inode)
    for claim in usage.claims:
        if claim.loop != own.loop and claim.is_of(file):
            return f"{own.path}, which {loop.node} stores its data in, {claim.text}"
        if claim.is_of_any_file:
            found = f"{claim.path} {claim.text} and can't be found"
            return f"{found}: it may be {own.path}, which {loop.node} stores its data in"
    return None


def _secretive(_device: BlockDevice, usage: Usage) -> str | None:
    """Processes that show nothing may have anything open."""
    if not usage.secretive:
        return None
    first, *others = usage.secretive
    more = f" and {len(others)} others" if others else ""
    return f"what {first}{more} may have open can't be seen"


def _signed(device: BlockDevice, _usage: Usage) -> str | None:
    """The signatures on the drive."""
    try:
        found = find_signatures(device.node)
    except SignatureSearchError as error:
        return f"can't check {device.node} for data: {error}"
    return f"{device.node} holds {', '.join(found)}" if found else None


def _self_locked(device: BlockDevice, _usage: Usage) -> str | None:
    """What the drive itself keeps away from its readers."""
    against = read_security(device).against
    return None if against is None else f"{device.node}: {against}"


class Refusal(Struct, frozen=True):
    """Why a target is not handed out: the rule, what was found, and what the operator can do."""

    rule_id: str = field(name="rule")
    evidence: str
    remedy: str

    def __str__(self) -> str:
        return f"refused [{self.rule_id}]: {self.evidence}; {self.remedy}"


class GuardRule(Struct, frozen=True):
    """One row of the table. ``{node}`` and ``{name}`` in the remedy stand for the drive."""

    rule_id: str
    says: str
    remedy: str
    evidence: _Evidence

    def judge(self, device: BlockDevice, usage: Usage) -> Refusal | None:
        """The refusal, or None if the rule has nothing against the drive."""
        found = self.evidence(device, usage)
        return None if found is None else self.refusal(device, found)

    def refusal(self, device: BlockDevice, found: str) -> Refusal:
        """The refusal of a drive for what was found."""
        return Refusal(self.rule_id, found, self.remedy.format(node=device.node, name=device.name))


OPEN_RULE_ID: Final = "open"

QUIET_RULES: Final = (
    GuardRule(
        "whole-disk",
        "a test owns a whole drive, never a part of it",
        "name the whole drive, see lsblk -s {node}",
        _partition,
    ),
    GuardRule(
        "owned",
        "no other run of openpts has claimed it, under any of its names and in any container",
        OWNED_REMEDY,
        owner_of_drive,
    ),
    GuardRule(
        "mounted",
        "neither the drive nor a partition of it is mounted, here or in a container, nor part of a btrfs "
        "file system that is",
        "see findmnt; unmount it if it isn't needed",
        _claimed(ClaimKind.MOUNT),
    ),
    GuardRule(
        "swap",
        "neither the drive nor a partition of it is swap space",
        "see cat /proc/swaps; take it out of use with swapoff",
        _claimed(ClaimKind.SWAP),
    ),
    GuardRule(
        "holder",
        "no volume, array or mapped device is built on it",
        "see lsblk {node}; stop it with vgchange -an, mdadm --stop or dmsetup remove if it isn't needed",
        _held,
    ),
    GuardRule(
        "loop",
        "no loop device reads from it",
        "see losetup --list; detach it with losetup -d if it isn't needed",
        _claimed(ClaimKind.LOOP),
    ),
    GuardRule(
        "exported",
        "this machine does not serve it to others as an NVMe or SCSI target",
        "see nvmetcli ls and targetcli ls; remove it from the target if it isn't needed",
        _claimed(ClaimKind.EXPORT),
    ),
    GuardRule(
        OPEN_RULE_ID,
        "no other process has it open or mapped, say as the disk of a virtual machine, nor a character "
        "device that passes commands to it",
        "see fuser -v {node}; end that process if it isn't needed",
        _claimed(ClaimKind.OPEN),
    ),
    GuardRule(
        "hidden-process",
        "every other process of the machine can be seen, and shows what it has open",
        "run as root, on the machine itself or in a container that sees all of its processes (--pid=host); "
        "see ls -l /proc/[0-9]*/fd",
        _secretive,
    ),
    GuardRule(
        "other-path",
        "where several paths lead to the same drive, it is unused under all of its names",
        "see lsblk -o NAME,WWN; free it under the other name as well",
        _other_path,
    ),
    GuardRule(
        "shared",
        "of a mapped device or an array, the drives beneath serve nothing else",
        "see lsblk -s {node}",
        _shared,
    ),
    GuardRule(
        "backing",
        "a loop device, also one beneath, stores its data in a file, and nothing else uses that file, by any "
        "name",
        "see losetup --list; name the drive itself, or a file of your own",
        _backing,
    ),
    GuardRule(
        "read-only",
        "the kernel lets us write to it",
        "see cat /sys/block/{name}/ro; allow writing with blockdev --setrw {node}",
        _read_only,
    ),
    GuardRule(
        "reach",
        "of a drive that says by which paths it takes I/O (ANA), one path does",
        "see nvme list-subsys {node}; make a path optimized or non-optimized where the drive is served",
        _out_of_reach,
    ),
)
"""Checked with the kernel alone: these don't open the drive."""

SECURITY_RULE: Final = GuardRule(
    "security",
    "the drive has not locked itself, and no MBR of its own (TCG) hides its first blocks: what is read of it "
    "is its contents",
    "unlock it with the program that locked it, or erase it by the PSID on its label, see openpts purge "
    "--method psid-revert --erase-signatures {node}",
    _self_locked,
)
"""Checked on the drive itself, before its contents are read: a shadow MBR looks like an empty drive."""

SIGNATURE_RULE: Final = GuardRule(
    "signature",
    "no partition table, file system or member of an array or pool is on it, unless `--erase-signatures` "
    "was given",
    "see wipefs {node}; to erase them add --erase-signatures",
    _signed,
)
"""Checked on the drive itself, while it is claimed."""

RULES_AT_THE_DOOR: Final = {
    "usage": "the kernel's list of mounts can be read",
    "busy": "the kernel lets us claim the drive for ourselves (`O_EXCL`)",
    "confirmation": "the operator named it twice: as the target and by its serial number; by its path once "
    "more where that number is missing, can't be printed, or is another drive's too",
    "namespaces": "what may be erased with the drive, by `--confirm-namespace`, is another namespace of it",
    "file-data": "a file holds no data, or openpts made it and nothing else has written to it since, unless "
    "`--overwrite-file` was given",
    "overlay": "a file that is seen through an overlay mount can be found below it, where nothing uses it "
    "either",
    "locked": "no other openpts uses the file",
}
"""What is upheld while a target is opened, by rule ID."""


def quiet_refusals(device: BlockDevice, usage: Usage) -> tuple[Refusal, ...]:
    """All that the kernel's own lists have against a drive, in the order of the table."""
    verdicts = (rule.judge(device, usage) for rule in QUIET_RULES)
    return tuple(refusal for refusal in verdicts if refusal is not None)


def refuse(verdicts: Iterable[Refusal | None]) -> None:
    """Raise RefusedError with the first refusal and the names of the others; nothing if there is none."""
    refusals = [verdict for verdict in verdicts if verdict is not None]
    if not refusals:
        return
    others = ", ".join(refusal.rule_id for refusal in refusals[1:])
    raise RefusedError(f"{refusals[0]}{f' (and further rules: {others})' if others else ''}")


_UNPRINTABLE: Final = "\N{REPLACEMENT CHARACTER}"


def unconfirmed(target: BlockTarget, device: BlockDevice, consent: Consent) -> Refusal | None:
    """The refusal if the drive wasn't named twice: as the target, and by its serial number.

    By its path once more where that number is missing or can't be typed; by both where it is another drive's
    too, say of the next namespace, or of the same disk on another path.
    """
    serial = serial_number(device).value
    namesakes = [
        disk for disk in whole_drives(device.roots) if disk != device and serial_number(disk).value == serial
    ]
    needed = []
    if serial is not None and _UNPRINTABLE not in serial:
        needed.append(_Confirmation("--confirm-serial", consent.confirm_serial, (serial,)))
    if not needed or namesakes:
        paths = (str(target.path), os.path.realpath(target.path))
        needed.append(_Confirmation("--confirm-device-path", consent.confirm_device_path, paths))
    missing = [one for one in needed if one.value not in one.expected]
    if not missing:
        return None
    drive = f"{device.node} ({format_capacity(device.capacity_bytes)}, serial number {serial or 'none'})"
    if (wrong := next((one for one in missing if one.value is not None), None)) is not None:
        return Refusal(
            "confirmation",
            f"{wrong.option} {shlex.quote(wrong.value or '')} does not match {drive}",
            f"make sure that this is the drive you mean, see openpts devices{_now_elsewhere(wrong, device)}",
        )
    shared = (
        f"; {', '.join(str(disk.node) for disk in namesakes)} has the same serial number" if namesakes else ""
    )
    add = " ".join(f"{one.option} {shlex.quote(one.expected[0])}" for one in missing)
    return Refusal(
        "confirmation",
        f"all data on {drive} will be lost{shared if serial else ''}",
        f"to confirm that, add {add}",
    )


class _Confirmation(Struct, frozen=True):
    """The value of an option, and the values that confirm."""

    option: str
    value: str | None
    expected: tuple[str, ...]


def _now_elsewhere(wrong: _Confirmation, device: BlockDevice) -> str:
    """The kernel may rename drives after a reset: the intended drive may have another name now."""
    if wrong.option != "--confirm-serial":
        return ""
    found = [
        str(disk.node) for disk in whole_drives(device.roots) if serial_number(disk).value == wrong.value
    ]
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


_REMEDIES: Final = {
    ClaimKind.MOUNT: "see findmnt; unmount it or name another file",
    ClaimKind.SWAP: "take it out of use with swapoff or name another file",
    ClaimKind.LOOP: "see losetup --list; detach it with losetup -d or name another file",
    ClaimKind.EXPORT: "see nvmetcli ls and targetcli ls; take it out of the target or name another file",
    ClaimKind.OPEN: "see fuser -v {path}; end that process or name another file",
}
# there the server grants leases, and denies them for files that are not open
_SERVED_FILE_SYSTEMS: Final = frozenset({"nfs", "nfs4", "cifs", "smb3"})
_CLOSING_S: Final = 2.0  # what was detached or ended a moment ago
_RETRY_S: Final = 0.05


def named_file(fd: int, path: Path) -> NamedFile:
    """The file that is open, by the name that it was opened by."""
    status = os.fstat(fd)
    return NamedFile(path, (number_text(status.st_dev), status.st_ino))


def uses(file: NamedFile, usage: Usage) -> tuple[Refusal, ...]:
    """What the kernel's own lists have against it, one refusal for each kind of use."""
    found = ((kind, usage.of_file(kind, file), remedy) for kind, remedy in _REMEDIES.items())
    return tuple(
        Refusal(kind, evidence, remedy.format(path=file.path))
        for kind, evidence, remedy in found
        if evidence is not None
    )


def unseen_use(fd: int, path: Path, roots: SystemRoots) -> Refusal | None:
    """The refusal if anyone else has it open or mapped: in a container out of sight, or the kernel itself.

    A lease says so: the kernel grants one on a file that has no other opener, by whatever name and in
    whatever namespace. It is released at once. Where there are no leases the result is None.
    """
    mount = find_mount(path, roots)
    if mount is not None and mount.fs_type in _SERVED_FILE_SYSTEMS:
        return None
    deadline_s = time.monotonic() + _CLOSING_S
    while not _is_ours_alone(fd):
        if time.monotonic() >= deadline_s:
            return Refusal(
                ClaimKind.OPEN,
                f"{path} is open elsewhere: in a process that can't be seen, or in the kernel",
                f"see fuser -v {path}, cat /proc/locks, cat /proc/swaps; end that use or name another file",
            )
        time.sleep(_RETRY_S)
    return None


def _is_ours_alone(fd: int) -> bool:
    """Whether no other descriptor or mapping of the file exists, as far as the kernel knows."""
    try:
        # who opens the file in between has us sent a signal: by default SIGIO, which would end us
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    except OSError as error:
        return error.errno != errno.EAGAIN
    fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return True
