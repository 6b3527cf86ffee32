"""Where the drive of a run is on this host: its node, slot and NUMA node, and the names it is known by."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from openpts.device.block_device import BlockDevice, whole_drives
from openpts.device.file_system import device_below
from openpts.device.guard.claims import NamedFile
from openpts.device.guard.drive_claim import drive_names, inode_name
from openpts.device.identity.drive_name import model, serial_number
from openpts.device.identity.slot import slot
from openpts.device.link.nearby_cpus import numa_node
from openpts.device.targets.target import FileTarget, parse_target
from openpts.engine.native import cpu_ns_per_io
from openpts.errors import TargetError
from openpts.system_files import SystemRoots
from openpts.vocabulary.memory_bandwidth import MemoryBandwidth
from openpts.vocabulary.run_request import RunRequest
from openpts_host.host_capacity import DrivenDrive, expected_limits
from openpts_sim.simulated_target import names_simulated


class LocatedDrive(Struct, frozen=True):
    """``names`` are those of the drive on every path: two with a name in common are one drive.

    ``device`` is None for what is no block device: a simulated drive, a scratch file, a directory.
    """

    target: str
    names: tuple[str, ...]
    device: BlockDevice | None = None
    slot: str | None = None
    numa_node: int | None = None


def located(request: RunRequest, roots: SystemRoots) -> LocatedDrive:
    """The drive of a request: by its target, else by its slot, else by its serial number.

    Raises TargetError, also for a drive of another model than the request has, and UsageError for a name
    that makes no sense.
    """
    found = _named(request, roots)
    own = None if found.device is None else model(found.device).value
    if found.device is not None and request.model is not None and own != request.model:
        raise TargetError(f"{found.target} is a {own or 'drive without a model'}, not {request.model}")
    return found


def _named(request: RunRequest, roots: SystemRoots) -> LocatedDrive:
    if request.target is None and request.slot is None and request.serial is not None:
        return _of_device(_with_serial(request.serial, roots), None, roots)
    if request.target is None:
        return _of_device(_in_slot(request.slot, roots), None, roots)
    if names_simulated(request.target):
        return LocatedDrive(request.target, (request.target,), slot=request.slot)
    path = Path(request.target)
    if path.is_dir():
        return _below(request, path, str(path.resolve()), roots)
    target = parse_target(request.target)
    if isinstance(target, FileTarget):
        return _below(request, target.path, _file_name(target.path), roots)
    found = _of_device(BlockDevice.of_node(target.path, roots), request.target, roots)
    if None not in (request.slot, found.slot) and request.slot != found.slot:
        raise TargetError(f"{request.target} is in slot {found.slot}, not in {request.slot}")
    return found


def _of_device(device: BlockDevice, target: str | None, roots: SystemRoots) -> LocatedDrive:
    nodes = {numa_node(disk) for disk in device.beneath}
    return LocatedDrive(
        target or str(device.node),
        drive_names(device),
        device,
        slot(device, roots).value,
        nodes.pop() if len(nodes) == 1 else None,
    )


def _below(request: RunRequest, path: Path, name: str, roots: SystemRoots) -> LocatedDrive:
    """A file or directory, near the disk that it is on, whose slot tells nothing of it."""
    disk = device_below(path, roots)
    node = None if disk is None else numa_node(disk)
    return LocatedDrive(request.target or "", (name,), slot=request.slot, numa_node=node)


def _file_name(path: Path) -> str:
    file = NamedFile.at(path)
    return str(file.path) if file.inode is None else inode_name(file.inode)


def _in_slot(name: str | None, roots: SystemRoots) -> BlockDevice:
    found = [disk for disk in whole_drives(roots) if name is not None and slot(disk, roots).value == name]
    if len(found) != 1:
        what = " and ".join(str(disk.node) for disk in found) or "no drive"
        raise TargetError(f"slot {name} has {what}: `openpts devices` lists the slots")
    return found[0]


def _with_serial(serial: str, roots: SystemRoots) -> BlockDevice:
    found = [disk for disk in whole_drives(roots) if serial_number(disk).value == serial]
    if len(found) != 1:
        what = f"is that of {' and '.join(str(disk.node) for disk in found)}" if found else "is of no drive"
        how = "name it by its target" if found else "`openpts devices` lists all"
        raise TargetError(f"serial number {serial} {what}: {how}")
    return found[0]


def limits_together(
    drives: Sequence[LocatedDrive], cpus: int, roots: SystemRoots, memory: MemoryBandwidth | None = None
) -> tuple[str, ...]:
    """What this host can't do for drives that are measured at once on so many processors, a sentence each."""
    disks = [(one, disk) for one in drives if one.device is not None for disk in one.device.beneath]
    driven = [DrivenDrive.of_device(disk, roots, one.slot) for one, disk in disks]
    return expected_limits(driven, cpus, cpu_ns_per_io(), roots, memory) if driven else ()
