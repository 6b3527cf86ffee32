"""Slow I/Os of the native engine while something is done to it."""

import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from openpts.engine.native import NativeEngine
from openpts.engine.options import Demand, IoPath, NativeOptions
from openpts.units import NS_PER_MS, NS_PER_S
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.sample import SlowIo
from openpts.vocabulary.stimulus import BlockSize, Duration, OperationWeights, Step, Stimulus
from openpts_nvme.outliers.causes import Cause
from openpts_nvme.outliers.rules import Around, Witnessed, cause_of

_READS = Stimulus(
    random_pct=100,
    block_sizes=(BlockSize(4096, 1),),
    operations=OperationWeights(read=1, write=0),
    tc=1,
    qd=1,
)


def noted_ios(
    path: Path, plant: Callable[[], None], *, seconds: float, limit_ms: float, cpu: int
) -> tuple[SlowIo, ...]:
    """Those of reads of one at a time, on this processor, that took so long while ``plant`` was called."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECT)
    facts = TargetFacts(TargetKind.FILE, path.name, str(path), 64 << 20, 512)
    options = NativeOptions(io_path=IoPath.IO_URING, cpus=(cpu,), slow_io_ns=round(limit_ms * NS_PER_MS))
    engine = NativeEngine(descriptor, facts, Demand(1, 1, 4096), 7, options)
    try:
        engine.submit((Step.of(_READS, Duration(round(seconds * NS_PER_S))),))
        time.sleep(0.5)
        plant()
        while (sample := engine.poll(1)) is None:
            pass
        return sample.slow_ios
    finally:
        engine.stop()
        os.close(descriptor)


def causes_of(noted: Sequence[SlowIo], *, continued: bool = False) -> Counter[Cause]:
    """How many have each cause, on a link without errors; ``continued``: after stops of the process."""
    around = Around(link_errors=0.0, continued=continued)
    return Counter(cause_of(Witnessed(slow, around))[0] for slow in noted)
