"""Files that are seen through overlay mounts: one file has an inode in its layer, and another in each mount.

The kernel's lists name a use by the inode through which it came. What is written through one of them is
what all of them read.
"""

import os
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from openpts.device.file_system import find_mount
from openpts.device.guard.claims import NamedFile
from openpts.device.kernel_calls import Inode, node_status
from openpts.errors import RefusedError
from openpts.system_files import Mount, SystemRoots, other_roots, read_mounts, unescape_octal

_OVERLAY: Final = "overlay"
_LAYERS: Final = frozenset({"upperdir", "lowerdir", "lowerdir+", "datadir+"})


def stored_at(path: Path, roots: SystemRoots) -> Path:
    """Where the data of a file (links resolved) are: ``path``, or the file in a layer of its overlay.

    Raises RefusedError where no layer of the overlay has it, as in a container, whose layers are the host's.
    """
    mount = find_mount(path, roots)
    if mount is None or mount.fs_type != _OVERLAY or not path.exists():
        return path
    inside = _inside(mount, path)
    for layer in _layers(mount):
        # a layer that the overlay covers, as lowerdir=/ below the root, leads back to the file itself
        if _is_same(own := layer / inside, path) and (below := Path(os.path.realpath(own))) != path:
            return stored_at(below, roots)
        for root in other_roots(roots):
            found = root / str(own).lstrip("/")
            if _is_same(found, path) and not _may_be_overlay(found):
                return found
    raise RefusedError(
        f"refused [overlay]: {path} is on the overlay mounted at {mount.mount_point}, and the file below it "
        "can't be found: it may be in use there; remove the file, so that openpts makes a new one, or name "
        "one on another file system: a mounted disk, or a volume of the container"
    )


def inodes_of(path: Path, roots: SystemRoots) -> frozenset[Inode]:
    """A file (links resolved) by all of its inodes: where it is stored, and in each overlay that shows it.

    Raises RefusedError as ``stored_at`` does.
    """
    stored = stored_at(path, roots)
    statuses = map(node_status, (path, stored, *_views(stored, roots)))
    return frozenset(status.inode for status in statuses if status is not None)


def with_twins(file: NamedFile, roots: SystemRoots) -> NamedFile:
    """The file by all of its inodes. Raises RefusedError as ``stored_at`` does."""
    return replace(file, twins=inodes_of(file.path, roots))


def _views(stored: Path, roots: SystemRoots) -> Iterator[Path]:
    """The same file in the overlays of this mount namespace, also in those over overlays.

    A layer is one of the folders above the file. Which one is tried: the kernel lists layers as they were
    named, relative to a folder that it does not list, or by links.
    """
    overlays = [mount for mount in read_mounts(roots) if mount.fs_type == _OVERLAY]
    found, unread = {stored}, [stored]
    while unread:
        file = unread.pop()
        for mount, layer in product(overlays, file.parents):
            inside = Path("/") / file.relative_to(layer)
            view = Path(mount.mount_point)
            if inside.is_relative_to(mount.root):
                view /= inside.relative_to(mount.root)
            if view not in found and _is_same(view, file):
                found.add(view)
                unread.append(view)
                yield view


def _inside(mount: Mount, path: Path) -> Path:
    """A path from the root of the file system that is mounted, without the leading slash."""
    return Path(mount.root.lstrip("/")) / path.relative_to(mount.mount_point)


def _layers(mount: Mount) -> Iterator[Path]:
    """The folders of which an overlay is made, that which is written to first."""
    options = (option.partition("=") for option in mount.super_options.split(","))
    named = [(name, unescape_octal(value)) for name, _, value in options if name in _LAYERS]
    for name, value in sorted(named, key=lambda one: one[0] != "upperdir"):
        yield from map(Path, [value] if name == "upperdir" else value.split(":"))


def _is_same(one: Path, other: Path) -> bool:
    """An overlay shows a file's times, size and owner as its layer has them; changes are timed in ns."""
    try:
        first, second = one.stat(), other.stat()
    except OSError:
        return False
    return all(
        getattr(first, name) == getattr(second, name)
        for name in ("st_ctime_ns", "st_mtime_ns", "st_size", "st_mode", "st_uid", "st_blocks")
    )


def _may_be_overlay(path: Path) -> bool:
    """Whether a file in another mount namespace may itself be seen through an overlay there.

    Overlays have numbers without a block device, as some other file systems have.
    """
    return os.major(path.stat().st_dev) == 0
