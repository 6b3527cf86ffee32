"""What the memory of this host moves: measured before the first I/O where no run is disturbed by it."""

import os
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

from openpts.device.guard.open_nodes import find_open_nodes
from openpts.device.link.nearby_cpus import processors_by_node
from openpts.engine.native import memory_rates
from openpts.errors import RecordError
from openpts.ownership import CLAIM_NAME, HOST_FOLDER, RunOwner, host_is_used, host_used, is_locked
from openpts.record.batch import read_batch
from openpts.system_files import SystemRoots
from openpts.units import GB, MIB
from openpts.vocabulary.memory_bandwidth import MemoryBandwidth
from openpts_host.host_capacity import DrivenDrive
from openpts_host.memory import available_memory_bytes, last_level_cache_bytes, memory_by_modules
from openpts_host.saturation_gauges import memory_traffic

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
