"""Room for all that a run writes, on its target and in its folder, before the purge."""

from collections.abc import Sequence
from pathlib import Path

from openpts.device.targets.free_space import SpaceNeed, check_space
from openpts.errors import TargetError
from openpts.planning.assumed_drive import AssumedDrive
from openpts.planning.dry_run import PlannedApply, capture_bytes, record_bytes
from openpts.runner.device_under_test import DeviceUnderTest
from openpts.vocabulary.facts import TargetFacts


def check_room(
    device: DeviceUnderTest, planned: Sequence[PlannedApply], folder: Path, interval_ns: int
) -> None:
    """Raises TargetError if the target's storage, or the disk of the run folder, would run full."""
    needs = device.space_needs(written_range_bytes(planned, device.facts))
    place = _existing(folder)
    record = SpaceNeed(place, record_bytes(planned, interval_ns), f"the record in {folder}")
    captured = capture_bytes(planned, AssumedDrive())
    capture = (SpaceNeed(place, captured, "the files of every single I/O"),) if captured else ()
    try:
        check_space((*needs, record, *capture))
    except OSError as error:
        raise TargetError(f"can't read the free space: {error}") from error


def written_range_bytes(planned: Sequence[PlannedApply], target: TargetFacts) -> int:
    """From the first byte that any step may write to the last."""
    ranges = [
        step.stimulus.active_range.bytes_of(target.user_capacity_bytes, target.sector_bytes)
        for one in planned
        for step in one.apply.steps
        if step.stimulus is not None and step.stimulus.operations.write
    ]
    return max(end for _, end in ranges) - min(start for start, _ in ranges) if ranges else 0


def _existing(folder: Path) -> Path:
    """The folder, or what is there of the way to it."""
    path = folder.absolute()
    while not path.exists():
        path = path.parent
    return path
