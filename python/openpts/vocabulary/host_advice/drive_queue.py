"""What is advised for a drive's queue in the kernel, and for the processors that serve it."""

import re
from typing import Final

from openpts.vocabulary.host_advice.advice import (
    BOTH,
    NEITHER,
    SHIPPED,
    TUNED,
    Advice,
    Group,
    Suits,
    either,
    first_number,
    where_there_is_one,
)

NUMA_NODE: Final = "numa_node"
THREADS: Final = "; threads: "
"""Between the node of the drive and the processors of the engine's threads."""
LARGEST_BLOCK_KIB: Final = 1024
"""What the specification's tests issue at most in one I/O."""

_PROCESSORS: Final = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")
_SIZES: Final = re.compile(r"(\d+) KiB of (\d+) KiB")
_DEPTHS: Final = re.compile(r"(\d+) of (\d+)")


def _max_sectors(value: str) -> Suits | None:
    """A limit of the hardware itself is only told: it belongs to the drive."""
    used_kib, found = first_number(value), _SIZES.fullmatch(value)
    if used_kib is None or (found is not None and int(found[1]) >= int(found[2]) < LARGEST_BLOCK_KIB):
        return None
    return BOTH if used_kib >= LARGEST_BLOCK_KIB else NEITHER


def _nr_requests(value: str) -> Suits | None:
    found = _DEPTHS.fullmatch(value)
    return None if found is None else BOTH if int(found[1]) >= int(found[2]) else SHIPPED


def _numa_node(value: str) -> Suits | None:
    """Right where the threads ran on the drive's own node, and where there is only one."""
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
    """The processors of a list such as ``0-3,8``; none where it is no list."""
    processors: set[int] = set()
    for part in text.split(","):
        if (match := _PROCESSORS.fullmatch(part.strip())) is None:
            return set()
        processors |= set(range(int(match[1]), int(match[2] or match[1]) + 1))
    return processors


DRIVE_QUEUE: Final = (
    Advice(
        "storage_driver",
        Group.QUEUE,
        "Storage driver",
        "told",
        "told",
        "figures of one driver do not stand for another",
        requirements=("SOL-SYS-05",),
    ),
    Advice(
        NUMA_NODE,
        Group.QUEUE,
        "NUMA node of the drive",
        "default",
        "threads on the same node",
        "from another node I/O crosses sockets",
        _numa_node,
        ("SOL-GEN-10",),
    ),
    Advice(
        "interrupts",
        Group.QUEUE,
        "Interrupts of the drive",
        "told",
        "one for each processor",
        "shared queues wait for each other",
    ),
    Advice(
        "scheduler",
        Group.QUEUE,
        "I/O scheduler",
        "default",
        "none",
        "it sorts what the test has ordered",
        either(none=BOTH),
        ("SOL-GEN-10",),
    ),
    Advice(
        "nr_requests",
        Group.QUEUE,
        "Requests in the queue (nr_requests)",
        "default",
        "as many as the drive takes",
        "with fewer the kernel lets I/Os wait that the drive could have",
        _nr_requests,
        ("SOL-GEN-10",),
        is_minor=True,
    ),
    Advice(
        "nomerges",
        Group.QUEUE,
        "Merging (nomerges)",
        "0",
        "2",
        "merged requests have another block size",
        either(**{"2": TUNED}),
        ("SOL-GEN-10",),
        is_minor=True,
    ),
    Advice(
        "max_sectors_kb",
        Group.QUEUE,
        "Largest request (max_sectors_kb)",
        "1024 or more",
        "1024 or more",
        "the kernel cuts larger I/Os into several",
        _max_sectors,
    ),
    Advice(
        "wbt_lat_usec",
        Group.QUEUE,
        "Write-back throttling (wbt_lat_usec)",
        "default",
        "0",
        "it slows buffered writes, not direct ones",
        either(**{"0": BOTH}),
        is_minor=True,
    ),
    Advice(
        "rq_affinity",
        Group.QUEUE,
        "Completion (rq_affinity)",
        "1",
        "2",
        "2: I/O ends on the processor it began on",
        either(**{"2": TUNED, "0": NEITHER}),
        is_minor=True,
    ),
    Advice(
        "iostats",
        Group.QUEUE,
        "Counting in the kernel (iostats)",
        "1",
        "0",
        "it takes processor time from each I/O; without it nobody sees I/O of others",
        either(**{"0": TUNED}),
        is_minor=True,
    ),
    Advice(
        "add_random",
        Group.QUEUE,
        "Random numbers from I/O (add_random)",
        "0",
        "0",
        "it takes processor time from each I/O",
        either(**{"0": BOTH}),
        is_minor=True,
    ),
    Advice(
        "poll_queues",
        Group.QUEUE,
        "Poll queues",
        "0",
        "0, unless completions are polled",
        "they take queues from all others",
        where_there_is_one(either(**{"0": BOTH})),
        is_minor=True,
    ),
    Advice(
        "io_limit",
        Group.QUEUE,
        "I/O limit of a control group",
        "none",
        "none",
        "it holds I/O back that the drive could take",
        either(NEITHER, none=BOTH),
        ("SOL-GEN-10",),
    ),
)
