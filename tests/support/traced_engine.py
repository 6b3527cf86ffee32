"""The native engine on a drive whose block layer is watched: what it claims beside what arrived."""

import os
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from openpts.engine.native import NativeEngine
from openpts.engine.options import IoPath, NativeOptions
from openpts.runner.resource_check import demand_of
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.sample import Sample, StepState
from openpts.vocabulary.stimulus import (
    ActiveRange,
    BlockSize,
    OperationWeights,
    Placement,
    Step,
    Stimulus,
    Uniform,
)
from tests.support.block_trace import BlockEvent, BlockTrace, Events, of_event

SECTOR: Final = 512
PAGE: Final = 4096
POLL_S: Final = 60
UNIFORM: Final = Uniform()
WHOLE: Final = ActiveRange()

# Seeds are fixed. Where a statistic decides, this probability is the limit: far beyond bad luck, and far
# from any real fault, which shows in tens of thousands of I/Os.
UNLIKELY: Final = 1e-5


@dataclass(frozen=True)
class TracedRun:
    """The engine's samples, and the events that the block layer recorded meanwhile."""

    samples: tuple[Sample, ...]
    events: Events

    @cached_property
    def queued(self) -> Events:
        """Every I/O as it arrived, flushes too."""
        return of_event(self.events, BlockEvent.QUEUE)

    @cached_property
    def completed(self) -> Events:
        return of_event(self.events, BlockEvent.COMPLETE)

    @property
    def starts(self) -> NDArray[np.int64]:
        """First byte of each I/O, in the order of arrival."""
        return np.asarray(self.queued["sector"] * SECTOR)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Bytes of each I/O, in the order of arrival."""
        return np.asarray(self.queued["sectors"] * SECTOR)

    @property
    def writes(self) -> NDArray[np.bool_]:
        """Whether each I/O writes."""
        return np.asarray(self.queued["rwbs"].astype("S1") == b"W")

    def by_step(self) -> list["TracedRun"]:
        """The run cut between its steps: no I/O of one arrives before all of the one before are answered."""
        counts = [_arrivals(sample) for sample in self.samples]
        assert sum(counts) == len(self.queued)
        beginnings_ns = np.append(self.queued["time_ns"], np.iinfo(np.int64).max)
        edges = [0, *beginnings_ns[np.cumsum(counts)]]
        at = self.events["time_ns"]
        return [
            TracedRun((sample,), self.events[(at >= start) & (at < end)])
            for sample, (start, end) in zip(self.samples, pairwise(edges), strict=True)
        ]

    def by_task(self) -> list["TracedRun"]:
        """The arrivals cut by the thread that issued them."""
        return [
            TracedRun(self.samples, self.queued[self.queued["task"] == task])
            for task in np.unique(self.queued["task"])
        ]


def random_reads(
    placement: Placement = UNIFORM,
    size: int = PAGE,
    tc: int = 1,
    qd: int = 16,
    active_range: ActiveRange = WHOLE,
    alignment: int | None = None,
) -> Stimulus:
    """Random reads of one size; by default of 4 KiB over the whole drive."""
    return Stimulus(
        random_pct=100,
        block_sizes=(BlockSize(size),),
        operations=OperationWeights(read=1),
        tc=tc,
        qd=qd,
        active_range=active_range,
        placement=placement,
        alignment_bytes=alignment,
    )


def run_traced(drive: Path, *steps: Step, seed: int = 1, max_events: int = 500_000) -> TracedRun:
    """Run the steps as one program. The engine must have counted as many I/Os as arrived."""
    descriptor = os.open(drive, os.O_RDWR | os.O_DIRECT)
    try:
        capacity = os.lseek(descriptor, 0, os.SEEK_END)
        facts = TargetFacts(TargetKind.BLOCK, drive.name, str(drive), capacity, SECTOR)
        # One thread for each of TC: an event's task is its thread, and order of arrival is order of issue.
        options = NativeOptions(io_path=IoPath.IO_URING)
        engine = NativeEngine(descriptor, facts, demand_of(steps), seed, options)
        try:
            with BlockTrace(drive, max_events) as trace:
                engine.submit(steps)
                samples = tuple(_next_sample(engine) for _ in steps)
        finally:
            engine.stop()
    finally:
        os.close(descriptor)
    assert [sample.state for sample in samples] == [StepState.COMPLETE] * len(steps)
    run = TracedRun(samples, trace.events)
    counted = sum(map(_arrivals, samples))
    assert counted == len(run.queued), "the drive saw another number of I/Os than the engine counted"
    return run


def _arrivals(sample: Sample) -> int:
    return sum(operation.ios for operation in sample.operations.values())


def _next_sample(engine: NativeEngine) -> Sample:
    sample = engine.poll(POLL_S)
    assert sample is not None, f"no sample within {POLL_S} s"
    return sample
