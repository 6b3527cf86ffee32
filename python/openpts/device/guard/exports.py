"""Drives and files that this machine serves to others: by the NVMe target or the SCSI target of the kernel.

The NVMe target opens a drive without a claim on it, so that nothing but its own configuration shows the use.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from openpts.device.guard.claims import Claim, ClaimKind, claim_of_path, kernel_name
from openpts.device.nvme.namespaces import namespaces_of
from openpts.system_files import SystemRoots, printable, read_lines, read_text

# iBlock device: sdb  UDEV PATH: /dev/disk/by-id/x  readonly: 0
_IBLOCK_DEVICE: Final = re.compile(r"iBlock device: (\S+)")
# TCM FILEIO ID: 0        File: /srv/disk.img  Size: 1073741824  Mode: O_DSYNC
_FILEIO_FILE: Final = re.compile(r"TCM FILEIO ID: .*?File: (/.*?)\s+Size: ")


def exported(roots: SystemRoots) -> Iterator[Claim]:
    """A claim for each drive and each file that is served."""
    for subsystem in sorted((roots.sys / "kernel/config/nvmet/subsystems").glob("*")):
        text = f"is served to others by the NVMe target {printable(subsystem.name)}"
        for place in (*sorted(subsystem.glob("namespaces/*")), subsystem / "passthru"):
            path = read_text(place / "device_path")
            if path is not None and path.startswith("/") and read_text(place / "enable") == "1":
                yield from _claims(path, text, roots)
    for store in sorted((roots.sys / "kernel/config/target/core").glob("*/*")):
        yield from _of_scsi_target(store, roots)


def _of_scsi_target(store: Path, roots: SystemRoots) -> Iterator[Claim]:
    text = f"is served to others by the SCSI target {printable(store.name)}"
    if (path := read_text(store / "udev_path")) is not None and path.startswith("/"):
        yield from _claims(path, text, roots)
    for line in read_lines(store / "info"):
        if found := _IBLOCK_DEVICE.search(line):
            yield Claim(ClaimKind.EXPORT, text, name=found[1])
        if found := _FILEIO_FILE.search(line):
            yield from _claims(found[1], text, roots)


def _claims(path: str, text: str, roots: SystemRoots) -> Iterator[Claim]:
    """On the file, on the device itself, or on all namespaces of a controller."""
    yield claim_of_path(ClaimKind.EXPORT, path, text, roots)
    if not path.startswith("/dev/"):
        return
    name = kernel_name(path, roots)
    yield Claim(ClaimKind.EXPORT, text, name=name)
    for namespace in namespaces_of(roots.sys / "class/nvme" / name):
        yield Claim(ClaimKind.EXPORT, text, name=namespace, node=path)
