"""Steps of several unlike streams, measured on simulated drives, and run folders that hold them."""

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from openpts.engine.options import Demand, NativeOptions
from openpts.record.writer import RunWriter
from openpts.units import GB, MIB, NS_PER_S
from openpts.vocabulary.facts import Fact
from openpts.vocabulary.sample import Phase, Sample, StepPlace
from openpts.vocabulary.stimulus import Step
from openpts.vocabulary.verdict import Deviation
from openpts_sim.presets import load_preset
from openpts_sim.simulated_engine import SimulatedDrive, SimulatedEngine
from tests.support.record_parts import manifest
from tests.support.streams import STEPS

SIMULATED = Deviation(
    "PTS-GEN-05", "2.1.5", "the device", "a simulated drive", "not a measurement of a drive"
)


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
