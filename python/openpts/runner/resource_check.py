"""What a plan needs of an engine, and whether the target has room for it: known before anything is purged."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from openpts.engine.options import CaptureOrder, Demand, NativeOptions
from openpts.errors import RecordError, TargetError
from openpts.planning.dry_run import PlannedApply
from openpts.record.writer import CAPTURE_FOLDER
from openpts.runner.target_fit import check_places
from openpts.units import NS_PER_S, format_block_size, format_capacity
from openpts.vocabulary.facts import TargetFacts
from openpts.vocabulary.stimulus import Step, Stimulus

_FEWEST_INTERVALS = 4


def stimuli_of(steps: Sequence[Step]) -> list[Stimulus]:
    """The stimuli of the steps, without idle gaps."""
    return [step.stimulus for step in steps if step.stimulus is not None]


def demand_of(steps: Sequence[Step]) -> Demand:
    """The largest thread count, queue depth and transfer of all steps."""
    stimuli = stimuli_of(steps)
    return Demand(
        tc=max(stimulus.tc for stimulus in stimuli),
        qd=max(stimulus.qd for stimulus in stimuli),
        block_size_bytes=max(stimulus.block_size_bytes for stimulus in stimuli),
    )


def interval_ns(minute_ns: int) -> int:
    """Length of an interval of results: a second or less, so that a record of a minute is whole intervals.

    However short a minute is, it has four of them.
    """
    return minute_ns // max(_FEWEST_INTERVALS, -(-minute_ns // NS_PER_S))


def captured(
    options: NativeOptions, steps: Sequence[Step], folder: Path, target: TargetFacts
) -> NativeOptions:
    """The options with a capture in the run folder, which is made, if any step is to be captured.

    Raises RecordError if it can't be made.
    """
    granules = [
        stimulus.granule_bytes(target.user_capacity_bytes, target.sector_bytes)
        for stimulus in stimuli_of([step for step in steps if step.capture])
    ]
    if not granules:
        return options
    files = folder / CAPTURE_FOLDER
    try:
        files.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecordError(f"can't create the folder {files}: {error.strerror}") from error
    return replace(options, capture=CaptureOrder(files, math.gcd(*granules)))


def check_plan(plan: Sequence[PlannedApply], target: TargetFacts) -> None:
    """There is room for all that is accessed, and no two outstanding I/Os have to overlap.

    Raises TargetError, and UsageError for what no target has.
    """
    stimuli = dict.fromkeys(stimuli_of([step for planned in plan for step in planned.apply.steps]))
    largest_bytes = max((stimulus.block_size_bytes for stimulus in stimuli), default=0)
    for stimulus in stimuli:
        check_places(stimulus, target, largest_bytes)
        start, end = stimulus.active_range.bytes_of(target.user_capacity_bytes, target.sector_bytes)
        range_bytes = (end - start) // target.scale
        outstanding_bytes = stimulus.toio * stimulus.block_size_bytes
        if range_bytes < outstanding_bytes:
            raise TargetError(
                f"{target.name} is too small for the queue of {stimulus}: its active range holds "
                f"{format_capacity(range_bytes)}{_simulated(target)}, TC {stimulus.tc} x QD {stimulus.qd} x "
                f"{format_block_size(stimulus.block_size_bytes)} outstanding need "
                f"{format_capacity(outstanding_bytes)}; use a larger target or a smaller demand"
            )


def _simulated(target: TargetFacts) -> str:
    return "" if target.simulation is None else f" at scale 1:{target.scale}"
