"""Uses of devices and files, and the nodes that other processes have open or mapped."""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Final, Self

from msgspec import Struct
from msgspec.structs import replace

from openpts.device.block_device import BlockDevice
from openpts.device.kernel_calls import Inode, node_status, share_open_files
from openpts.device.nvme_subsystem import namespace_behind, namespaces_of
from openpts.errors import TargetError
from openpts.ownership import NO_OWNER, file_name, owned_name, owner_behind
from openpts.system_files import SystemRoots, printable, read_lines, read_text, unescape_octal


class ClaimKind(StrEnum):
    """How a device is used."""

    MOUNT = "mounted"
    SWAP = "swap"
    LOOP = "loop"
    EXPORT = "exported"
    OPEN = "open"
    OWNED = "owned"


class NamedFile(Struct, frozen=True):
    """A regular file by one of its names (links resolved); ``inode`` is None where nothing is there.

    ``twins`` are the inodes by which overlays show the same file.
    """

    path: Path
    inode: Inode | None
    twins: frozenset[Inode] = frozenset()

    @classmethod
    def at(cls, path: Path) -> Self:
        """The file at a path, links resolved, with its inode if it exists.

        Raises TargetError where names on its way are exchanged meanwhile.
        """
        try:
            resolved = Path(os.path.realpath(path))
        except OSError as error:  # what was a link a moment ago is none
            raise TargetError(
                f"can't open {path}: {error.strerror}; another program changes its names"
            ) from error
        status = node_status(resolved)
        return cls(resolved, None if status is None else status.inode)

    @property
    def inodes(self) -> frozenset[Inode]:
        """All inodes by which the file can be in use."""
        return self.twins if self.inode is None else self.twins | {self.inode}


class Claim(Struct, frozen=True):
    """One use of something, known by device number, kernel name, inode or path; ``text`` continues its name.

    ``path`` is how the kernel names a file, and counts where its inode can't be had. ``node`` is what was
    used where that is another door to the same drive, such as ``/dev/ng0n1``; ``program`` the name of a
    process that has it open, ``loop`` that of the loop device that stores its data in it, ``owned`` what the
    file is named after with which a run says that a target is its own.
    """

    kind: ClaimKind
    text: str
    number: str | None = None
    name: str | None = None
    inode: Inode | None = None
    path: Path | None = None
    node: str | None = None
    program: str | None = None
    loop: str | None = None
    owned: str | None = None

    def concerns(self, device: BlockDevice) -> bool:
        """Whether the claim is on ``device`` itself; partitions are devices of their own."""
        return self.name == device.name or (self.number is not None and self.number == device.number)

    def is_of(self, file: NamedFile) -> bool:
        """Whether the claim is on ``file``, by whatever name."""
        if self.inode is not None and file.inode is not None:
            return self.inode in file.inodes
        return self.path is not None and self.path == file.path

    @property
    def is_of_any_file(self) -> bool:
        """Whether the claim is on a file that can't be identified, so that any file may be meant."""
        return self.path is not None and (self.inode, self.number, self.name) == (None, None, None)


def kernel_name(node: str, roots: SystemRoots) -> str:
    """The kernel's name for a node such as /dev/disk/by-id/x, links followed."""
    local = Path(os.path.realpath(local_path(node, roots)))
    root = Path(os.path.realpath(roots.dev))
    return str(local.relative_to(root)).replace("/", "!") if local.is_relative_to(root) else local.name


def local_path(path: str, roots: SystemRoots) -> Path:
    """A path below /dev, below the roots' own."""
    return roots.dev / path.removeprefix("/dev/") if path.startswith("/dev/") else Path(path)


def claim_of_path(kind: ClaimKind, path: str, text: str, roots: SystemRoots) -> Claim:
    """A claim on what is at a path: a device by its number if the node is readable, or a file."""
    local = local_path(path, roots)
    status = node_status(local)
    if status is None:
        name = kernel_name(path, roots) if path.startswith("/dev/") else None
        return Claim(kind, text, name=name, path=local)
    if stat.S_ISBLK(status.mode):
        return Claim(kind, text, number=status.number, path=local)
    return Claim(kind, text, inode=status.inode, path=Path(os.path.realpath(local)))


_CONTROLLER: Final = re.compile(r"nvme[0-9]+")
_GENERIC: Final = re.compile(r"ng[0-9]+(c[0-9]+)?n[0-9]+")
# the number of the machine's own PID namespace, a constant of the kernel's interface (PROC_PID_INIT_INO)
_WHOLE_MACHINE: Final = "pid:[4026531836]"
# the machine's first process uses no drive itself, and may be beyond even root's sight
_INIT: Final = "1"
# of systemd, older and newer, and of eudev: any program may take these names
_UDEV_NAMES: Final = frozenset({"systemd-udevd", "udevd", "(udev-worker)", "udev-worker"})
_UDEV_PROGRAM: Final = re.compile(
    r"/(usr/)?(s?bin|lib/systemd|lib/udev)/(systemd-udevd|udevd|udevadm)( \(deleted\))?"
)
# a file in fdinfo that is registered with a ring, and needs no descriptor: "    0: /dev/nvme0n1"
_REGISTERED: Final = re.compile(r"\s*\d+: (/.*)")


class Usage(Struct, frozen=True):
    """All claims at one moment. ``secretive``: processes that don't show what they have open."""

    claims: tuple[Claim, ...]
    secretive: tuple[str, ...] = ()

    def of_device(self, kind: ClaimKind, device: BlockDevice) -> str | None:
        """First use of that kind of the disk or of one of its partitions, as a sentence; None if unused."""
        for part in (device, *device.partitions):
            for claim in self.claims:
                if claim.kind is kind and claim.concerns(part):
                    return f"{claim.node or part.node} {claim.text}"
        return None

    def of_file(self, kind: ClaimKind, file: NamedFile) -> str | None:
        """First use of that kind of a regular file, by whatever name, as a sentence; None if unused."""
        for claim in self.claims:
            if claim.kind is kind and claim.is_of(file):
                return f"{file.path} {claim.text}"
        return None

    def owner_of(self, name: str) -> str | None:
        """The run that has claimed a target by this name, as the end of a sentence; None if there is none."""
        texts = [claim.text for claim in self.claims if claim.owned == file_name(name)]
        return min(texts, key=len, default=None)  # the owner itself before programs that it has started


def find_open_nodes(roots: SystemRoots, files: frozenset[Inode]) -> Usage:
    """All nodes of drives, and those of ``files``, that other processes than this one have open or mapped.

    udev reads every device that was just closed and is gone a moment later: it doesn't count.
    """
    claims: list[Claim] = []
    secretive = list(_out_of_sight(roots))
    unrelated: set[_Listed] = set()
    for process in roots.proc.glob("[0-9]*"):
        if process.name == str(os.getpid()):
            continue
        command = read_text(process / "comm") or "unknown"
        if command in _UDEV_NAMES and _is_udev(process):
            continue
        who = f"process {process.name} ({command})"
        for thread in _threads(process, roots):
            try:
                for found in (
                    _opened(thread, who, files, roots),
                    _mapped(thread, who, files, unrelated, roots),
                ):
                    claims += (replace(claim, program=command) for claim in found)
            except PermissionError:
                # a process that ends in the middle of the search looks the same
                if process.name != _INIT and process.exists() and who not in secretive:
                    secretive.append(who)
            except OSError:
                continue  # the thread has just ended: others of its process may live
    return Usage(tuple(claims), tuple(secretive))


def _is_udev(process: Path) -> bool:
    """Whether it is root's udev by its program, not by the name that it gives itself."""
    try:
        program = str((process / "exe").readlink())
    except OSError:
        return False
    is_roots = any(line.split()[:3] == ["Uid:", "0", "0"] for line in read_lines(process / "status"))
    return is_roots and _UDEV_PROGRAM.fullmatch(program) is not None


def _threads(process: Path, roots: SystemRoots) -> Iterator[Path]:
    """Folders in /proc of a process, and of each thread that has a table of open files of its own.

    A process whose first thread has ended shows files and memory by another one alone. In /proc threads have
    folders of their own, which are not listed: those below ``task`` lack ``map_files``.
    """
    others: list[str] = []
    with suppress(OSError):  # it has just ended
        others = [thread.name for thread in os.scandir(process / "task") if thread.name != process.name]
    yield process
    yield from (roots.proc / name for name in others if not share_open_files(int(process.name), int(name)))


def _opened(process: Path, who: str, files: frozenset[Inode], roots: SystemRoots) -> Iterator[Claim]:
    for descriptor in list(os.scandir(process / "fd")):
        yield from _claims(descriptor.path, f"is open in {who}", files, roots)


# ADDRESSES PERMISSIONS OFFSET MAJOR:MINOR INODE PATH, numbers but the inode's in hexadecimal
_LISTED: Final = re.compile(rb"^(\S+) +\S+ +\S+ +(\S+) +(\d+) *(.*)$", re.MULTILINE)
_Listed = tuple[bytes, ...]
"""Device, inode and path of a mapped file, as the kernel's list has them."""


def _mapped(
    process: Path, who: str, files: frozenset[Inode], unrelated: set[_Listed], roots: SystemRoots
) -> Iterator[Claim]:
    """Raises OSError. ``unrelated`` is what needs no second check: all processes map the same libraries.

    The list knows a file system by the number of its super block, which on btrfs is not that of stat.
    """
    text, seen = f"is mapped by {who}", set()
    for addresses, *listed_file in _LISTED.findall((process / "maps").read_bytes()):
        device, inode, _ = listed = tuple(listed_file)
        if inode == b"0" or listed in seen or listed in unrelated:
            continue
        seen.add(listed)
        first, end = (int(address, 16) for address in addresses.split(b"-"))
        major, minor = (int(number, 16) for number in device.split(b":"))
        link, mapped = f"{process}/map_files/{first:x}-{end:x}", (f"{major}:{minor}", int(inode))
        found = tuple(_claims(link, text, files, roots))
        if not found and mapped in files:
            # only a privileged process may follow the link
            found = (Claim(ClaimKind.OPEN, text, inode=mapped),)
        yield from found
        if not found and node_status(link) is not None:
            unrelated.add(listed)  # what was unmapped meanwhile may be mapped by others


def _out_of_sight(roots: SystemRoots) -> tuple[str, ...]:
    """In a container, however privileged, the rest of the machine's processes isn't even listed."""
    try:
        namespace = str((roots.proc / "self/ns/pid").readlink())
    except FileNotFoundError:
        return ()  # a kernel that can't part them
    return () if namespace == _WHOLE_MACHINE else ("the processes outside of this container",)


def _claims(descriptor: str, text: str, files: frozenset[Inode], roots: SystemRoots) -> Iterator[Claim]:
    try:
        leads_to = os.readlink(descriptor)  # noqa: PTH115 of thousands a look has to be quick
    except FileNotFoundError:
        return  # closed meanwhile
    if leads_to == "anon_inode:[io_uring]":
        yield from _registered(Path(descriptor), text, files, roots)
    if leads_to.startswith("/"):  # no socket, no pipe
        yield from _of_node(descriptor, leads_to, text, files, roots)


def _registered(ring: Path, text: str, files: frozenset[Inode], roots: SystemRoots) -> Iterator[Claim]:
    """A claim for each file that is registered with a ring of io_uring, whose descriptor may be closed."""
    for line in read_lines(ring.parents[1] / "fdinfo" / ring.name):
        if found := _REGISTERED.fullmatch(line):
            path = unescape_octal(found[1])
            yield from _of_node(f"{ring.parents[1]}/root{path}", path, text, files, roots)


def _of_node(
    place: str, leads_to: str, text: str, files: frozenset[Inode], roots: SystemRoots
) -> Iterator[Claim]:
    """Claims on what is at ``place``, which the process knows as ``leads_to``."""
    status = node_status(place)
    if status is None:
        if leads_to.startswith("/dev/"):
            yield Claim(ClaimKind.OPEN, text, name=kernel_name(leads_to, roots))
    elif stat.S_ISBLK(status.mode):
        yield Claim(ClaimKind.OPEN, text, number=status.number)
    elif stat.S_ISCHR(status.mode) and not status.number.startswith("1:"):  # that of memory, as /dev/null
        for drive in drives_behind(roots.sys / "dev/char" / status.number):
            yield Claim(ClaimKind.OPEN, text, name=drive, node=printable(leads_to))
    elif status.inode in files:
        yield Claim(ClaimKind.OPEN, text, inode=status.inode)
    elif stat.S_ISREG(status.mode) and (name := owned_name(leads_to)) is not None and _may_write(place):
        owner = owner_behind(Path(place))
        is_owner = owner is not None and Path(place).parents[1].name == str(owner.pid)
        also = "" if is_owner else f", and {text}"
        yield Claim(ClaimKind.OWNED, f"belongs to {owner or NO_OWNER}{also}", owned=name)


def _may_write(descriptor: str) -> bool:
    """Whether it may, as those of owners: another openpts only reads whose a target is."""
    with suppress(FileNotFoundError):  # it has just been closed
        return bool(os.lstat(descriptor).st_mode & stat.S_IWUSR)
    return False


def drives_behind(link: Path) -> tuple[str, ...]:
    """Kernel names of the block devices that a character device in sysfs passes commands to; mostly none."""
    folder = link.resolve()
    if folder.parent.name in {"scsi_generic", "bsg"}:
        return tuple(disk.name for disk in sorted(folder.parents[1].glob("block/*")))
    if _CONTROLLER.fullmatch(folder.name):
        return namespaces_of(folder)
    if _GENERIC.fullmatch(folder.name):
        return (namespace_behind(folder.name.replace("ng", "nvme", 1)),)
    return ()
