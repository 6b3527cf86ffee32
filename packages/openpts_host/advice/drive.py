"""The settings of a drive: its queue in the kernel, its link, and what saves power on the way."""

import re
from functools import partial
from typing import Final

from openpts_host.advice.advice import (
    BOTH,
    COMMAND_LINE,
    NEITHER,
    RECORDED,
    SHIPPED,
    TUNED,
    Advice,
    Group,
    Suits,
    either,
    first_number,
    starts_with,
    where_there_is_one,
)

NUMA_NODE: Final = "numa_node"
THREADS: Final = "; threads: "
"""Separates the node of the drive from the processors of the engine's threads."""
LARGEST_BLOCK_KIB: Final = 1024
"""The largest I/O of the specification's tests."""

_PROCESSORS: Final = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")
_SIZES: Final = re.compile(r"(\d+) KiB of (\d+) KiB")
_DEPTHS: Final = re.compile(r"(\d+) of (\d+)")


def _max_sectors(value: str) -> Suits | None:
    """A limit of the hardware is not judged: it is a property of the drive."""
    used_kib, found = first_number(value), _SIZES.fullmatch(value)
    if used_kib is None or (found is not None and int(found[1]) >= int(found[2]) < LARGEST_BLOCK_KIB):
        return None
    return BOTH if used_kib >= LARGEST_BLOCK_KIB else NEITHER


def _nr_requests(value: str) -> Suits | None:
    found = _DEPTHS.fullmatch(value)
    return None if found is None else BOTH if int(found[1]) >= int(found[2]) else SHIPPED


def _numa_node(value: str) -> Suits | None:
    """Right if the threads ran on the node of the drive, or the machine has one node."""
    node, _, threads = value.partition(THREADS)
    if "one node" in node or " of 1" in node:
        return BOTH
    near, used = _processors(node.partition("processors ")[2]), _processors(threads)
    if not near:
        return None
    if not used:
        return SHIPPED
    return BOTH if used <= near else NEITHER


def _processors(text: str) -> set[int]:
    """The processors of a list such as ``0-3,8``; none if it is not a list."""
    processors: set[int] = set()
    for part in text.split(","):
        if (match := _PROCESSORS.fullmatch(part.strip())) is None:
            return set()
        processors |= set(range(int(match[1]), int(match[2] or match[1]) + 1))
    return processors


_of_queue: Final = partial(Advice, Group.QUEUE)

DRIVE_QUEUE: Final = (
    _of_queue(
        "storage_driver",
        "Storage driver",
        RECORDED,
        RECORDED,
        "results with one driver do not hold for another",
        requirements=("SOL-SYS-05",),
    ),
    _of_queue(
        NUMA_NODE,
        "NUMA node of the drive",
        "default",
        "threads on the same node",
        "I/O from another node crosses sockets",
        _numa_node,
        ("SOL-GEN-10",),
        remedy="choose processors with --cpus",
    ),
    _of_queue(
        "interrupts",
        "Interrupts of the drive",
        RECORDED,
        "one for each processor",
        "processors that share a queue wait for each other",
        remedy="the kernel fixes those of NVMe queues",
    ),
    _of_queue(
        "scheduler",
        "I/O scheduler",
        "default",
        "none",
        "reorders and delays the I/Os of the test",
        either(none=BOTH),
        ("SOL-GEN-10",),
    ),
    _of_queue(
        "nr_requests",
        "Requests in the queue (nr_requests)",
        "default",
        "as many as the drive takes",
        "with fewer, I/Os wait in the kernel that the drive could take",
        _nr_requests,
        ("SOL-GEN-10",),
        is_minor=True,
    ),
    _of_queue(
        "nomerges",
        "Merging (nomerges)",
        "0",
        "2",
        "merged requests reach the drive with another block size",
        either(**{"2": TUNED}),
        ("SOL-GEN-10",),
        is_minor=True,
    ),
    _of_queue(
        "max_sectors_kb",
        "Largest request (max_sectors_kb)",
        "1024 or more",
        "1024 or more",
        "the kernel splits larger I/Os",
        _max_sectors,
        remedy="the hardware takes no more",
    ),
    _of_queue(
        "wbt_lat_usec",
        "Write-back throttling (wbt_lat_usec)",
        "default",
        "0",
        "slows buffered writes, not direct ones",
        either(**{"0": BOTH}),
        is_minor=True,
    ),
    _of_queue(
        "rq_affinity",
        "Completion (rq_affinity)",
        "1",
        "2",
        "2: an I/O completes on the processor that submitted it",
        either(**{"2": TUNED, "0": NEITHER}),
        is_minor=True,
    ),
    _of_queue(
        "iostats",
        "I/O statistics (iostats)",
        "1",
        "0",
        "add processor time to each I/O; without them, I/O of other programs is not detected",
        either(**{"0": TUNED}),
        is_minor=True,
    ),
    _of_queue(
        "add_random",
        "Entropy from I/O (add_random)",
        "0",
        "0",
        "adds processor time to each I/O",
        either(**{"0": BOTH}),
        is_minor=True,
    ),
    _of_queue(
        "poll_queues",
        "Poll queues",
        "0",
        "0, unless completions are polled",
        "leave fewer queues to I/Os that are not polled",
        where_there_is_one(either(**{"0": BOTH})),
        is_minor=True,
        remedy="reload the driver with other parameters",
    ),
    _of_queue(
        "io_limit",
        "I/O limit of a control group",
        "none",
        "none",
        "delays I/Os that the drive could take",
        either(NEITHER, none=BOTH),
        ("SOL-GEN-10",),
        remedy="change the limit of the control group",
    ),
)


def _link(value: str) -> Suits:
    current, _, most = value.partition(" of ")
    return BOTH if current == most else NEITHER


def _aspm(value: str) -> Suits:
    if "on:" in value:
        return SHIPPED
    return TUNED if "policy performance" in value else BOTH


_of_link: Final = partial(Advice, Group.LINK)

DRIVE_LINK: Final = (
    _of_link(
        "link",
        "PCIe link",
        "maximum of the drive",
        "maximum of the drive",
        "a slower link limits throughput",
        _link,
        ("SOL-GEN-10",),
        remedy="check the slot, or set the link speed in the firmware",
    ),
    _of_link(
        "aspm",
        "Link power states (ASPM)",
        "default",
        "off",
        "waking the link adds to the response time",
        _aspm,
        ("SOL-BIOS-04", "SOL-PWR-10"),
    ),
    _of_link(
        "apst",
        "Drive power states (APST)",
        "default",
        "off",
        "waking the drive adds to the response time",
        where_there_is_one(either(off=TUNED)),
        ("SOL-GEN-10",),
    ),
    _of_link(
        "power_state",
        "PCIe power state",
        "D0",
        "D0, kept awake",
        "a suspended drive must wake up first",
        # kernels before 5.11 do not report the state
        either(**{"D0, kept awake": BOTH, "kept awake": BOTH}),
        ("SOL-PWR-10",),
    ),
    _of_link(
        "sata_power",
        "SATA link power (LPM)",
        "default",
        "max_performance",
        "waking the link adds to the response time",
        where_there_is_one(either(max_performance=TUNED)),
        ("SOL-PWR-04", "SOL-PWR-10"),
    ),
    _of_link(
        "disk_suspend",
        "Disk runtime suspend",
        "kept awake",
        "kept awake",
        "a suspended disk must wake up first",
        where_there_is_one(either(NEITHER, **{"kept awake": BOTH})),
        ("SOL-PWR-04",),
    ),
    _of_link(
        "usb_suspend",
        "USB autosuspend",
        "default",
        "kept awake",
        "a suspended bridge must wake up first",
        where_there_is_one(either(**{"kept awake": BOTH})),
        ("SOL-PWR-09",),
    ),
    _of_link(
        "iommu",
        "IOMMU",
        "default",
        "off or pass-through",
        "address translation adds processor time to each I/O",
        starts_with("translates", right=SHIPPED, otherwise=BOTH),
        is_minor=True,
        remedy=COMMAND_LINE,
    ),
    _of_link(
        "aer",
        "PCIe errors (AER)",
        "none",
        "none",
        "the link repeats damaged transfers, which delays I/Os",
        lambda value: NEITHER if any(int(count) for count in re.findall(r"\d+", value)) else BOTH,
        is_state=True,
        remedy="check the slot and its connectors",
    ),
)
