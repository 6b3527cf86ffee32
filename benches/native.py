"""Our side of a comparison: one stimulus on the native engine."""

import os
from pathlib import Path

from openpts.engine.native import NativeEngine
from openpts.engine.options import Demand, NativeOptions
from openpts.units import KIB
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.sample import Sample
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Duration, Step, Stimulus


def random_4_kib(
    path: Path,
    capacity_bytes: int,
    *,
    read_pct: int,
    qd: int,
    unmeasured_s: float,
    seconds: float,
    seed: int,
    direct: bool = True,
    options: NativeOptions | None = None,
) -> Sample:
    """The second of two steps of 4 KiB random I/O by one thread; the first one only warms everything up."""
    flags = os.O_RDONLY if read_pct == 100 else os.O_RDWR
    descriptor = os.open(path, flags | (os.O_DIRECT if direct else 0))
    facts = TargetFacts(TargetKind.FILE, str(path), str(path), capacity_bytes, 512)
    engine = NativeEngine(descriptor, facts, Demand(1, qd, 4 * KIB), seed, options)
    stimulus = Stimulus.of(AccessPattern.RANDOM, 4 * KIB, read_pct, 1, qd, ActiveRange())
    engine.submit(
        [Step.of(stimulus, Duration.seconds(unmeasured_s)), Step.of(stimulus, Duration.seconds(seconds))]
    )
    samples: list[Sample] = []
    while len(samples) < 2:
        sample = engine.poll(1)
        if sample is not None:
            samples.append(sample)
    engine.stop()
    os.close(descriptor)
    return samples[1]
