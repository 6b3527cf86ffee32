"""The native engine on an open target; and into memory, to see what it writes there."""

import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Final

from msgspec.structs import replace

from openpts.device.nearby_cpus import cpus_near
from openpts.device.nvme_admin import open_nvme_generic
from openpts.device.targets.open_target import OpenTarget
from openpts.engine.native import NativeEngine
from openpts.engine.options import Demand, IoPath, NativeOptions
from openpts.system_files import SystemRoots
from openpts.units import KIB, MIB
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.stimulus import (
    AccessPattern,
    ActiveRange,
    ByteAmount,
    DataCheck,
    ReducibleData,
    Step,
    Stimulus,
)


def pinned_near(target: OpenTarget, options: NativeOptions, first_thread: int = 0) -> NativeOptions:
    """The options with the threads pinned to the processors of the target's NUMA node.

    Only to those that this process may run on. ``first_thread`` counts the threads that others have
    there already: theirs come first.
    """
    cpus = tuple(cpu for cpu in cpus_near(target, SystemRoots()) if cpu in os.sched_getaffinity(0))
    start = first_thread % len(cpus) if cpus else 0
    return replace(options, cpus=cpus[start:] + cpus[:start])


@contextmanager
def native_engine(
    target: OpenTarget, demand: Demand, seed: int, options: NativeOptions
) -> Iterator[NativeEngine]:
    """The native engine on the way to the target that the options name; stopped at the end.

    Raises TargetError where the target has no such way, EngineUnavailableError where the kernel has none.
    """
    passthrough = options.io_path is IoPath.NVME_PASSTHROUGH
    with open_nvme_generic(target) if passthrough else nullcontext(target.fd) as descriptor:
        engine = NativeEngine(descriptor, target.facts, demand, seed, options)
        try:
            yield engine
        finally:
            engine.stop()


SAMPLED_BYTES: Final = 4 * MIB
_BLOCK_BYTES: Final = 128 * KIB
_SECTOR_BYTES: Final = 512
_DEMAND: Final = Demand(1, 1, _BLOCK_BYTES)
_TIMEOUT_S: Final = 60
_HOW: Final = f"native engine into memory; zlib {zlib.ZLIB_RUNTIME_VERSION}, each piece by itself"


def data_checks(steps: Iterable[Step], target: TargetFacts, seed: int) -> tuple[DataCheck, ...]:
    """A check of each reducible pattern of these steps, in the order in which they come."""
    patterns = dict.fromkeys(
        stimulus.data
        for step in steps
        for stimulus in step.stimuli
        if isinstance(stimulus.data, ReducibleData)
    )
    if target.simulation is not None:
        how = "given to the model: no bytes are made"
        return tuple(DataCheck(data, data.entropy_pct, 100 - data.duplicate_pct, 0, how) for data in patterns)
    return tuple(checked(data, sample_of(data, seed)) for data in patterns)


def checked(data: ReducibleData, sample: bytes) -> DataCheck:
    """What compression and deduplication leave of a sample, granule by granule, as drives reduce data."""
    granules = [sample[at : at + data.granule_bytes] for at in range(0, len(sample), data.granule_bytes)]
    left_bytes = sum(len(zlib.compress(granule)) for granule in granules)
    return DataCheck(
        data,
        compressed_pct=100 * left_bytes / len(sample),
        distinct_pct=100 * len(set(granules)) / len(granules),
        sampled_bytes=len(sample),
        how=_HOW,
    )


def sample_of(data: ReducibleData, seed: int) -> bytes:
    """What the native engine writes with this pattern and seed: to memory, in sequence."""
    stimulus = Stimulus.of(AccessPattern.SEQUENTIAL, _BLOCK_BYTES, 0, 1, 1, ActiveRange())
    step = Step.of(replace(stimulus, data=data), ByteAmount(SAMPLED_BYTES))
    with _memory(SAMPLED_BYTES) as descriptor:
        facts = TargetFacts(TargetKind.FILE, "memory", "memory", SAMPLED_BYTES, _SECTOR_BYTES)
        engine = NativeEngine(descriptor, facts, _DEMAND, seed, NativeOptions(io_path=IoPath.SYNC))
        try:
            engine.submit((step,))
            engine.poll(_TIMEOUT_S)
        finally:
            engine.stop()
        return os.pread(descriptor, SAMPLED_BYTES, 0)


@contextmanager
def _memory(size_bytes: int) -> Iterator[int]:
    """Descriptor of a file of zeros in memory (memfd)."""
    descriptor = os.memfd_create("openpts-data-check")
    try:
        os.truncate(descriptor, size_bytes)
        yield descriptor
    finally:
        os.close(descriptor)
