"""What a file as the target is: its file system, and the drives below that."""

from pathlib import Path
from typing import Final

from openpts.device.file_system import device_of_mount, find_mount
from openpts.device.identity.drive_name import name_with_model
from openpts.system_files import Mount, SystemRoots, printable, read_text
from openpts.vocabulary.facts import Fact, Facts, TargetFacts

_ONLY_OF_DRIVES: Final = (
    "manufacturer",
    "serial",
    "firmware",
    "form_factor",
    "media",
    "nand_type",
    "features",
    "pcie",
    "hba",
)


def file_facts(target: TargetFacts, roots: SystemRoots) -> Facts:
    """The facts of a file; what only a drive has is left open, for the drive is not what is tested."""
    mount = find_mount(Path(target.path), roots)
    source = f"{roots.proc}/self/mountinfo"
    facts = {
        **dict.fromkeys(_ONLY_OF_DRIVES, Fact(None, "the target is a file")),
        "sector": Fact(f"{target.sector_bytes} B", "alignment that direct I/O on the file asks for"),
    }
    if mount is None:
        return facts | dict.fromkeys(("model", "interface", "file_system"), Fact(None, source))
    return facts | {
        "model": Fact(f"file on {mount.fs_type} on {_below(mount, roots)}", source),
        "interface": Fact(f"file system {mount.fs_type}", source),
        "file_system": Fact(_describe(mount, roots), source),
    }


def _describe(mount: Mount, roots: SystemRoots) -> str:
    """Type, version (a file system is as old as its kernel) and options."""
    kernel = read_text(roots.proc / "sys/kernel/osrelease") or "unknown"
    return f"{mount.fs_type} of Linux {kernel}, {mount.options}, mounted at {printable(mount.mount_point)}"


def _below(mount: Mount, roots: SystemRoots) -> str:
    device = device_of_mount(mount, roots)
    if device is None:
        return printable(mount.source)
    return " and ".join(name_with_model(disk) for disk in device.whole.beneath)
