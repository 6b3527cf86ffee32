"""The machine's own files: where they are rooted and how they are read.

Everything that openpts learns about a device or a host comes from files below these roots, so a
test can hand in a made-up machine. Nothing here writes.
"""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Final

from msgspec import Struct

_PCI_ID: Final = re.compile(r"0x[0-9a-f]{4}")
_OCTAL_ESCAPE: Final = re.compile(r"\\([0-7]{3})")


class SystemRoots(Struct, frozen=True):
    """Roots of the file trees in which the kernel and the distribution describe the machine."""

    sys: Path = Path("/sys")
    proc: Path = Path("/proc")
    dev: Path = Path("/dev")
    etc: Path = Path("/etc")
    share: Path = Path("/usr/share")
    run: Path = Path("/run")


class Mount(Struct, frozen=True):
    """One line of mountinfo. ``device`` is ``major:minor``; a source need not be a path.

    ``root`` is the folder of the file system that is mounted, ``super_options`` are those of the file system.
    """

    device: str
    mount_point: str
    fs_type: str
    source: str
    options: str
    root: str = "/"
    super_options: str = ""


def printable(text: str) -> str:
    """The text with U+FFFD for whatever is not printable, tabs as blanks, no white space at its ends.

    Names come from device firmware: a control character in one must reach no terminal or report.
    """
    stripped = text.replace("\t", " ").strip(" \r\n\0")
    if stripped.isprintable():
        return stripped
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in stripped)


def boot_id(roots: "SystemRoots") -> str:
    """The ID of this boot of the machine; empty where the kernel reports none."""
    return read_text(roots.proc / "sys/kernel/random/boot_id") or ""


@contextmanager
def closed_at_end(fd: int) -> Iterator[int]:
    """An open descriptor, closed at the end of the block."""
    try:
        yield fd
    finally:
        os.close(fd)


def read_bytes(path: Path) -> bytes | None:
    """All that a file contains; None if it is missing or unreadable."""
    try:
        return path.read_bytes()
    except OSError:
        return None


def read_text(path: Path) -> str | None:
    """A one-line attribute, printable; None if it is missing, unreadable or empty."""
    content = read_bytes(path)
    return None if content is None else printable(content.decode(errors="replace")) or None


def read_integer(path: Path) -> int | None:
    """A one-line attribute that is a whole number; None if it is missing, unreadable or something else."""
    text = read_text(path) or ""
    return int(text) if text.removeprefix("-").isdecimal() else None


def read_lines(path: Path) -> tuple[str, ...]:
    """The lines of a file, each printable; none if it is missing or unreadable."""
    if (content := read_bytes(path)) is None:
        return ()
    return tuple(printable(line) for line in content.decode(errors="replace").removesuffix("\n").split("\n"))


def chosen_word(text: str | None) -> str | None:
    """The one in use of a list such as ``[none] mq-deadline``; a text without brackets is its own."""
    if text is None:
        return None
    return next((value.strip("[]") for value in text.split() if value.startswith("[")), text)


def read_mounts(roots: SystemRoots, process: str = "self") -> tuple[Mount, ...]:
    """All mounts of this mount namespace, or of another process's, in the order in which they were made.

    None of another process in a chroot without mounts. Raises OSError if the kernel's list can't be read
    and ValueError if a line makes no sense: a mount that was overlooked would cost a user's data.
    """
    content = (roots.proc / process / "mountinfo").read_bytes()
    if not content and process != "self":
        return ()
    # by \n alone: a mount point may hold any other character that ends a line elsewhere
    return tuple(_parse_mount(os.fsdecode(line)) for line in content.removesuffix(b"\n").split(b"\n"))


def unescape_octal(field: str) -> str:
    """A path as procfs writes it, its white space as ``\\040``, turned back."""
    return _OCTAL_ESCAPE.sub(lambda match: chr(int(match[1], 8)), field)


def _parse_mount(line: str) -> Mount:
    left, separator, right = line.partition(" - ")
    about_mount, about_file_system = left.split(" "), right.split(" ")
    if not separator or len(about_mount) < 6 or len(about_file_system) < 3:
        raise ValueError(f"not a line of mountinfo: {printable(line)!r}")
    return Mount(
        device=about_mount[2],
        mount_point=unescape_octal(about_mount[4]),
        options=about_mount[5],
        fs_type=about_file_system[0],
        source=unescape_octal(about_file_system[1]),
        root=unescape_octal(about_mount[3]),
        super_options=about_file_system[2],
    )


def view_of(process: Path) -> tuple[str, str] | None:
    """Mount namespace and root directory of a process; None of one that has ended, or hides them.

    Such a process doesn't show what it has open either, and counts against every drive by that.
    """
    try:
        return str((process / "ns/mnt").readlink()), str((process / "root").readlink())
    except OSError:
        return None


def other_roots(roots: SystemRoots) -> tuple[Path, ...]:
    """Doors to the root directories of other mount namespaces, one for each view that processes have."""
    views = {view_of(process): process / "root" for process in roots.proc.glob("[0-9]*")}
    own = view_of(roots.proc / "self")
    return tuple(root for view, root in views.items() if view not in {own, None})


@cache
def pci_name(vendor_id: str | None, device_id: str | None, roots: SystemRoots) -> str | None:
    """Name of a PCI vendor, or of one of its devices, from pci.ids; the IDs are those of sysfs (``0x144d``).

    What pci.ids doesn't have, or all if there is none, is named by its ID; None without a valid vendor ID.
    """
    if vendor_id is None or not _PCI_ID.fullmatch(vendor_id):
        return None
    if device_id is not None and not _PCI_ID.fullmatch(device_id):
        device_id = None
    for folder in ("misc", "hwdata"):
        with (
            suppress(OSError),
            (roots.share / folder / "pci.ids").open(encoding="utf-8", errors="replace") as ids,
        ):
            if name := _find_pci_name(ids, vendor_id[2:], device_id[2:] if device_id else None):
                return name
    return f"PCI {vendor_id[2:]}:{device_id[2:]}" if device_id else f"PCI vendor {vendor_id}"


def _find_pci_name(ids: Iterable[str], vendor_id: str, device_id: str | None) -> str | None:
    vendor = None
    for line in ids:
        if vendor is None:
            if line.startswith(f"{vendor_id}  "):
                vendor = printable(line[6:])
        elif device_id is None or not line.startswith(("\t", "#")):
            break
        elif line.startswith(f"\t{device_id}  "):
            return f"{vendor} {printable(line[7:])}"
    return f"{vendor} device {device_id}" if vendor and device_id else vendor
