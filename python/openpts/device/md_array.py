"""A software array of the kernel (md): what it is made of, taken apart and made again in the same shape."""

from dataclasses import dataclass
from typing import Final

from openpts.device.block_device import BlockDevice
from openpts.errors import TargetError, failing_as
from openpts.programs import Answer, ProgramError, Run, run_program
from openpts.system_files import printable

_LEVELS: Final = {
    "raid0": "0",
    "raid1": "1",
    "raid4": "4",
    "raid5": "5",
    "raid6": "6",
    "raid10": "10",
    "linear": "linear",
}
# <linux/raid/md_u.h> and raid5.h: how parity goes round; the names are those of mdadm
_PARITY_LAYOUTS: Final = {
    0: "left-asymmetric",
    1: "right-asymmetric",
    2: "left-symmetric",
    3: "right-symmetric",
    4: "parity-first",
    5: "parity-last",
}
_OWN_METADATA: Final = ("0.90", "1.0", "1.1", "1.2")
_RAID10_OFFSET: Final = 1 << 16
_COMMAND_TIMEOUT_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class MdMember:
    """A member and its place in the array."""

    slot: int
    device: BlockDevice


@dataclass(frozen=True, slots=True)
class MdArray:
    """The shape of an array and what it is known by: all that is needed to make it again.

    ``layout`` is in mdadm's words, None where there is only one. ``uuid`` and ``name`` (``host:name``) are
    those of its superblock, so that mdadm.conf knows it again; None where it has none.
    """

    device: BlockDevice
    level: str
    chunk_bytes: int
    layout: str | None
    metadata: str
    has_bitmap: bool
    members: tuple[MdMember, ...]
    uuid: str | None = None
    name: str | None = None

    def __str__(self) -> str:
        """The array in words, such as ``raid5 of 3 drives, chunk 64 KiB, left-symmetric``."""
        parts = [f"{self.level} of {len(self.members)} drives"]
        if self.chunk_bytes:
            parts.append(f"chunk {self.chunk_bytes // 1024} KiB")
        return ", ".join([*parts, *([self.layout] if self.layout else [])])


def is_array(device: BlockDevice) -> bool:
    """Whether it is an array of md."""
    return (device.folder / "md").is_dir()


def read_array(device: BlockDevice, run: Run = run_program) -> MdArray:
    """The shape of an array that runs, from sysfs and mdadm.

    Raises TargetError where it is not whole, changes its shape, or is of a kind that can't be made again in
    the very same way.
    """
    if not is_array(device):
        raise TargetError(f"{device.node} is not an md array: see cat /proc/mdstat")
    level = device.text("md/level") or "unknown"
    if level not in _LEVELS:
        raise TargetError(f"{device.node} is a {level} array, which openpts can't create again")
    metadata = device.text("md/metadata_version") or "none"
    if metadata not in _OWN_METADATA:
        raise TargetError(
            f"{device.node} keeps its metadata as {metadata}: openpts creates only arrays of md's own again"
        )
    members, others = _members(device)
    if others:
        raise TargetError(
            f"{device.node} has {', '.join(others)} besides its members, and openpts creates no array with "
            "spares or a journal again: remove them with mdadm --remove"
        )
    wanted = device.integer("md/raid_disks") or 0
    if len(members) != wanted or (device.integer("md/degraded") or 0):
        raise TargetError(
            f"{device.node} is degraded: {len(members)} of {wanted} members are active and in sync; see "
            f"mdadm --detail {device.node}"
        )
    busy = device.text("md/sync_action")
    if busy not in {None, "idle", "frozen"}:
        raise TargetError(
            f"{device.node} is busy with a {busy}: see cat /proc/mdstat, and wait until it is done"
        )
    location = device.text("md/bitmap/location")
    known_by = _export(device, run)
    return MdArray(
        device=device,
        level=level,
        chunk_bytes=device.integer("md/chunk_size") or 0,
        layout=_layout(level, device.integer("md/layout") or 0),
        metadata=metadata,
        has_bitmap=location not in {None, "none"},
        members=members,
        uuid=known_by.get("MD_UUID"),
        name=known_by.get("MD_NAME"),
    )


def stop_array(array: MdArray, run: Run = run_program) -> None:
    """Stop an array that is not in use. Raises TargetError."""
    _mdadm(("mdadm", "--stop", str(array.device.node)), f"stop {array.device.node}", run)


def create_array(array: MdArray, run: Run = run_program, *, assume_clean: bool) -> None:
    """Make the array again of the same members in the same order, under the same name.

    ``assume_clean``: the members agree already, because all of them hold zeros; otherwise the kernel computes
    parity or copies, which the caller must wait for. Raises TargetError.
    """
    command = [
        "mdadm",
        "--create",
        str(array.device.node),
        "--run",
        "--quiet",
        f"--metadata={array.metadata}",
        f"--level={_LEVELS[array.level]}",
        f"--raid-devices={len(array.members)}",
        f"--bitmap={'internal' if array.has_bitmap else 'none'}",
    ]
    if array.uuid:
        command.append(f"--uuid={array.uuid}")
    host, colon, name = (array.name or "").partition(":")
    if name:
        command += [f"--homehost={host}", f"--name={name}"]
    elif host and not colon:
        command.append(f"--name={host}")
    if array.chunk_bytes:
        command.append(f"--chunk={array.chunk_bytes // 1024}K")
    if array.layout:
        command.append(f"--layout={array.layout}")
    if assume_clean and array.level not in {"raid0", "linear"}:
        command.append("--assume-clean")
    nodes = [str(member.device.node) for member in sorted(array.members, key=lambda member: member.slot)]
    _mdadm((*command, *nodes), f"create {array.device.node} again", run)


def sync_progress(device: BlockDevice) -> float | None:
    """The share of a resync that is done (0 to 1), None when there is none."""
    if device.text("md/sync_action") in {None, "idle", "frozen"}:
        return None
    done, _, whole = (device.text("md/sync_completed") or "").partition(" / ")
    if done.strip().isdecimal() and whole.strip().isdecimal() and int(whole):
        return int(done) / int(whole)
    return 0.0


def _members(device: BlockDevice) -> tuple[tuple[MdMember, ...], tuple[str, ...]]:
    """Members that have a place and are in step, by their places, and the names of all others."""
    found, others = [], []
    for folder in sorted((device.folder / "md").glob("dev-*")):
        slot = device.integer(f"md/{folder.name}/slot")
        states = (device.text(f"md/{folder.name}/state") or "").split(",")
        block = folder / "block"
        if slot is not None and "in_sync" in states and block.exists():
            found.append(MdMember(slot, BlockDevice(block.resolve(), device.roots)))
        elif "faulty" not in states:
            others.append(f"{folder.name.removeprefix('dev-')} ({', '.join(states)})")
    return tuple(sorted(found, key=lambda member: member.slot)), tuple(others)


def _export(device: BlockDevice, run: Run) -> dict[str, str]:
    """What mdadm says of an array, by its own names. Raises TargetError."""
    command = ("mdadm", "--detail", "--export", str(device.node))
    answer = _mdadm(command, f"look at {device.node}", run)
    pairs = (line.split("=", 1) for line in answer.stdout.splitlines() if "=" in line)
    return {key: printable(value) for key, value in pairs if printable(value)}


def _layout(level: str, number: int) -> str | None:
    """The layout in mdadm's words; where there is only one, None."""
    if level in {"raid4", "raid5", "raid6"}:
        return _PARITY_LAYOUTS.get(number)
    if level != "raid10":
        return None
    near, far = number & 0xFF, number >> 8 & 0xFF
    if far > 1:
        return f"{'o' if number & _RAID10_OFFSET else 'f'}{far}"
    return f"n{near}"


def _mdadm(command: tuple[str, ...], what: str, run: Run) -> Answer:
    with failing_as(TargetError, f"can't {what}", of=ProgramError):
        answer = run(command, _COMMAND_TIMEOUT_S, to_the_end=True)
    if answer.returncode != 0:
        raise TargetError(f"can't {what}: {answer.complaint}")
    return answer
