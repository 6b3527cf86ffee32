"""Steps of several unlike streams, measured on simulated drives, and run folders that hold them."""

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from openpts.engine.options import Demand, NativeOptions
from openpts.record.writer import RunWriter
from openpts.units import GB, KIB, MIB, NS_PER_MS, NS_PER_S
from openpts.vocabulary.facts import Fact
from openpts.vocabulary.sample import Phase, Sample, StepPlace
from openpts.vocabulary.stimulus import (
    STREAMS_END,
    BlockSize,
    Duration,
    FixedRate,
    IoCount,
    IoPriority,
    OperationWeights,
    Poisson,
    PriorityClass,
    Step,
    Stimulus,
    Stream,
    Zone,
    Zones,
)
from openpts.vocabulary.verdict import Deviation
from openpts_pts.tests.unit.test_run_folder import manifest
from openpts_sim.presets import load_preset
from openpts_sim.simulated_engine import SimulatedDrive, SimulatedEngine

READER = Stimulus(
    random_pct=100,
    block_sizes=(BlockSize(4 * KIB, 3), BlockSize(16 * KIB)),
    operations=OperationWeights(read=1),
    tc=2,
    qd=4,
    placement=Zones((Zone(1, 10), Zone(3, 90))),
)
WRITER = Stimulus(
    random_pct=0,
    block_sizes=(BlockSize(128 * KIB),),
    operations=OperationWeights(write=9, flush=1),
    tc=1,
    qd=2,
    pacing=FixedRate(900),
)
TRIMMER = Stimulus(
    random_pct=100,
    block_sizes=(BlockSize(MIB),),
    operations=OperationWeights(trim=1),
    tc=1,
    qd=1,
    pacing=Poisson(50),
)

BESIDE = Step(
    (
        Stream(READER, "reader"),
        Stream(WRITER, "writer", priority=IoPriority(PriorityClass.BEST_EFFORT, 7)),
        Stream(TRIMMER, "trimmer", stop=Duration(200 * NS_PER_MS)),
    ),
    Duration(400 * NS_PER_MS),
)
ENDING = Step(
    (
        Stream(READER, "reader", stop=IoCount(500), share=3),
        Stream(WRITER, "writer", delay_ns=50 * NS_PER_MS, stop=Duration(100 * NS_PER_MS), share=2),
    ),
    STREAMS_END,
)
DELAYED = Step((Stream(READER, "late", delay_ns=10 * NS_PER_MS),), Duration(60 * NS_PER_MS))
PLAIN = Step.of(READER, Duration(60 * NS_PER_MS))
SIMULATED = Deviation(
    "PTS-GEN-05", "2.1.5", "the device", "a simulated drive", "not a measurement of a drive"
)
STEPS = (BESIDE, ENDING, DELAYED, PLAIN)


def drive(scale: int = 1) -> SimulatedDrive:
    """A small one, new."""
    preset = load_preset("enterprise-tlc")
    return SimulatedDrive(preset, path="sim:enterprise-tlc", capacity_bytes=2 * GB, scale=scale, seed=1)


def engine(scale: int = 1, interval_ns: int = NS_PER_S // 10) -> SimulatedEngine:
    """Of a new drive."""
    return drive(scale).engine(Demand(4, 8, MIB), 7, NativeOptions(interval_ns=interval_ns))


def measured(
    steps: Sequence[Step] = STEPS, *, scale: int = 1, interval_ns: int = NS_PER_S // 10
) -> list[Sample]:
    """What an engine hands over."""
    running = engine(scale, interval_ns)
    try:
        running.submit(steps)
        return [sample for _ in steps if (sample := running.poll(60)) is not None]
    finally:
        running.stop()


def stored(folder: Path, samples: Sequence[Sample], *, scale: int = 1) -> Path:
    """A run folder of such a drive with these as a round."""
    facts = {"engine": Fact("simulated drive", "a test")}
    with_drive = replace(manifest(), target=drive(scale).facts, engine=facts, shortened=True)
    writer = RunWriter.create(folder, with_drive)
    for position, sample in enumerate(samples):
        writer.add_step(StepPlace(1, Phase.ROUND, 1, position), sample)
    writer.add_deviations((SIMULATED,))
    writer.close()
    return folder
