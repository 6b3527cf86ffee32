"""Purge: bring the target as near as possible to never having been used (PTS 3.2), and prove it."""

import errno
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from openpts.device.allocation import allocate_fully
from openpts.device.block_device import BlockDevice
from openpts.device.kernel_calls import deallocate, discard
from openpts.device.marks import Mark, choose_places, count_changed, write_marks
from openpts.device.open_target import OpenTarget
from openpts.errors import PurgeError, TargetError
from openpts.units import GIB
from openpts.vocabulary.facts import PurgeReport

DISCARD_METHOD: Final = "discard of all LBAs (BLKDISCARD)"
FILE_METHOD: Final = "deallocate and re-allocate (fallocate)"
NO_METHOD: Final = "NOT RUN"

# small enough that Ctrl-C between two of them is heard
_DISCARD_CHUNK_BYTES: Final = GIB


@dataclass(frozen=True, slots=True)
class PurgeClock:
    """The time of day and a steady count of ns."""

    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    monotonic_ns: Callable[[], int] = time.monotonic_ns


_WALL_CLOCK: Final = PurgeClock()


# PTS-DEF-10, PTS-PRG-01
# PTS-PRG-03
def purge(target: OpenTarget, clock: PurgeClock = _WALL_CLOCK) -> PurgeReport:
    """Purge a target and prove it: random marks all over it, read back before, must be gone afterwards.

    Raises PurgeError if the target has no purge, if the purge fails, and if a single mark is still
    there after a purge that reported success. The report's duration is that of the purge alone.
    """
    if target.device is not None:
        _check_discard(target.device)
    marks = _mark(target)
    started_at, started_ns = clock.now(), clock.monotonic_ns()
    method, detail = _purge_file(target) if target.device is None else _discard_all(target, target.device)
    duration_ns = clock.monotonic_ns() - started_ns
    changed = _count_changed(target, marks)
    if changed < len(marks):
        raise PurgeError(
            f"{method} of {target.facts.path} ended without an error, but {len(marks) - changed} of "
            f"{len(marks)} marks written before are still there: this target can't be purged this way; "
            "to test it all the same use --purge none, which the report discloses"
        )
    return PurgeReport(
        ran=True,
        method=method,
        detail=detail,
        started_at=_iso(started_at),
        duration_ns=duration_ns,
        samples=len(marks),
        changed_samples=changed,
    )


# PTS-PRG-02
def no_purge(reason: str, clock: PurgeClock = _WALL_CLOCK) -> PurgeReport:
    """The report of a purge that was left out, with the reason (PTS 3.2 asks to disclose it)."""
    return PurgeReport(
        ran=False,
        method=NO_METHOD,
        detail=reason,
        started_at=_iso(clock.now()),
        duration_ns=0,
        samples=0,
        changed_samples=0,
    )


def _check_discard(device: BlockDevice) -> None:
    if not device.folder.exists():
        raise PurgeError(f"{device.node} has gone away: see dmesg")
    if not device.integer("queue/discard_max_bytes"):
        raise _no_discard(device)


def _mark(target: OpenTarget) -> tuple[Mark, ...]:
    places = choose_places(target.facts.user_capacity_bytes, target.facts.sector_bytes)
    try:
        return write_marks(target.fd, places, target.facts.sector_bytes)
    except OSError as error:
        raise PurgeError(f"can't mark {target.facts.path} before the purge: {error.strerror}") from error


# PTS-DEF-10
def _count_changed(target: OpenTarget, marks: tuple[Mark, ...]) -> int:
    try:
        return count_changed(target.fd, marks)
    except OSError as error:
        raise PurgeError(f"can't read {target.facts.path} after the purge: {error.strerror}") from error


def _purge_file(target: OpenTarget) -> tuple[str, str]:
    """Method and detail, after the file system took all blocks back and gave new ones."""
    size_bytes = target.facts.user_capacity_bytes
    try:
        deallocate(target.fd, size_bytes)
        allocate_fully(target.fd, size_bytes, Path(target.facts.path))
    except (OSError, TargetError) as error:
        raise PurgeError(f"{FILE_METHOD} of {target.facts.path} failed: {error}") from error
    return FILE_METHOD, f"all {size_bytes:,} bytes of the file; the drive below it was not purged"


def _discard_all(target: OpenTarget, device: BlockDevice) -> tuple[str, str]:
    """Method and detail, after the drive was told that it holds no data any more."""
    capacity_bytes = target.facts.user_capacity_bytes
    chunk_bytes = _chunk_bytes(device.integer("queue/discard_granularity"))
    try:
        for offset_bytes in range(0, capacity_bytes, chunk_bytes):
            discard(target.fd, offset_bytes, min(chunk_bytes, capacity_bytes - offset_bytes))
    except OSError as error:
        if error.errno == errno.EOPNOTSUPP:
            raise _no_discard(device) from error
        raise PurgeError(f"{DISCARD_METHOD} of {target.facts.path} failed: {error.strerror}") from error
    return DISCARD_METHOD, f"bytes 0 to {capacity_bytes - 1:,}, in pieces of up to {chunk_bytes:,} bytes"


def _chunk_bytes(granularity_bytes: int | None) -> int:
    """The chunk in whole units of what the drive discards: it may leave a broken unit as it is."""
    unit_bytes = granularity_bytes or 1
    return max(_DISCARD_CHUNK_BYTES // unit_bytes, 1) * unit_bytes


def _no_discard(device: BlockDevice) -> PurgeError:
    return PurgeError(
        f"{device.node} has no discard, so it can't be purged this way: see cat "
        f"/sys/block/{device.name}/queue/discard_max_bytes; to test it all the same use --purge none"
    )


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
