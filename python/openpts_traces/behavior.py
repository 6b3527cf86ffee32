"""Whether drives behave under a synthetic workload as under a trace: both are replayed in simulation."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.latency import LatencyDistribution, ios_needed
from openpts.device.targets.simulated_target import SimulatedTarget
from openpts.engine.next_sample import next_sample
from openpts.engine.options import Demand, NativeOptions
from openpts.engine.simulated import SimulatedDrive
from openpts.errors import RunFailedError
from openpts.runner.simulated_device import SimulatedDevice
from openpts.units import KIB, MB, NS_PER_S, NS_PER_US
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.replay import ReplayMode
from openpts.vocabulary.requests import Apply
from openpts.vocabulary.sample import Sample
from openpts.vocabulary.stimulus import Step
from openpts_traces.replay.script import script, standard_conditions, supported_on
from openpts_traces.trace_replay.conditions import Mapping, TraceFile

MEAN_LIMIT_PCT: Final = 10.0
"""Of rates, mean response times and write amplification."""
P99_LIMIT_PCT: Final = 25.0
_PERCENTILES: Final = (50.0, 99.0, 99.9)
_LIMITED_PERCENTILE: Final = 99.0
_GRANULE_BYTES: Final = 4 * KIB


class Behavior(Struct, frozen=True):
    """A figure of a drive under the trace and under the synthetic workload.

    ``limit_pct`` is how far they may be apart, None for one without a limit.
    """

    figure: str
    unit: str
    trace: float
    synthetic: float
    limit_pct: float | None

    @property
    def difference_pct(self) -> float | None:
        """How far the synthetic one is above that of the trace; None if that is 0 alone."""
        if self.trace:
            return 100 * (self.synthetic / self.trace - 1)
        return None if self.synthetic else 0.0

    @property
    def holds(self) -> bool | None:
        """Whether it is within the limit; None without one."""
        if self.limit_pct is None:
            return None
        return self.difference_pct is not None and abs(self.difference_pct) <= self.limit_pct


def behaviors(
    trace: Path, synthetic: Path, target: SimulatedTarget, closed_depth: int | None = None
) -> tuple[Behavior, ...]:
    """What such a drive does under both: at their times, or at this depth as fast as it can.

    Each is replayed on a drive of its own, what it touches being written before. Raises UsageError for a
    trace or a drive that can't be used, RunFailedError if the drive fails on the way.
    """
    figures = [dict(_figures(path, target, closed_depth)) for path in (trace, synthetic)]
    return tuple(
        Behavior(name, unit, value, figures[1][name, unit, limit_pct], limit_pct)
        for (name, unit, limit_pct), value in figures[0].items()
        if (name, unit, limit_pct) in figures[1]
    )


def _figures(
    path: Path, target: SimulatedTarget, closed_depth: int | None
) -> Iterator[tuple[tuple[str, str, float | None], float]]:
    sample, amplification = _replayed(path, target, closed_depth)
    played = sample.played[0]
    seconds = (played.last_answer_ns - (played.first_submission_ns or 0)) / NS_PER_S
    if seconds > 0:
        yield ("rate", "IOPS", MEAN_LIMIT_PCT), played.issued / seconds
        yield ("bandwidth", "MB/s", MEAN_LIMIT_PCT), (sample.read.bytes + sample.write.bytes) / MB / seconds
    for name, latencies in _latencies(sample):
        if bounds := latencies.bounds():
            yield (f"{name}, mean", "us", MEAN_LIMIT_PCT), bounds[4] / latencies.count / NS_PER_US
        for percentile in _PERCENTILES:
            value_ns = latencies.percentile_ns(percentile)
            if value_ns is not None and latencies.count >= ios_needed(percentile):
                limit_pct = P99_LIMIT_PCT if percentile == _LIMITED_PERCENTILE else None
                yield (f"{name}, p{percentile:g}", "us", limit_pct), value_ns / NS_PER_US
    if amplification is not None:
        yield ("write amplification", "", MEAN_LIMIT_PCT), amplification


def _replayed(path: Path, target: SimulatedTarget, closed_depth: int | None) -> tuple[Sample, float | None]:
    """The pass on a new drive, and pages programmed in it over those of the host; None without any."""
    drive = SimulatedDevice.of(target).drive
    conditions = replace(
        standard_conditions(DriveClass.ENTERPRISE, seed=drive.simulation.seed),
        trace=TraceFile(path.name, str(path)),
        passes=1,
        mapping=Mapping.COMPACT,
        granule_bytes=_GRANULE_BYTES,
        mode=ReplayMode.TIMED if closed_depth is None else ReplayMode.AFAP,
        depth=closed_depth,
    )
    facts = drive.facts
    for request in script(supported_on(conditions, facts.sector_bytes), facts.user_capacity_bytes):
        if isinstance(request, Apply):
            before = drive.nand_pages()
            sample = _sample(drive, request.steps)
            if request.phase is Phase.LOAD:
                host, all_ = (now - then for now, then in zip(drive.nand_pages(), before, strict=True))
                return sample, all_ / host if host else None
    raise RunFailedError(f"can't replay {path.name} on {facts.name}: it has no I/O")


def _latencies(sample: Sample) -> Iterator[tuple[str, LatencyDistribution]]:
    """From the due moment; from submission where there is none."""
    due = sample.played[0].due_latencies
    for name, operation in (("read", sample.read), ("write", sample.write)):
        encoded = due.get(name) or operation.histogram
        yield f"{name}s", LatencyDistribution.merged([encoded] if encoded else [])


def _sample(drive: SimulatedDrive, steps: tuple[Step, ...]) -> Sample:
    """Sample of the last step. Raises RunFailedError."""
    stimuli = [stimulus for step in steps for stimulus in step.stimuli]
    demand = Demand(
        max(stimulus.tc for stimulus in stimuli),
        max(stimulus.qd for stimulus in stimuli),
        max(size.block_size_bytes for stimulus in stimuli for size in stimulus.block_sizes),
    )
    engine = drive.engine(demand, drive.simulation.seed, NativeOptions())
    try:
        engine.submit(steps)
        for _ in steps:
            sample = next_sample(engine, f"the replay on {drive.facts.name} failed")
    finally:
        engine.stop()
    return sample
