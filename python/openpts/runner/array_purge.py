"""Purges an array of md by its members: each one by its own method, then the array is made again."""

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from time import monotonic, sleep
from typing import Final

from openpts.device.block_device import BlockDevice
from openpts.device.consent import Consent
from openpts.device.guard import open_target
from openpts.device.marks import choose_places, read_marks
from openpts.device.md_array import MdArray, create_array, read_array, stop_array, sync_progress
from openpts.device.open_target import OpenTarget
from openpts.device.purge.choose import choose
from openpts.device.purge.method import Progress
from openpts.device.purge.purge import purge
from openpts.device.serial_number import serial_number
from openpts.device.target import BlockTarget
from openpts.errors import PurgeError, RefusedError, TargetError
from openpts.programs import Run, run_program
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import Fact, PurgeReport
from openpts.vocabulary.purge_choice import PurgeChoice

# A resync that has not got on for so long will not end.
_STALLED_S: Final = 600.0
_LOOK_S: Final = 1.0
_APPEARS_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class ArrayPurge:
    """The members of an array that the operator gave up one by one, by their serial numbers."""

    array: MdArray
    confirmed_serials: tuple[str, ...]
    roots: SystemRoots
    run: Run = run_program

    def check(self, choice: PurgeChoice) -> None:
        """Look whether each member was named and has such a purge, before anything is touched.

        Raises RefusedError and PurgeError.
        """
        strangers = [
            f"{member.device.node} (serial number {serial or 'none'})"
            for member in self.array.members
            if (serial := serial_number(member.device).value) not in self.confirmed_serials
        ]
        if strangers:
            raise RefusedError(
                f"refused [members]: the purge of {self.array.device.node} erases {', '.join(strangers)}, "
                "which nobody confirmed; if that is meant add --confirm-member SERIAL for each"
            )
        for member in self.array.members:
            choose(choice, member.device, frozenset())

    def carry_out(self, choice: PurgeChoice, progress: Progress) -> PurgeReport:
        """Take the array apart, purge each member, make it again in the same shape.

        Nobody may have it open. Raises PurgeError, and TargetError where the array can't be stopped or made
        again: it is left in pieces then, and the text says so.
        """
        capacity_bytes = self.array.device.capacity_bytes
        stop_array(self.array, self.run)
        try:
            with ExitStack() as held:
                # all of them at once, so that nobody puts the array together again meanwhile
                opened = [self._open(member.device, held) for member in self.array.members]
                reports = [
                    purge(one, choice, _of_member(progress, one, number, len(opened)))
                    for number, one in enumerate(opened)
                ]
                zeros = all(_reads_zeros(one) for one in opened)
        except (PurgeError, TargetError, RefusedError) as error:
            raise PurgeError(f"{error}; the array {self.array.device.node} was taken apart before") from error
        create_array(self.array, self.run, assume_clean=zeros)
        synced = "the members agree, for all of them read as zeros"
        if not zeros:
            self._wait_for_sync(progress)
            synced = "the members were brought in step, which wrote to them"
        self._check_capacity(capacity_bytes)
        return _together(self.array, reports, synced)

    def _open(self, device: BlockDevice, held: ExitStack) -> OpenTarget:
        """A member by the guard; the array's own superblock on it was given up with it."""
        serial = serial_number(device).value
        consent = Consent(confirm_serial=serial, confirm_device_path=str(device.node), erase_signatures=True)
        return held.enter_context(open_target(BlockTarget(device.node), consent, self.roots))

    def _wait_for_sync(self, progress: Progress) -> None:
        """Until the kernel has brought the members in step. Raises TargetError if it stops getting on."""
        best, since_s = -1.0, monotonic()
        while (share := sync_progress(self.array.device)) is not None:
            if share > best:
                best, since_s = share, monotonic()
            if monotonic() - since_s > _STALLED_S:
                raise TargetError(f"the resync of {self.array.device.node} does not get on: see /proc/mdstat")
            progress(share, "bringing the members in step")
            sleep(_LOOK_S)

    def _check_capacity(self, before_bytes: int) -> None:
        """Raise TargetError unless the array is whole again, and as large as it was."""
        device = self.array.device
        deadline_s = monotonic() + _APPEARS_S
        while not device.node.exists() and monotonic() < deadline_s:
            sleep(_LOOK_S / 10)
        again = read_array(device)
        if device.capacity_bytes != before_bytes or len(again.members) != len(self.array.members):
            raise TargetError(
                f"{device.node} was made again with {device.capacity_bytes:,} bytes of {len(again.members)} "
                f"members, not {before_bytes:,} of {len(self.array.members)}"
            )


def _of_member(progress: Progress, target: OpenTarget, number: int, members: int) -> Progress:
    """Progress of one member as a share of all."""

    def tell(share: float | None, text: str) -> None:
        whole = None if share is None else (number + share) / members
        progress(whole, f"{target.facts.path}, member {number + 1} of {members}: {text}")

    return tell


def _reads_zeros(target: OpenTarget) -> bool:
    """Whether sampled places are all zeros: then mirrors are alike, and the parity of zeros is zero."""
    facts = target.facts
    places = choose_places(facts.user_capacity_bytes, facts.sector_bytes)
    found = read_marks(target.fd, places, facts.sector_bytes)
    return len(found) == len(places) and not any(any(mark.content) for mark in found)


def _together(array: MdArray, reports: Sequence[PurgeReport], synced: str) -> PurgeReport:
    """One report of all members: proofs added up, and the status of each under its name."""
    methods = ", ".join(dict.fromkeys(report.method for report in reports))
    status: dict[str, Fact] = {}
    before: dict[str, Fact] = {}
    for member, report in zip(array.members, reports, strict=True):
        name = member.device.name
        status[f"{name}_purge"] = Fact(
            f"{report.method}; {report.changed_samples} of {report.samples} marks gone", report.detail
        )
        status |= {f"{name}_{key}": fact for key, fact in report.status.items()}
        before |= {f"{name}_{key}": fact for key, fact in report.status_before.items()}
    first = reports[0]
    return replace(
        first,
        method=f"{methods}, member by member",
        detail=f"{array}: taken apart, {len(reports)} members purged, made again; {synced}",
        duration_ns=sum(report.duration_ns for report in reports),
        samples=sum(report.samples for report in reports),
        changed_samples=sum(report.changed_samples for report in reports),
        other_samples=sum(report.other_samples for report in reports),
        blank_samples=_sum(report.blank_samples for report in reports),
        attempts=tuple(attempt for report in reports for attempt in report.attempts),
        ran=all(report.ran for report in reports),
        status=status,
        status_before=before,
    )


def _sum(counts: Iterable[int | None]) -> int | None:
    """All together; None where one is not known."""
    known = list(counts)
    return None if None in known else sum(count or 0 for count in known)
