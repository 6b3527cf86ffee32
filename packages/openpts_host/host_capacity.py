"""Whether this host can drive so many drives at once: what their links, processors and memory would need."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final, Self

from msgspec import Struct

from openpts.device.block_device import BlockDevice
from openpts.device.guard.claims import find_open_nodes
from openpts.device.nearby_cpus import processors_by_node
from openpts.engine.native import memory_rates
from openpts.errors import RecordError
from openpts.ownership import CLAIM_NAME, HOST_FOLDER, RunOwner, host_is_used, host_used, is_locked
from openpts.record.batch import read_batch
from openpts.system_files import SystemRoots
from openpts.units import GB, KIB, MIB, NS_PER_S
from openpts.vocabulary.bandwidth import MemoryBandwidth
from openpts_drives.link import HostLink, HostPath, host_paths
from openpts_host.container import cpu_quota
from openpts_host.gauges import memory_traffic
from openpts_host.memory import available_memory_bytes, last_level_cache_bytes, memory_by_modules

_SMALL_IO_BYTES: Final = 4 * KIB
# What an I/O costs the engine is known here; the kernel's part of it is at least as much again.
_ENOUGH_SHARE: Final = 0.5


class DrivenDrive(Struct, frozen=True):
    """A drive that is to be measured: ``label`` is its slot or its name, ``bytes_per_s`` and ``ios_per_s``
    what it can do at most, by its data sheet or as its own link carries it; None where neither is known.
    """

    label: str
    path: HostPath
    bytes_per_s: float | None
    ios_per_s: float | None

    @classmethod
    def of_device(cls, device: BlockDevice, roots: SystemRoots, label: str | None = None) -> Self:
        """By the fastest link that it can have; where it does not report it, by the one that it has."""
        (path,) = host_paths((device,), roots)
        own = next((link.payload_bytes_per_s for link in path.links if not link.is_shared), None)
        most = path.drive_bytes_per_s or own
        return cls(label or device.name, path, most, None if most is None else most / _SMALL_IO_BYTES)


def expected_limits(
    drives: Sequence[DrivenDrive],
    cpus: int,
    cpu_ns_per_io: float | None,
    roots: SystemRoots,
    memory: MemoryBandwidth | None = None,
) -> tuple[str, ...]:
    """A sentence for each part of this host that would be the limit of these drives, all at once.

    ``cpus`` are those that the engines may use, ``cpu_ns_per_io`` is what one I/O takes of them, in the
    engine alone, as it was measured on this host; None where it was not. ``memory`` None: by its modules.
    """
    limits = [
        *_links(drives),
        *_processors(drives, min(float(cpus), cpu_quota(roots) or cpus), cpu_ns_per_io),
    ]
    return (*limits, *_memory(drives, memory or memory_by_modules(roots)))


def _links(drives: Sequence[DrivenDrive]) -> Iterator[str]:
    for link in dict.fromkeys(link for drive in drives for link in drive.path.of_host):
        behind = [drive for drive in drives if link in drive.path.links]
        needed = _sum(behind, lambda drive: drive.bytes_per_s)
        if needed is None or needed <= link.payload_bytes_per_s:
            continue
        rate = f"{link.name} ({_gb(link.payload_bytes_per_s)})"
        if len(behind) == 1:
            yield f"{_labels(behind)}: the drive could move {_gb(needed)}, its way is {rate}"
        else:
            need = f"{_of_each(behind)} need {_gb(needed)}"
            yield f"{_labels(behind)} share {rate}: {need}{_others(link, behind)}"


def _others(link: HostLink, behind: Sequence[DrivenDrive]) -> str:
    """Names drives on the same link that are not under test; empty if there are none."""
    others = sorted(set(link.disks) - {drive.path.disk for drive in behind})
    return f", and {', '.join(others)} use it as well" if others else ""


def _processors(drives: Sequence[DrivenDrive], cpus: float, cpu_ns_per_io: float | None) -> Iterator[str]:
    ios_per_s = _sum(drives, lambda drive: drive.ios_per_s)
    if ios_per_s is None or cpu_ns_per_io is None:
        return
    needed = ios_per_s * cpu_ns_per_io / NS_PER_S
    if needed > _ENOUGH_SHARE * cpus:
        yield (
            f"{_count(drives)} with up to {ios_per_s:,.0f} 4-KiB I/Os/s in all need {needed:.1f} processors "
            f"for the engine alone ({cpu_ns_per_io:,.0f} ns per I/O, measured on this host); the kernel "
            f"needs at least as much: {cpus:g} may be used"
        )


def _memory(drives: Sequence[DrivenDrive], memory: MemoryBandwidth) -> Iterator[str]:
    needed = _sum(drives, lambda drive: drive.bytes_per_s)
    if needed is None or memory.bytes_per_s is None:
        return
    if needed > _ENOUGH_SHARE * memory.bytes_per_s:
        how = "as measured now" if memory.measured else "at most"
        yield (
            f"{_of_each(drives)} would move {_gb(needed)} through a memory that moves "
            f"{_gb(memory.bytes_per_s)} {how}, and data to be written goes through it twice"
        )


def _sum(drives: Sequence[DrivenDrive], of: Callable[[DrivenDrive], float | None]) -> float | None:
    """Sum over the drives with a known value; None without any."""
    known = [value for drive in drives if (value := of(drive)) is not None]
    return sum(known) if known else None


def _of_each(drives: Sequence[DrivenDrive]) -> str:
    """Drives with their common rate: ``8 drives of 3.49 GB/s each``; only the count where rates differ."""
    rates = {drive.bytes_per_s for drive in drives}
    (rate,) = rates if len(rates) == 1 else (None,)
    return f"{_count(drives)} of {_gb(rate)} each" if rate is not None and len(drives) > 1 else _count(drives)


def _count(drives: Sequence[DrivenDrive]) -> str:
    return f"{len(drives):,} drives" if len(drives) > 1 else _labels(drives)


def _labels(drives: Sequence[DrivenDrive]) -> str:
    """``slots 4 to 11`` where they are numbers in a row, ``slots 4, 6 and 9``, or all names."""
    labels = [drive.label for drive in drives]
    numbers = sorted(int(label) for label in labels if label.isdecimal())
    if len(numbers) > 2 and numbers == list(range(numbers[0], numbers[0] + len(labels))):
        return f"slots {numbers[0]} to {numbers[-1]}"
    whose = "" if len(numbers) < len(labels) else "slot " if len(labels) == 1 else "slots "
    *others, last = labels
    return whose + (f"{', '.join(others)} and {last}" if others else last)


def _gb(bytes_per_s: float) -> str:
    return f"{bytes_per_s / GB:.3g} GB/s"


_DURATION_MS: Final = 100
_LEAST_BUFFER_BYTES: Final = 16 * MIB
# Where few processors see a very large cache, they are the limit; new memory of that size takes seconds.
_MOST_BUFFER_BYTES: Final = 64 * MIB
_MOST_SHARE_OF_MEMORY: Final = 0.25
_LEAST_SHARE_OF_TIME: Final = 0.9


def measured_memory(roots: SystemRoots, folder: Path = HOST_FOLDER) -> MemoryBandwidth:
    """What copies on all processors of this process move, at once; by modules where runs are on this host.

    Takes some 0.2 s. ``folder`` has the lock of the host.
    """
    if (other := _other_run(roots, folder)) is not None:
        return memory_by_modules(roots, other)
    cpus = sorted(os.sched_getaffinity(0))
    share_bytes = last_level_cache_bytes(cpus, roots) // len(cpus)
    buffer_bytes = min(max(_LEAST_BUFFER_BYTES, share_bytes), _MOST_BUFFER_BYTES)
    available_bytes = available_memory_bytes(roots) or 0
    if 2 * buffer_bytes * len(cpus) > _MOST_SHARE_OF_MEMORY * available_bytes:
        return memory_by_modules(roots, f"only {available_bytes / GB:,.1f} GB of memory are free")
    try:
        rates, share = memory_rates(cpus, buffer_bytes, _DURATION_MS)
    except OSError as error:
        return memory_by_modules(roots, error.strerror or str(error))
    if share < _LEAST_SHARE_OF_TIME:
        return memory_by_modules(
            roots, f"other programs had the processors {100 * (1 - share):.0f} % of the time"
        )
    nodes = {
        node: sum(rates[cpu] for cpu in of_node)
        for node, of_node in processors_by_node(set(cpus), roots).items()
    }
    source = f"read and written by copies on {len(cpus)} processors at once, {_DURATION_MS} ms"
    if len(nodes) > 1:
        each = (f"node {node} {rate / GB:,.1f} GB/s" for node, rate in sorted(nodes.items()))
        source += f": {', '.join(each)}"
    return MemoryBandwidth(sum(rates.values()), measured=True, source=source)


def memory_for_batch(batch_id: str, roots: SystemRoots, folder: Path = HOST_FOLDER) -> MemoryBandwidth:
    """As ``measured_memory``, where no run of the batch is on this host yet: two batches see each other."""
    owner = RunOwner.this_process(batch_id, "memory", (), roots)
    with ExitStack() as held:
        with suppress(OSError):  # of another who has the host alone, or we may not write there
            held.enter_context(host_used(folder, owner, alone=False))
        return measured_memory(roots, folder)


def _other_run(roots: SystemRoots, folder: Path) -> str | None:
    """Another run on this host, as a clause; runs of containers and of other users have the host's lock."""
    other = "another run is on this host"
    if host_is_used(folder):
        return other
    claims = find_open_nodes(roots, frozenset()).claims
    return next((f"{other}: a target {claim.text}" for claim in claims if claim.owned is not None), None)


def memory_of_run(run_folder: Path, drives: Sequence[DrivenDrive], roots: SystemRoots) -> MemoryBandwidth:
    """What the batch of a run has measured; of others measured now, where something is held against it."""
    batch_folder = run_folder.parent
    try:
        of_batch = read_batch(batch_folder).memory if is_locked(batch_folder / CLAIM_NAME) else None
    except (OSError, RecordError):
        of_batch = None
    if of_batch is not None:
        return of_batch
    if memory_traffic(roots) or any(drive.bytes_per_s is not None for drive in drives):
        return measured_memory(roots)
    return memory_by_modules(roots, "nothing is held against it here")
