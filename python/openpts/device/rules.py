"""The guard's rules for drives, as a table: what each says and what counts as evidence against a drive.

A rule is a question with the answer None (nothing against it) or one sentence of evidence.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from openpts.device.block_device import BlockDevice
from openpts.device.signatures import SignatureSearchError, find_signatures
from openpts.device.usage import ClaimKind, Usage
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
    evidence: Callable[[BlockDevice, Usage], str | None]

    def judge(self, device: BlockDevice, usage: Usage) -> Refusal | None:
        """The refusal, or None if the rule has nothing against the drive."""
        evidence = self.evidence(device, usage)
        return None if evidence is None else self.refusal(device, evidence)

    def refusal(self, device: BlockDevice, evidence: str) -> Refusal:
        """The refusal of a drive for what was found."""
        return Refusal(self.rule_id, evidence, self.remedy.format(node=device.node, name=device.name))


def _partition(device: BlockDevice, _usage: Usage) -> str | None:
    return f"{device.node} is a partition of {device.whole.node}" if device.is_partition else None


def _read_only(device: BlockDevice, _usage: Usage) -> str | None:
    return f"{device.node} is set read-only" if device.read_only else None


def _claimed(kind: ClaimKind) -> Callable[[BlockDevice, Usage], str | None]:
    return lambda device, usage: usage.of_device(kind, device)


def _held(device: BlockDevice, _usage: Usage) -> str | None:
    for part in (device, *device.partitions):
        if part.holders:
            return f"{part.node} is part of {', '.join(part.holders)}"
    return None


def _signed(device: BlockDevice, _usage: Usage) -> str | None:
    try:
        found = find_signatures(device.node)
    except SignatureSearchError as error:
        return f"what lies on {device.node} can't be told: {error}"
    return f"{device.node} holds {', '.join(found)}" if found else None


QUIET_RULES: Final = (
    Rule(
        "whole-disk",
        "a test owns a whole drive, never a part of it",
        "name the whole drive, see lsblk -s {node}",
        _partition,
    ),
    Rule(
        "mounted",
        "neither the drive nor a partition of it is mounted",
        "see findmnt; unmount it if nobody needs it",
        _claimed(ClaimKind.MOUNT),
    ),
    Rule(
        "swap",
        "neither the drive nor a partition of it is swap space",
        "see cat /proc/swaps; take it out of use with swapoff",
        _claimed(ClaimKind.SWAP),
    ),
    Rule(
        "holder",
        "no volume, array or mapped device is built on it",
        "see lsblk {node}; stop it with vgchange -an, mdadm --stop or dmsetup remove if nobody needs it",
        _held,
    ),
    Rule(
        "loop",
        "no loop device reads from it",
        "see losetup --list; detach it with losetup -d if nobody needs it",
        _claimed(ClaimKind.LOOP),
    ),
    Rule(
        "open",
        "no other process has it open, say as the disk of a virtual machine",
        "see fuser -v {node}; end that process if nobody needs it",
        _claimed(ClaimKind.OPEN),
    ),
    Rule(
        "read-only",
        "the kernel lets us write to it",
        "see cat /sys/block/{name}/ro; allow writing with blockdev --setrw {node}",
        _read_only,
    ),
)
"""Asked of the kernel alone: these don't open the drive."""

SIGNATURE_RULE: Final = Rule(
    "signature",
    "no partition table, file system or member of an array lies on it",
    "see wipefs {node}; if all that may be lost add --erase-signatures",
    _signed,
)
"""Asked of the drive itself, while nobody else can claim it."""


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
