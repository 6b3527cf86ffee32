"""Looks at the data that a run will write: a sample of each reducible pattern, from the engine itself.

A pattern's name says what was asked for; generators and their versions differ in what they make of it.
Implements: LSI-ENT-02, LSI-GEN-03.
"""

import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from msgspec.structs import replace

from openpts.engine.native import NativeEngine
from openpts.engine.options import Demand, IoPath, NativeOptions
from openpts.units import KIB, MIB
from openpts.vocabulary.data import DataCheck, ReducibleData
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Step, Stimulus
from openpts.vocabulary.stop import ByteAmount

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
        return tuple(_told(data) for data in patterns)
    return tuple(checked(data, sample_of(data, seed)) for data in patterns)


def _told(data: ReducibleData) -> DataCheck:
    return DataCheck(
        data, data.entropy_pct, 100 - data.duplicate_pct, 0, "given to the model: no bytes are made"
    )


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
