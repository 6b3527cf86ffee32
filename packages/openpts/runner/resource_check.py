"""What a plan needs of an engine, and whether target, storage and run folder have room for it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from openpts.device.block_device import BlockDevice
from openpts.device.targets.free_space import SpaceNeed, check_space
from openpts.device.targets.target import scheme_of
from openpts.engine.options import Demand
from openpts.errors import TargetError, UsageError, failing_as
from openpts.fields.conditions import Conditions
from openpts.planning.dry_run import (
    AssumedDrive,
    AssumedDrives,
    PlannedApply,
    capture_bytes,
    largest_program_bytes,
    record_bytes,
)
from openpts.planning.plan import planned_ways
from openpts.procedures.kit.procedure import Procedure
from openpts.runner.device_under_test import DeviceUnderTest
from openpts.system_files import SystemRoots
from openpts.units import NS_PER_S, format_block_size, format_capacity
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.stimulus import ReducibleData, Segments, Step, Stimulus, Zones

MOST_SEGMENTS: Final = 65_536
"""Each thread keeps a table of their starts."""

_PAGE_BYTES: Final = 4096


def check_places(stimulus: Stimulus, target: TargetFacts, buffer_bytes: int) -> None:
    """What an engine with buffers of that size would refuse of places and data, before anything is purged.

    Raises TargetError where the target is too small, UsageError where no target would do.
    """
    for size in stimulus.block_sizes:
        if size.block_size_bytes % target.sector_bytes:
            raise UsageError(
                f"{stimulus}: transfers of {format_block_size(size.block_size_bytes)} are not possible on "
                f"sectors of {target.sector_bytes:,} bytes"
            )
    if stimulus.atomic:
        check_atomic(stimulus, target, SystemRoots())
    start, end = stimulus.active_range.bytes_of(target.user_capacity_bytes, target.sector_bytes)
    match stimulus.placement:
        case Segments() as segments:
            _check_segments(stimulus, segments, (start, end), target)
        case Zones(zones):
            smallest_bytes = min(zone.range_pct for zone in zones) / 100 * (end - start) / target.scale
            if smallest_bytes < stimulus.block_size_bytes + _PAGE_BYTES:
                raise TargetError(
                    f"{target.name} is too small for the access ranges of {stimulus}: the smallest holds "
                    f"{format_capacity(int(smallest_bytes))}, and transfers of "
                    f"{format_block_size(stimulus.block_size_bytes)} go there; use a larger target"
                )
    if isinstance(stimulus.data, ReducibleData):
        granule_bytes = stimulus.data.granule_bytes
        if granule_bytes % target.sector_bytes:
            raise UsageError(
                f"{stimulus}: granules of {granule_bytes:,} bytes are not a multiple of the sector, "
                f"{target.sector_bytes:,} bytes"
            )
        if granule_bytes > buffer_bytes:
            raise UsageError(
                f"{stimulus}: granules of {format_block_size(granule_bytes)} are larger than any transfer, "
                f"{format_block_size(buffer_bytes)}"
            )


def _check_segments(
    stimulus: Stimulus, segments: Segments, active: tuple[int, int], target: TargetFacts
) -> None:
    size = format_block_size(segments.segment_bytes)
    largest_bytes = stimulus.block_size_bytes
    sector_bytes = target.sector_bytes
    alignment_bytes = _up(_PAGE_BYTES, sector_bytes) if largest_bytes >= _PAGE_BYTES else sector_bytes
    if segments.count > MOST_SEGMENTS:
        raise UsageError(f"{segments.count:,} LBA segments are too many, the limit is {MOST_SEGMENTS:,}")
    if segments.segment_bytes % alignment_bytes:
        raise UsageError(f"LBA segments of {size} are not a multiple of {format_block_size(alignment_bytes)}")
    if segments.segment_bytes < largest_bytes:
        needed = format_block_size(largest_bytes)
        raise UsageError(
            f"LBA segments of {size} are smaller than a transfer of {needed}: use larger segments"
        )
    start, end = active
    room_bytes = (end - _up(start, alignment_bytes)) // alignment_bytes * alignment_bytes
    if segments.count * segments.segment_bytes > room_bytes:
        raise TargetError(
            f"{target.name} is too small for {segments.count:,} LBA segments of {size}: they need "
            f"{format_capacity(segments.count * segments.segment_bytes)}, the active range holds "
            f"{format_capacity(max(0, room_bytes))}"
        )


def _up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple


def check_free_space(
    device: DeviceUnderTest, planned: Sequence[PlannedApply], folder: Path, interval_ns: int
) -> None:
    """Raises TargetError if the target's storage, or the disk of the run folder, would run full."""
    needs = device.space_needs(written_range_bytes(planned, device.facts))
    place = _existing(folder)
    stored_bytes = record_bytes(planned, interval_ns) + largest_program_bytes(planned, interval_ns)
    record = SpaceNeed(place, stored_bytes, f"the record in {folder} and its reserve")
    captured = capture_bytes(planned, AssumedDrive())
    capture = (SpaceNeed(place, captured, "the files of every single I/O"),) if captured else ()
    with failing_as(TargetError, "can't read the free space"):
        check_space((*needs, record, *capture))


def written_range_bytes(planned: Sequence[PlannedApply], target: TargetFacts) -> int:
    """From the first byte that any step may write to the last."""
    ranges = [
        stimulus.active_range.bytes_of(target.user_capacity_bytes, target.sector_bytes)
        for one in planned
        for stimulus in stimuli_of(one.apply.steps)
        if stimulus.operations.write
    ]
    return max(end for _, end in ranges) - min(start for start, _ in ranges) if ranges else 0


def _existing(folder: Path) -> Path:
    """The folder, or its nearest parent that exists."""
    path = folder.absolute()
    while not path.exists():
        path = path.parent
    return path


_FEWEST_INTERVALS = 4


def stimuli_of(steps: Sequence[Step]) -> list[Stimulus]:
    """The stimuli of the steps, without idle gaps."""
    return [stimulus for step in steps for stimulus in step.stimuli]


def demand_of(steps: Sequence[Step]) -> Demand:
    """The largest thread count, that of all streams together, queue depth and transfer of all steps.

    What is only trimmed takes no buffer.
    """
    stimuli = stimuli_of(steps)
    transfers = [stimulus for stimulus in stimuli if stimulus.operations.read or stimulus.operations.write]
    return Demand(
        tc=max((sum(stimulus.tc for stimulus in step.stimuli) for step in steps), default=1),
        qd=max((stimulus.qd for stimulus in stimuli), default=1),
        block_size_bytes=max(
            (stimulus.block_size_bytes for stimulus in transfers or stimuli), default=_PAGE_BYTES
        ),
    )


def interval_ns(minute_ns: int) -> int:
    """Length of an interval of results: a second or less, so that a record of a minute is whole intervals.

    However short a minute is, it has four of them.
    """
    return minute_ns // max(_FEWEST_INTERVALS, -(-minute_ns // NS_PER_S))


def assumed_drives(target: str) -> AssumedDrives:
    """How fast and how slow the target may be: as its scheme says, else as most drives are."""
    scheme = scheme_of(target)
    assumed: Callable[[str], AssumedDrives] | None = None if scheme is None else scheme.part("assumed")
    return AssumedDrives() if assumed is None else assumed(target)


def checked_ways(
    test: Procedure, conditions: Conditions, device: DeviceUnderTest
) -> tuple[tuple[PlannedApply, ...], ...]:
    """How a run of the test may go, the longest last, if the device can take it. Raises OpenptsError."""
    facts = device.facts
    ways = planned_ways(test, conditions, facts.user_capacity_bytes, assumed_drives(facts.path))
    check_plan(ways[-1], facts)
    check_handles(ways[-1], device)
    return ways


def check_plan(plan: Sequence[PlannedApply], target: TargetFacts) -> None:
    """There is room for all that is accessed, and no two outstanding I/Os have to overlap.

    Raises TargetError, and UsageError for what no target has, and for a trace on a scaled drive.
    """
    streams = [stream for planned in plan for step in planned.apply.steps for stream in step.streams]
    if target.scale > 1 and any(stream.replay is not None for stream in streams):
        raise UsageError(
            f"{target.path}: a trace is replayed on a simulated drive in its own size only: use "
            f"{_at_scale(target.path, 1)}, or compact the trace onto a smaller drive"
        )
    stimuli = dict.fromkeys(stimuli_of([step for planned in plan for step in planned.apply.steps]))
    largest_bytes = max((stimulus.block_size_bytes for stimulus in stimuli), default=0)
    for stimulus in stimuli:
        check_places(stimulus, target, largest_bytes)
        start, end = stimulus.active_range.bytes_of(target.user_capacity_bytes, target.sector_bytes)
        range_bytes = (end - start) // target.scale
        outstanding_bytes = stimulus.toio * stimulus.block_size_bytes
        if range_bytes < outstanding_bytes:
            fitting = (end - start) // outstanding_bytes
            at_scale = "" if target.simulation is None else f" at scale 1:{target.scale}"
            larger = _at_scale(target.path, fitting) if target.scale > fitting >= 1 else "a larger target"
            raise TargetError(
                f"{target.name} is too small for the queue of {stimulus}. Its active range holds "
                f"{format_capacity(range_bytes)}{at_scale}, TC {stimulus.tc} x QD {stimulus.qd} x "
                f"{format_block_size(stimulus.block_size_bytes)} outstanding need "
                f"{format_capacity(outstanding_bytes)}; use {larger} or a smaller demand"
            )


def check_atomic(stimulus: Stimulus, target: TargetFacts, roots: SystemRoots) -> None:
    """Raises TargetError for atomic writes that kernel and drive don't take as one."""
    if target.kind is not TargetKind.BLOCK or target.simulation is not None:
        raise TargetError(f"{target.name} takes no atomic writes: they need a block device")
    device = BlockDevice.of_node(Path(target.path), roots).whole
    least, most = (device.integer(f"queue/atomic_write_unit_{end}_bytes") for end in ("min", "max"))
    if not least or not most:
        raise TargetError(
            f"{target.name} takes no atomic writes ({device.place('queue/atomic_write_unit_max_bytes')} is "
            "0 or missing): they need a drive with them, and Linux 6.11 or later"
        )
    sizes = [size.block_size_bytes for size in stimulus.block_sizes]
    if any(size.bit_count() > 1 or not least <= size <= most for size in sizes):
        raise TargetError(
            f"{target.name} takes atomic writes of powers of two from {format_block_size(least)} to "
            f"{format_block_size(most)}, and not {stimulus}"
        )
    if stimulus.granule_bytes(target.user_capacity_bytes, target.sector_bytes) % max(sizes):
        raise TargetError(
            f"{stimulus}: atomic writes begin at multiples of their size, and not all of these do: align them"
        )


def check_handles(plan: Sequence[PlannedApply], device: DeviceUnderTest) -> None:
    """Raises TargetError for a drive without the placement handles that the plan's writes name."""
    steps = [step for planned in plan for step in planned.apply.steps]
    named = [one.placement_handle for one in stimuli_of(steps) if isinstance(one.placement_handle, int)]
    if not named:
        return
    reading = device.health()
    known = reading.values.get("placement_handles")
    if known is None:
        raise TargetError(
            f"{device.facts.name} takes no placement handles, as its log says ({reading.source}): "
            "Flexible Data Placement is not supported, or not enabled (nvme fdp feature)"
        )
    if max(named) >= known:
        raise TargetError(
            f"{device.facts.name} has no placement handle {max(named)}, only 0 to {known - 1:g}: name another"
        )


def _at_scale(path: str, scale: int) -> str:
    """What to type for the target of that name at another scale."""
    scheme = scheme_of(path)
    at_scale = None if scheme is None else scheme.part("at_scale")
    return f"scale {scale}" if at_scale is None else str(at_scale(path, scale))
