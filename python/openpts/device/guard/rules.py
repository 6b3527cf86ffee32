"""The guard's rules, as a table: what each says, and what an operator can do about it.

A rule that is asked of a drive has its question in evidence.py. The others are upheld where a target is
opened: their words stand here too, so that the table is whole.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from openpts.device.block_device import BlockDevice
from openpts.device.guard import evidence
from openpts.device.guard.claims import ClaimKind
from openpts.device.guard.evidence import Evidence
from openpts.device.guard.usage import Usage
from openpts.errors import RefusedError


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a target is not handed out: the rule, what was found, and what the operator can do."""

    rule_id: str
    evidence: str
    remedy: str

    def __str__(self) -> str:
        return f"refused [{self.rule_id}]: {self.evidence}; {self.remedy}"


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the table. ``{node}`` and ``{name}`` in the remedy stand for the drive."""

    rule_id: str
    says: str
    remedy: str
    evidence: Evidence

    def judge(self, device: BlockDevice, usage: Usage) -> Refusal | None:
        """The refusal, or None if the rule has nothing against the drive."""
        found = self.evidence(device, usage)
        return None if found is None else self.refusal(device, found)

    def refusal(self, device: BlockDevice, found: str) -> Refusal:
        """The refusal of a drive for what was found."""
        return Refusal(self.rule_id, found, self.remedy.format(node=device.node, name=device.name))


QUIET_RULES: Final = (
    Rule(
        "whole-disk",
        "a test owns a whole drive, never a part of it",
        "name the whole drive, see lsblk -s {node}",
        evidence.partition,
    ),
    Rule(
        "mounted",
        "neither the drive nor a partition of it is mounted, here or in a container, nor part of a btrfs "
        "file system that is",
        "see findmnt; unmount it if it isn't needed",
        evidence.claimed(ClaimKind.MOUNT),
    ),
    Rule(
        "swap",
        "neither the drive nor a partition of it is swap space",
        "see cat /proc/swaps; take it out of use with swapoff",
        evidence.claimed(ClaimKind.SWAP),
    ),
    Rule(
        "holder",
        "no volume, array or mapped device is built on it",
        "see lsblk {node}; stop it with vgchange -an, mdadm --stop or dmsetup remove if it isn't needed",
        evidence.held,
    ),
    Rule(
        "loop",
        "no loop device reads from it",
        "see losetup --list; detach it with losetup -d if it isn't needed",
        evidence.claimed(ClaimKind.LOOP),
    ),
    Rule(
        "exported",
        "this machine does not serve it to others as an NVMe or SCSI target",
        "see nvmetcli ls and targetcli ls; remove it from the target if it isn't needed",
        evidence.claimed(ClaimKind.EXPORT),
    ),
    Rule(
        "open",
        "no other process has it open or mapped, say as the disk of a virtual machine, nor a character "
        "device that passes commands to it",
        "see fuser -v {node}; end that process if it isn't needed",
        evidence.claimed(ClaimKind.OPEN),
    ),
    Rule(
        "hidden-process",
        "every other process of the machine can be seen, and shows what it has open",
        "run as root, on the machine itself or in a container that sees all of its processes (--pid=host); "
        "see ls -l /proc/[0-9]*/fd",
        evidence.secretive,
    ),
    Rule(
        "other-path",
        "where several paths lead to the same drive, it is unused under all of its names",
        "see lsblk -o NAME,WWN; free it under the other name as well",
        evidence.other_path,
    ),
    Rule(
        "shared",
        "of a mapped device or an array, the drives beneath serve nothing else",
        "see lsblk -s {node}",
        evidence.shared,
    ),
    Rule(
        "backing",
        "a loop device, also one beneath, stores its data in a file, and nothing else uses that file, by any "
        "name",
        "see losetup --list; name the drive itself, or a file of your own",
        evidence.backing,
    ),
    Rule(
        "read-only",
        "the kernel lets us write to it",
        "see cat /sys/block/{name}/ro; allow writing with blockdev --setrw {node}",
        evidence.read_only,
    ),
)
"""Asked of the kernel alone: these don't open the drive."""

SIGNATURE_RULE: Final = Rule(
    "signature",
    "no partition table, file system or member of an array or pool is on it, unless `--erase-signatures` "
    "was given",
    "see wipefs {node}; to erase them add --erase-signatures",
    evidence.signed,
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
