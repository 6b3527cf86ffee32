"""What processes have mapped into their memory: they use it even where they have closed its descriptor."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from openpts.device.kernel_calls import Inode


@dataclass(frozen=True, slots=True)
class Mapping:
    """A file or node that is mapped. ``link`` leads to it; ``inode`` is what the kernel's list says of it.

    The list knows a file system by the number of its super block, which on btrfs is not that of stat.
    """

    link: Path
    inode: Inode
    path: str


def mappings(process: Path) -> Iterator[Mapping]:
    """One for each file that a process, by its folder in /proc, has mapped. Raises OSError."""
    seen = set()
    # ADDRESSES PERMISSIONS OFFSET MAJOR:MINOR INODE PATH, numbers but the inode's in hexadecimal
    for line in (process / "maps").read_bytes().split(b"\n"):
        addresses, *_, device, inode, path = (*line.split(None, 5), *6 * (b"",))[:6]
        if inode in {b"", b"0"} or (device, inode, path) in seen:
            continue
        seen.add((device, inode, path))
        first, end = (int(address, 16) for address in addresses.split(b"-"))
        major, minor = (int(number, 16) for number in device.split(b":"))
        link = process / f"map_files/{first:x}-{end:x}"
        yield Mapping(link, (f"{major}:{minor}", int(inode)), path.decode(errors="replace"))
