"""Processors by NUMA node, and those on the one of a target: from there the way to it is shortest."""

import os
import re
from pathlib import Path
from typing import Final

from openpts.device.block_device import BlockDevice, device_below
from openpts.device.targets.open_target import OpenTarget
from openpts.fields.parsing import refuse
from openpts.system_files import SystemRoots, read_text

NUMA: Final = "numa"
NOT_PINNED: Final = "none"
_RANGE: Final = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")


def parse_cpu_list(text: str) -> tuple[int, ...]:
    """Processors in the kernel's way of writing, such as ``0-3,8``, in ascending order.

    Raises ValueError on anything else.
    """
    cpus: set[int] = set()
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise ValueError(f"{part!r} is neither a processor nor a range such as 0-3")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise ValueError(f"{part!r} ends before it begins")
        cpus.update(range(first, last + 1))
    return tuple(sorted(cpus))


def pinned_cpus(text: str) -> tuple[int, ...]:
    """The processors that ``--cpus`` names, none for ``numa`` and ``none``. Raises UsageError."""
    if text in {NUMA, NOT_PINNED}:
        return ()
    try:
        cpus = parse_cpu_list(text)
    except ValueError as error:
        refuse("--cpus", text, f"{error}; write a list such as 0-3,8, or {NUMA}, or {NOT_PINNED}")
    if forbidden := sorted(set(cpus) - os.sched_getaffinity(0)):
        listed = ", ".join(map(str, forbidden))
        refuse("--cpus", text, f"there is no processor {listed} that this process may run on")
    return cpus


def cpus_near(target: OpenTarget, roots: SystemRoots) -> tuple[int, ...]:
    """Processors of the node that all disks below the target are attached to; empty if none is known."""
    device = target.device or device_below(Path(target.facts.path), roots)
    nodes = set() if device is None else {numa_node(disk) for disk in device.beneath}
    if len(nodes) != 1 or (node := nodes.pop()) is None:
        return ()
    cpus = read_text(roots.sys / f"devices/system/node/node{node}/cpulist")
    try:
        return parse_cpu_list(cpus) if cpus else ()
    except ValueError:
        return ()


def processors_by_node(allowed: set[int], roots: SystemRoots) -> dict[int, tuple[int, ...]]:
    """The allowed processors of each node that has any; a host without nodes is node 0.

    Threads of one core are beside each other.
    """
    found: dict[int, tuple[int, ...]] = {}
    for folder in (roots.sys / "devices/system/node").glob("node[0-9]*"):
        text = read_text(folder / "cpulist")
        cpus = allowed.intersection(parse_cpu_list(text)) if text else set()
        if cpus:
            found[int(folder.name.removeprefix("node"))] = _by_core(cpus, roots)
    return found or {0: _by_core(allowed, roots)}


def _by_core(cpus: set[int], roots: SystemRoots) -> tuple[int, ...]:
    def core(cpu: int) -> tuple[int, int]:
        siblings = read_text(roots.sys / f"devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        return min(parse_cpu_list(siblings)) if siblings else cpu, cpu

    return tuple(sorted(cpus, key=core))


def numa_node(disk: BlockDevice) -> int | None:
    """The node of the disk's controller; None where the kernel knows none (it writes -1 then).

    The controller is the nearest device above the disk that has a node, and for a namespace that
    several controllers lead to, what ``device`` leads to.
    """
    above = (folder for folder in disk.folder.parents if folder.is_relative_to(disk.roots.sys.resolve()))
    for folder in (disk.folder / "device", *above):
        text = read_text(folder / "numa_node")
        if text is not None:
            return int(text) if text.isdecimal() else None
    return None
