"""Purge: bring the target near to never having been used (PTS 3.2), and prove it by marks.

Here are also the core's own ways to empty or overwrite a target: discard, blocks of a file, random data.
"""

import errno
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Self

from msgspec import Struct
from msgspec.structs import replace

from openpts.device.block_device import BlockDevice
from openpts.device.kernel_calls import deallocate, discard
from openpts.device.purge.methods import ByPsid, Capability, ChosenMethods, Progress, PurgeMethod, choose
from openpts.device.targets.open_target import OpenTarget
from openpts.device.targets.reading import aligned_buffer
from openpts.device.targets.scratch_file import allocate_fully
from openpts.errors import PurgeError, PurgeImpossibleError, TargetError, failing_as
from openpts.units import GIB, MB, MIB
from openpts.vocabulary.facts import FILE_PURGE, Facts, PurgeAttempt, PurgeReport
from openpts.vocabulary.purge import PurgeChoice

# small enough that Ctrl-C between two of them is handled
_CHUNK_BYTES: Final = GIB


class Discard(Struct, frozen=True):
    """Implements openpts.device.purge.methods.PurgeMethod for whatever has a queue with discard."""

    name: str = "discard"
    title: str = "discard of all LBAs (BLKDISCARD)"
    is_purge: bool = True

    def capability(self, device: BlockDevice) -> Capability:
        """Whether it takes writes, and the largest discard that the kernel will send."""
        if not (writing := Capability.of_writing(device)).supported:
            return writing
        attribute = "queue/discard_max_bytes"
        most_bytes = device.integer(attribute)
        if most_bytes:
            return Capability(True, f"{device.place(attribute)} is {most_bytes}")
        reported = "is missing" if most_bytes is None else "is 0"
        return Capability(False, f"has no discard: {device.place(attribute)} {reported}")

    def carry_out(self, target: OpenTarget, progress: Progress) -> str:
        device, capacity_bytes = target.device, target.facts.user_capacity_bytes
        unit_bytes = (device.integer("queue/discard_granularity") if device else None) or 1
        chunk_bytes = max(_CHUNK_BYTES // unit_bytes, 1) * unit_bytes
        for offset_bytes in range(0, capacity_bytes, chunk_bytes):
            progress(offset_bytes / capacity_bytes, "discarding")
            try:
                discard(target.fd, offset_bytes, min(chunk_bytes, capacity_bytes - offset_bytes))
            except OSError as error:
                why = "it has no discard" if error.errno == errno.EOPNOTSUPP else error.strerror
                raise PurgeError(f"{self.title} of {target.facts.path} failed: {why}") from error
        return f"bytes 0 to {capacity_bytes - 1:,}, in pieces of up to {chunk_bytes:,} bytes"

    def status(self, target: OpenTarget) -> Facts:  # noqa: ARG002 no drive keeps a log of discards
        """Nothing reports a discard afterwards."""
        return {}


DISCARD: Final = Discard()


FILE_METHOD: Final = "deallocate and re-allocate (fallocate)"


class FileBlocks(Struct, frozen=True):
    """Implements openpts.device.purge.methods.PurgeMethod for files, which have no other."""

    name: str = FILE_PURGE
    title: str = FILE_METHOD
    is_purge: bool = True

    def capability(self, device: BlockDevice) -> Capability:
        return Capability(False, f"{device.node} is no file")

    def carry_out(self, target: OpenTarget, progress: Progress) -> str:
        size_bytes = target.facts.user_capacity_bytes
        progress(None, "new blocks")
        try:
            deallocate(target.fd, size_bytes)
            allocate_fully(target.fd, size_bytes, Path(target.facts.path))
        except (OSError, TargetError) as error:
            raise PurgeError(f"{FILE_METHOD} of {target.facts.path} failed: {error}") from error
        return f"all {size_bytes:,} bytes of the file; the drive below it was not purged"

    def status(self, target: OpenTarget) -> Facts:  # noqa: ARG002 a file keeps no log
        return {}


_RANDOM_BYTES: Final = 4 * MIB


class Overwrite(Struct, frozen=True):
    """Implements openpts.device.purge.methods.PurgeMethod for whatever takes writes."""

    name: str = "overwrite"
    title: str = "one sequential pass of random data (NO PURGE)"
    is_purge: bool = False

    def capability(self, device: BlockDevice) -> Capability:
        return Capability.of_writing(device)

    def carry_out(self, target: OpenTarget, progress: Progress) -> str:
        capacity_bytes = target.facts.user_capacity_bytes
        chunk_bytes = min(_RANDOM_BYTES, capacity_bytes)
        started_s = time.monotonic()
        with aligned_buffer(chunk_bytes) as buffer:
            for offset_bytes in range(0, capacity_bytes, chunk_bytes):
                length_bytes = min(chunk_bytes, capacity_bytes - offset_bytes)
                failed = f"overwriting {target.facts.path} failed"
                with buffer[:length_bytes] as chunk:
                    chunk[:] = os.urandom(length_bytes)
                    with failing_as(PurgeError, f"{failed} at byte {offset_bytes:,}"):
                        written_bytes = os.pwritev(target.fd, [chunk], offset_bytes)
                if written_bytes != length_bytes:
                    text = f"{written_bytes} of {length_bytes} bytes taken at byte {offset_bytes:,}"
                    raise PurgeError(f"{failed}: {text}")
                elapsed_s = time.monotonic() - started_s
                rate = (offset_bytes + length_bytes) / MB / elapsed_s if elapsed_s else 0.0
                progress((offset_bytes + length_bytes) / capacity_bytes, f"overwriting, {rate:.0f} MB/s")
        with failing_as(PurgeError, f"overwriting {target.facts.path} failed"):
            os.fsync(target.fd)
        return f"bytes 0 to {capacity_bytes - 1:,} written once in sequence: the drive is full, not purged"

    def status(self, target: OpenTarget) -> Facts:  # noqa: ARG002 no drive keeps a log of writes
        return {}


OVERWRITE: Final = Overwrite()


MARKED_PLACES: Final = 64


class MarkedSector(Struct, frozen=True):
    """One sector: its bytes, random ones where we wrote them, and its offset."""

    offset_bytes: int
    content: bytes

    @property
    def is_blank(self) -> bool:
        """Whether it is all zeros or all ones, as drives answer for what was never written or was erased."""
        return not self.content.strip(b"\x00") or not self.content.strip(b"\xff")


def choose_places(capacity_bytes: int, sector_bytes: int, count: int = MARKED_PLACES) -> tuple[int, ...]:
    """Offsets (bytes, ascending) of the sectors to mark: the first, the last and random ones between.

    All sectors if there are fewer than ``count``.
    """
    sectors = capacity_bytes // sector_bytes
    if sectors <= count:
        return tuple(sector * sector_bytes for sector in range(sectors))
    between = random.SystemRandom().sample(range(1, sectors - 1), count - 2)
    return tuple(sector * sector_bytes for sector in sorted((0, sectors - 1, *between)))


def write_marks(fd: int, places: tuple[int, ...], sector_bytes: int) -> tuple[MarkedSector, ...]:
    """Write a mark at each place and read all of them back.

    Raises OSError if a transfer fails or a mark can't be read back as it was written.
    """
    marks = tuple(MarkedSector(offset, os.urandom(sector_bytes)) for offset in places)
    with aligned_buffer(sector_bytes) as buffer:
        for mark in marks:
            buffer[:] = mark.content
            _check_length(os.pwritev(fd, [buffer], mark.offset_bytes), mark)
    if changed := count_changed(fd, marks):
        raise OSError(errno.EIO, f"{changed} of {len(marks)} sectors read back unlike they were written")
    return marks


def read_marks(fd: int, places: tuple[int, ...], sector_bytes: int) -> tuple[MarkedSector, ...]:
    """What the places hold, without those that can't be read."""
    found: list[MarkedSector] = []
    for place in places:
        with suppress(OSError):
            found += _read(fd, (MarkedSector(place, bytes(sector_bytes)),))
    return tuple(found)


def count_changed(fd: int, marks: tuple[MarkedSector, ...]) -> int:
    """How many of the places no longer hold their mark. Raises OSError if one can't be read."""
    return sum(now.content != mark.content for now, mark in zip(_read(fd, marks), marks, strict=True))


def _read(fd: int, marks: tuple[MarkedSector, ...]) -> Iterator[MarkedSector]:
    """What is at the places of marks now."""
    if not marks:
        return
    with aligned_buffer(len(marks[0].content)) as buffer:
        for mark in marks:
            _check_length(os.preadv(fd, [buffer], mark.offset_bytes), mark)
            yield MarkedSector(mark.offset_bytes, bytes(buffer))


def _check_length(transferred_bytes: int, mark: MarkedSector) -> None:
    # a drive that was pulled out answers reads with 0 bytes and no error
    if transferred_bytes != len(mark.content):
        text = f"{transferred_bytes} of {len(mark.content)} bytes transferred at byte {mark.offset_bytes}"
        raise OSError(errno.EIO, text)


class Proof(Struct, frozen=True):
    """What reading back showed: how many of ``marks`` and of ``others``, places that held data already,
    changed, and how many of all those places are blank now: all zeros or all ones.
    """

    marks: int
    marks_changed: int
    others: int
    others_changed: int
    blank: int

    @property
    def left(self) -> int:
        """Places that still hold what they held before."""
        return self.marks - self.marks_changed + self.others - self.others_changed


class SampledSectors(Struct, frozen=True):
    """Places all over a target with what they held before its purge.

    ``unreadable`` are places of a locked drive that could not be read then: they must be afterwards.
    """

    marks: tuple[MarkedSector, ...]
    others: tuple[MarkedSector, ...]
    unreadable: tuple[int, ...] = ()

    @classmethod
    def gather(cls, target: OpenTarget) -> Self:
        """Read unmarked places, then mark others with random bytes. Raises PurgeError.

        A place that can't be read before its purge proves nothing and is left out.
        """
        facts = target.facts
        places = choose_places(facts.user_capacity_bytes, facts.sector_bytes)
        unmarked = set(choose_places(facts.user_capacity_bytes, facts.sector_bytes)) - set(places)
        others = read_marks(target.fd, tuple(sorted(unmarked)), facts.sector_bytes)
        remedy = (
            "a drive on which a format or a sanitize failed takes nothing until one succeeds, which its own "
            "tools can bring about"
        )
        with failing_as(PurgeError, f"can't mark {facts.path} before the purge", remedy):
            marks = write_marks(target.fd, places, facts.sector_bytes)
        return cls(marks, tuple(place for place in others if not place.is_blank))

    @classmethod
    def of_locked(cls, target: OpenTarget) -> Self:
        """The same of a drive that keeps its data away: it may take marks nowhere, or behind a shadow MBR."""
        facts = target.facts
        places = choose_places(facts.user_capacity_bytes, facts.sector_bytes)
        others = read_marks(target.fd, places, facts.sector_bytes)
        readable = {mark.offset_bytes for mark in others}
        unreadable = tuple(place for place in places if place not in readable)
        marks: list[MarkedSector] = []
        for place in sorted(readable):
            with suppress(OSError):
                marks += write_marks(target.fd, (place,), facts.sector_bytes)
        written = {mark.offset_bytes for mark in marks}
        data = (mark for mark in others if not mark.is_blank and mark.offset_bytes not in written)
        return cls(tuple(marks), tuple(data), unreadable)

    def compare(self, target: OpenTarget) -> Proof:
        """What is left of it on a target after its purge. Raises PurgeError if it can't be read."""
        opened = tuple(MarkedSector(place, bytes(target.facts.sector_bytes)) for place in self.unreadable)
        try:
            marks = (*self.marks, *self.others, *opened)
            return Proof(
                marks=len(self.marks) + len(opened),
                marks_changed=count_changed(target.fd, self.marks) + len(opened),
                others=len(self.others),
                others_changed=count_changed(target.fd, self.others),
                blank=sum(now.is_blank for now in _read(target.fd, marks)),
            )
        except OSError as error:
            raise PurgeError(
                f"can't read {target.facts.path} after the purge: {error.strerror}{_gone(target)}"
            ) from error


def _gone(target: OpenTarget) -> str:
    """A hint where the kernel no longer has the drive by the name under which it was opened."""
    if target.device is None or target.device.folder.exists():
        return ""
    return "; it may have another name now, see openpts devices: purge it under that"


class PurgeClock(Struct, frozen=True):
    """The time of day and a steady count of ns."""

    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    monotonic_ns: Callable[[], int] = time.monotonic_ns


_WALL_CLOCK: Final = PurgeClock()


def chosen_methods(target: OpenTarget, choice: PurgeChoice) -> ChosenMethods:
    """What a purge of a target would try. Raises OpenptsError where it would refuse before touching it."""
    if target.device is None:
        if choice.methods:
            raise PurgeError(f"{target.facts.path} is a file, which {choice} can't purge: remove --purge")
        return ChosenMethods((FileBlocks(),), ())
    if not target.device.folder.exists():
        raise PurgeError(f"{target.device.node} has gone away: see dmesg")
    return choose(choice, target.device, frozenset(sibling.facts.path for sibling in target.siblings))


def purge(
    target: OpenTarget,
    choice: PurgeChoice = PurgeChoice.AUTO,
    progress: Progress = lambda _share, _text: None,
    clock: PurgeClock = _WALL_CLOCK,
    psid: Callable[[], bytes] | None = None,
) -> PurgeReport:
    """Purge a target and prove it: random marks all over it, read back before, must be gone afterwards.

    Where the operator named several methods, one that fails is entered in the report and the next is
    tried. Raises PurgeError if the target has no purge, if all that was to be tried fails, and if a single
    mark is still there after a method that reported success. The report's duration is that of its own
    method alone. ``psid`` gives the number on the drive's label to a method that needs it.
    """
    chosen = chosen_methods(target, choice)
    attempts = list(chosen.left_out)
    for method in chosen.methods:
        if psid is not None and isinstance(method, ByPsid):
            method = method.with_psid(psid)  # noqa: PLW2901 the same method, with what it needs
        try:
            report = _purge_by(method, target, progress, clock)
        except PurgeError as error:
            if len(choice.methods) < 2:
                raise
            attempts.append(PurgeAttempt(method.name, str(error)))
        else:
            return replace(report, attempts=tuple(attempts))
    reported = "; ".join(f"{attempt.method}: {attempt.outcome}" for attempt in attempts)
    raise PurgeImpossibleError(f"none of {choice} has purged {target.facts.path}: {reported}")


def no_purge(reason: str, clock: PurgeClock = _WALL_CLOCK) -> PurgeReport:
    """The report of a purge that was left out, with the reason (PTS 3.2 asks to disclose it)."""
    return PurgeReport(
        ran=False,
        method="NOT RUN",
        detail=reason,
        started_at=clock.now().isoformat(timespec="seconds"),
        duration_ns=0,
        samples=0,
        changed_samples=0,
    )


def _purge_by(method: PurgeMethod, target: OpenTarget, progress: Progress, clock: PurgeClock) -> PurgeReport:
    """One method and its proof. Raises PurgeError, also if anything is still as it was."""
    status_before = method.status(target)  # of the drive as it came: marks take space too
    evidence = SampledSectors.of_locked(target) if target.is_locked else SampledSectors.gather(target)
    started_at, started_ns = clock.now(), clock.monotonic_ns()
    detail = method.carry_out(target, progress)
    duration_ns = clock.monotonic_ns() - started_ns
    proof = evidence.compare(target)
    if proof.left:
        raise PurgeImpossibleError(
            f"{method.title} of {target.facts.path} ended without an error. {proof.left} of "
            f"{proof.marks + proof.others} places, {proof.marks} of them marked before, still hold what they "
            "held: this target can't be purged this way"
        )
    return PurgeReport(
        ran=method.is_purge,
        method=method.title,
        detail=detail,
        started_at=started_at.isoformat(timespec="seconds"),
        duration_ns=duration_ns,
        samples=proof.marks,
        changed_samples=proof.marks_changed,
        name=method.name,
        status=method.status(target),
        status_before=status_before,
        other_samples=proof.others,
        blank_samples=proof.blank,
    )
