"""The steps of runs, once more on a simulated drive: what each would show there."""

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from openpts.engine.next_sample import next_sample
from openpts.engine.options import NativeOptions
from openpts.engine.simulated import SimulatedDrive
from openpts.runner.resource_check import demand_of
from openpts.simulation.presets import Preset
from openpts.units import KIB
from openpts.vocabulary.stimulus import Step
from openpts.vocabulary.stop import ByteAmount, DriveFills, Duration, FirstOf, IoCount
from openpts_twin.twin.evidence import Evidence, Figures, figures_of

# what only reads leaves the drive as it was: so many simulated I/Os of it are enough, or pages of large ones
_READS: Final = 12_000
_READ_BYTES: Final = 120_000 * 4 * KIB
_FEWEST_READS: Final = 5_000
# what the last step writes changes nothing that comes after it
_LAST: Final = 100_000
# not the seed of any run, whose own offsets are not a part of what a drive is
_SEED: Final = 271_828


def replayed(
    preset: Preset, evidence: Evidence, scale: int, seed: int = _SEED
) -> Iterator[tuple[Figures, Figures]]:
    """Of every step what was measured, and what it shows on the drive of a preset, of so many pages one.

    Raises UsageError for a preset that can't have that capacity, RunFailedError where a step fails.
    """
    for part in evidence.parts:
        drive = SimulatedDrive(
            preset, path=f"sim:{preset.name}", capacity_bytes=evidence.capacity_bytes, scale=scale, seed=seed
        )
        drive.set_write_cache(part.cached)
        *before, last = part.steps
        steps = [*(_shortened(step, scale) for step in before), _shortened(last, scale, last=True)]
        engine = drive.engine(demand_of(steps), seed, NativeOptions())
        engine.submit(steps)
        try:
            for measured in part.measured:
                sample = next_sample(engine, f"{part.test} on {preset.name}")
                yield measured, figures_of(sample, evidence.capacity_bytes)
        finally:
            engine.stop()


def _shortened(step: Step, scale: int, *, last: bool = False) -> Step:
    stimulus = step.stimulus
    # where data lie in different cells, a part of them is not read as fast as all
    changes = step.changes_target and not last
    if stimulus is None or changes or isinstance(step.stop, ByteAmount | DriveFills):
        return step
    if not (step.changes_target or stimulus.random_pct):
        return step
    ios = _LAST
    if not step.changes_target:
        ios = max(_FEWEST_READS, min(_READS, _READ_BYTES // stimulus.block_sizes[0].block_size_bytes))
    count = IoCount(ios * scale)
    return replace(step, stop=FirstOf((step.stop, count)) if isinstance(step.stop, Duration) else count)
