"""What counts as evidence against a drive: one question for each rule of rules.py.

The answer is None (nothing against it), or a sentence with the path, the mount point or the user of it.
"""

from collections.abc import Callable, Iterator

from openpts.device.block_device import BlockDevice
from openpts.device.disks import all_disks
from openpts.device.guard.claims import Claim, ClaimKind, NamedFile
from openpts.device.guard.signatures import SignatureSearchError, find_signatures
from openpts.device.guard.usage import Usage

Evidence = Callable[[BlockDevice, Usage], str | None]


def partition(device: BlockDevice, _usage: Usage) -> str | None:
    """A partition is no drive."""
    return f"{device.node} is a partition of {device.whole.node}" if device.is_partition else None


def read_only(device: BlockDevice, _usage: Usage) -> str | None:
    """The kernel's switch against writing."""
    return f"{device.node} is set read-only" if device.read_only else None


def claimed(kind: ClaimKind) -> Evidence:
    """A use of one kind of the drive itself, or of a partition of it."""
    return lambda device, usage: usage.of_device(kind, device)


def held(device: BlockDevice, usage: Usage) -> str | None:
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


def other_path(device: BlockDevice, usage: Usage) -> str | None:
    """The same drive under another name, because several paths lead to it, in use there."""
    wwid = device.whole.wwid
    if wwid is None:
        return None
    for other in all_disks(device.roots):
        if other.folder == device.whole.folder or other.wwid != wwid or other.text("hidden") == "1":
            continue
        if (found := held(other, usage) or _any_claim(other, usage)) is not None:
            return f"{other.node} is the same drive ({wwid}), and {found}"
    return None


def shared(device: BlockDevice, usage: Usage) -> str | None:
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


def backing(device: BlockDevice, usage: Usage) -> str | None:
    """Of a loop device, or those beneath: a drive behind it, or a file that is used otherwise as well."""
    loops = {part.whole.name: part.whole for part in _tower(device)}
    for own in usage.claims:
        if own.loop in loops and (found := _other_use(own, loops[own.loop], usage)) is not None:
            return found
    return None


def _other_use(own: Claim, loop: BlockDevice, usage: Usage) -> str | None:
    """Of what a loop device stores its data in: ``own`` is its claim on that."""
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


def secretive(_device: BlockDevice, usage: Usage) -> str | None:
    """Processes that can't be asked may have anything open."""
    if not usage.secretive:
        return None
    first, *others = usage.secretive
    more = f" and {len(others)} others" if others else ""
    return f"what {first}{more} may have open can't be seen"


def signed(device: BlockDevice, _usage: Usage) -> str | None:
    """The signatures on the drive."""
    try:
        found = find_signatures(device.node)
    except SignatureSearchError as error:
        return f"can't check {device.node} for data: {error}"
    return f"{device.node} holds {', '.join(found)}" if found else None
