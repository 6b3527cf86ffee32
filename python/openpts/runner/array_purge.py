"""Purges an array of md by its members: each one by its own method, then the array is made again."""

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from time import monotonic, sleep
from typing import Final

from openpts.device.block_device import BlockDevice
from openpts.device.guard.consent import Consent
from openpts.device.guard.guard import open_target
from openpts.device.identity.drive_name import serial_number
from openpts.device.md_array import MdArray, create_array, read_array, stop_array, sync_progress
from openpts.device.purge.choose import choose
from openpts.device.purge.held_drive import held_node
from openpts.device.purge.method import Progress
from openpts.device.purge.proof import choose_places, read_marks
from openpts.device.purge.purge import purge
from openpts.device.targets.open_target import OpenTarget
from openpts.device.targets.target import BlockTarget
from openpts.errors import InterruptedRunError, OpenptsError, PurgeError, RefusedError, TargetError
from openpts.programs import Run, run_program
from openpts.runner.physical_device import not_a_purge
from openpts.system_files import SystemRoots
from openpts.vocabulary.deviation import Deviation
from openpts.vocabulary.facts import Fact, PurgeReport
from openpts.vocabulary.purge import PurgeChoice

# A resync that has not got on for so long will not end.
_STALLED_S: Final = 600.0
_LOOK_S: Final = 1.0
_APPEARS_S: Final = 10.0

_AGREE: Final = "the members agree, for each promises zeros and sampled places read as zeros"
_BROUGHT_IN_STEP: Final = "the members were brought in step, which wrote to them"


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
        self._check_members()
        for member in self.array.members:
            choose(choice, member.device, frozenset())

    def _check_members(self) -> None:
        """Raise RefusedError for a member that was not confirmed, or that is another drive by now."""
        strangers = [
            f"{member.device.node} (serial number {serial or 'none'})"
            for member in self.array.members
            if (serial := serial_number(member.device).value) not in self.confirmed_serials
        ]
        if strangers:
            raise RefusedError(
                f"refused [members]: the purge of {self.array.device.node} erases {', '.join(strangers)}, "
                "which was not confirmed; to confirm that, add --confirm-member SERIAL for each"
            )

    def carry_out(self, choice: PurgeChoice, progress: Progress) -> tuple[PurgeReport, tuple[Deviation, ...]]:
        """Take the array apart, purge each member, make it again in the same shape.

        Returns the report, and the deviations for the ledger. The array must not be open.
        Raises PurgeError, and TargetError where the array can't be stopped or made again: it is left in
        pieces then, and the text says so.
        """
        with ExitStack() as pinned:
            # while a node is open its name goes to no other drive, also if this one drops off the bus
            for member in self.array.members:
                pinned.enter_context(held_node(member.device, "see dmesg"))
            self._check_members()
            capacity_bytes = self.array.device.capacity_bytes
            stop_array(self.array, self.run)
            try:
                reports, agree = self._purge_members(choice, progress)
                self._check_members()
                create_array(self.array, self.run, assume_clean=agree)
            except KeyboardInterrupt:
                raise InterruptedRunError(f"stopped by the operator; {self._in_pieces}") from None
            except OpenptsError as error:
                raise PurgeError(f"{error}; {self._in_pieces}") from error
        if not agree:
            self._wait_for_sync(progress)
        self._check_capacity(capacity_bytes)
        report = _together(self.array, reports, _AGREE if agree else _BROUGHT_IN_STEP)
        overwritten = () if report.ran else (not_a_purge(report.method),)
        return report, overwritten if agree else (*overwritten, _written_again(report))

    @property
    def _in_pieces(self) -> str:
        return f"the array {self.array.device.node} was taken apart for it and no longer exists"

    def _purge_members(self, choice: PurgeChoice, progress: Progress) -> tuple[list[PurgeReport], bool]:
        """Reports of all members, and whether all of them hold zeros now. Raises OpenptsError."""
        with ExitStack() as held:
            # all of them at once, so that no program assembles the array meanwhile
            opened = [self._open(member.device, held) for member in self.array.members]
            reports = [
                purge(one, choice, _of_member(progress, one, number, len(opened)))
                for number, one in enumerate(opened)
            ]
            promised = all(_promises_zeros(report) for report in reports)
            return reports, promised and all(_reads_zeros(one) for one in opened)

    def _open(self, device: BlockDevice, held: ExitStack) -> OpenTarget:
        """A member by the guard, by a serial number that the operator gave.

        The array's own superblock on it was given up with it.
        """
        serial = serial_number(device).value
        named = serial if serial in self.confirmed_serials else None
        consent = Consent(confirm_serial=named, confirm_device_path=str(device.node), erase_signatures=True)
        return held.enter_context(open_target(BlockTarget(device.node), consent, self.roots))

    def _wait_for_sync(self, progress: Progress) -> None:
        """Until the kernel has brought the members in step. Raises TargetError if it stops getting on."""
        best, since_s = -1.0, monotonic()
        while (share := sync_progress(self.array.device)) is not None:
            if share > best:
                best, since_s = share, monotonic()
            if monotonic() - since_s > _STALLED_S:
                raise TargetError(
                    f"the resync of {self.array.device.node} makes no progress: see /proc/mdstat"
                )
            progress(share, "resyncing the members")
            sleep(_LOOK_S)

    def _check_capacity(self, before_bytes: int) -> None:
        """Raise TargetError unless the array is whole again, and as large as it was."""
        device = self.array.device
        deadline_s = monotonic() + _APPEARS_S
        while not device.node.exists() and monotonic() < deadline_s:
            sleep(_LOOK_S / 10)
        again = read_array(device, self.run)
        if device.capacity_bytes != before_bytes or len(again.members) != len(self.array.members):
            raise TargetError(
                f"{device.node} was created again with {device.capacity_bytes:,} bytes of "
                f"{len(again.members)} members, not {before_bytes:,} of {len(self.array.members)}"
            )


def _of_member(progress: Progress, target: OpenTarget, number: int, members: int) -> Progress:
    """Progress of one member as a share of all."""

    def tell(share: float | None, text: str) -> None:
        whole = None if share is None else (number + share) / members
        progress(whole, f"{target.facts.path}, member {number + 1} of {members}: {text}")

    return tell


def _promises_zeros(report: PurgeReport) -> bool:
    """Whether the drive says itself that what was purged reads as zeros; samples alone prove no parity."""
    fact = report.status.get("reads_as")
    return fact is not None and fact.value == "zeros"


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
        detail=f"{array}: taken apart, {len(reports)} members {_deed(reports)}, made again; {synced}",
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


def _deed(reports: Sequence[PurgeReport]) -> str:
    ran = [report.ran for report in reports]
    return "purged" if all(ran) else "purged or written over" if any(ran) else "written over"


def _sum(counts: Iterable[int | None]) -> int | None:
    """Sum of the members' counts; None where one is unknown."""
    known = list(counts)
    return None if None in known else sum(count or 0 for count in known)


def _written_again(report: PurgeReport) -> Deviation:
    """The entry of an array whose members were written to between the purge and the test."""
    return Deviation(
        rule_id="PTS-PRG-03",
        clause="3.2",
        required="a purge of the device",
        used=report.detail,
        effect="the members are not as if never written: parity or copies fill them",
    )
