"""What a host does for a run: look what is in the slot, attach or start, stop it, and say how it went.

Any number of starts of the same run begin it once. The first claims it, and all that write for it hold the
claim; a later start waits for those, or returns how they ended. Only ``again`` continues one that was cut.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct, field, structs

from openpts.device.ata_identify import model, serial_number
from openpts.device.block_device import BlockDevice
from openpts.errors import (
    FleetError,
    OpenptsError,
    RecordError,
    RefusedError,
    TargetError,
    UsageError,
    failing_as,
)
from openpts.ownership import CLAIM_NAME, is_locked, locked_alone, lockers, read_owner, until_unlocked
from openpts.record.batch import DONE
from openpts.record.decoding import decode_json
from openpts.record.manifest import Manifest, RunState
from openpts.record.reader import read_manifest
from openpts.run_folder_files import read_file, write_files
from openpts.system_files import SystemRoots, boot_id
from openpts.vocabulary.run_request import RunRequest
from openpts_batch.fleet.configuration import FleetHost, Observation
from openpts_sim.simulated_target import names_simulated

_NOTES: Final = "journal"
_SCHEMA: Final = "openpts-fleet-run"


class Start(Struct, frozen=True, kw_only=True):
    """An attempt as it was started: ``job`` is the scheduler's own number, ``at`` ISO 8601, UTC."""

    job: str | None
    boot_id: str
    at: str


class RunNote(Struct, frozen=True, kw_only=True):
    """The note of a run. ``refused`` says why it was not begun, or not gone on with when that was asked for
    last, ``interrupted`` how it was cut off.

    ``cancelled_at`` is ISO 8601, UTC: from then on nothing starts it.
    """

    schema: str = _SCHEMA
    schema_version: int = 1
    request: RunRequest | None = None
    starts: tuple[Start, ...] = ()
    refused: str = ""
    interrupted: str = ""
    cancelled_at: str | None = None


class HostJournal(Struct, frozen=True):
    """The runs of the host with this name, in the folder ``runs``."""

    host: str
    runs: Path
    roots: SystemRoots = field(default_factory=SystemRoots)

    def folder_of(self, run_id: str) -> Path:
        """Where the run's record is, or would be."""
        return self.runs / run_id

    def claim_of(self, run_id: str) -> Path:
        """The file that processes of the run have locked as long as they live."""
        return self.folder_of(run_id) / CLAIM_NAME

    def lock_of(self, run_id: str) -> Path:
        """The file that is locked by what starts the run, also before there is a claim."""
        return self.runs / _NOTES / f"{run_id}.lock"

    def events_of(self, run_id: str) -> Path:
        """Where its events are appended; readers continue by the byte offset that they have reached."""
        return self.runs / f"{run_id}.events.jsonl"

    def note_of(self, run_id: str) -> RunNote | None:
        """The note on a run; None without one. Raises FleetError if it can't be read."""
        path = self.runs / _name(run_id)
        with failing_as(FleetError, f"{path} can't be read"), suppress(FileNotFoundError):
            return decode_json(read_file(self.runs, _name(run_id)), RunNote)
        return None

    def write(self, run_id: str, note: RunNote) -> None:
        """Put a note in place of the one before; it is on the disk when this returns. Raises FleetError."""
        with failing_as(FleetError, f"{self.runs / _name(run_id)} can't be written"):
            self.runs.mkdir(parents=True, exist_ok=True)
            write_files(self.runs, {_name(run_id): msgspec.json.format(msgspec.json.encode(note)) + b"\n"})

    def change(self, run_id: str, **values: object) -> None:
        """Change these values of a note, which is made if there is none."""
        self.write(run_id, structs.replace(self.note_of(run_id) or RunNote(), **values))

    @contextmanager
    def starting(self, run_id: str) -> Iterator[bool]:
        """Be the one that starts a run, as long as the block lasts; False while another process is."""
        lock = self.lock_of(run_id)
        try:
            lock.parent.mkdir(parents=True, exist_ok=True)
            with locked_alone(lock):
                yield True
        except BlockingIOError:
            yield False
        except OSError as error:
            raise FleetError(f"{lock} can't be locked: {error.strerror}") from error

    def until_ended(self, run_id: str) -> None:
        """Return when no process of the run lives; a signal interrupts as it does elsewhere."""
        until_unlocked(self.lock_of(run_id))
        until_unlocked(self.claim_of(run_id))

    def is_held(self, run_id: str) -> bool:
        """Whether a process lives that writes, or may write, for the run."""
        return is_locked(self.claim_of(run_id))

    def is_alive(self, run_id: str) -> bool:
        """Whether a process of the run lives, also one that lost the others, or one that only starts it."""
        return self.is_held(run_id) or is_locked(self.lock_of(run_id))

    def observe(self, run_id: str, *, alive: bool | None = None) -> Observation | None:
        """Where the run stands; None if this host knows nothing of it. Raises FleetError.

        ``alive`` tells it where the caller is the one that starts the run, and so its lock says nothing.
        """
        note, begun = self.note_of(run_id), self.claim_of(run_id).exists()
        if note is None and not begun:
            return None
        stage, reason = self._stage(
            run_id, note or RunNote(), self.is_alive(run_id) if alive is None else alive
        )
        starts = () if note is None else note.starts
        return Observation(
            run_id=run_id,
            stage=stage,
            host=self.host,
            reason=reason,
            job=starts[-1].job if starts else None,
            folder=str(self.folder_of(run_id)) if begun else None,
            request=None if note is None else note.request,
        )

    def _stage(self, run_id: str, note: RunNote, alive: bool) -> tuple[RunState, str]:
        owner = read_owner(self.claim_of(run_id))
        if alive:
            reason = "is starting" if owner is None else f"process {owner.pid}, since {owner.since}"
            return RunState.RUNNING, reason
        if not self.claim_of(run_id).exists():
            return _stage_without_record(note)
        manifest = self._manifest(run_id)
        state = None if manifest is None else manifest.state
        reason = (manifest and manifest.state_reason) or ""
        if state in DONE:
            return state, reason
        if note.cancelled_at is not None:
            return RunState.CANCELLED, f"at {note.cancelled_at}"
        if note.refused:
            return RunState.INTERRUPTED, f"can't continue: {note.refused}"
        return RunState.INTERRUPTED, reason or note.interrupted or self._how_it_was_cut(run_id)

    def _manifest(self, run_id: str) -> Manifest | None:
        """None where the run was cut before its record had begun."""
        try:
            return read_manifest(self.folder_of(run_id))
        except RecordError:
            return None

    def _how_it_was_cut(self, run_id: str) -> str:
        owner = read_owner(self.claim_of(run_id))
        if owner is not None and owner.boot_id != boot_id(self.roots):
            return "the host was restarted, or lost its power, while it ran"
        return "its process was killed"

    def settled(self, run_id: str, *, alive: bool | None = None) -> Observation | None:
        """As ``observe``; an interruption that is found is written down, so that it stays one."""
        found = self.observe(run_id, alive=alive)
        if found is not None and found.stage is RunState.INTERRUPTED:
            note = self.note_of(run_id) or RunNote()
            if note.interrupted != found.reason:
                self.write(run_id, structs.replace(note, interrupted=found.reason))
        return found

    def all(self) -> tuple[Observation, ...]:
        """All runs that this host knows, oldest first: their IDs are in the order of their time."""
        names = {path.stem for path in (self.runs / _NOTES).glob("*.json")}
        names |= {path.parent.name for path in self.runs.glob(f"*/{CLAIM_NAME}")}
        return tuple(found for name in sorted(names) if (found := self.settled(name)) is not None)


def _stage_without_record(note: RunNote) -> tuple[RunState, str]:
    if note.cancelled_at is not None:
        return RunState.CANCELLED, "before it had begun"
    if note.refused:
        return RunState.FAILED, note.refused
    return RunState.INTERRUPTED, "was killed before it had claimed its drive: nothing was written"


def now() -> str:
    """ISO 8601, UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _name(run_id: str) -> str:
    return f"{_NOTES}/{run_id}.json"


_TO_STOP_S: Final = 45.0
"""What a run gets to end its load and close its record: less than KillWait in many-drives.md."""
_TO_DIE_S: Final = 15.0
_POLL_S: Final = 0.1
_FILE: Final = "file:"

CarryOut = Callable[[Sequence[str]], None]
"""Carries out a command of openpts, given as its words, in this process. Raises OpenptsError."""


class HostSide(Struct, frozen=True):
    """The host that a fleet file names, seen from itself."""

    host: FleetHost
    roots: SystemRoots = field(default_factory=SystemRoots)

    @property
    def journal(self) -> HostJournal:
        """What is known of its runs."""
        return HostJournal(self.host.name, self.host.runs, self.roots)

    def start(
        self,
        request: RunRequest,
        carry_out: CarryOut,
        *,
        job: str | None = None,
        again: bool = False,
        resume_words: Sequence[str] = (),
    ) -> Observation:
        """Carry out a run that was never begun; wait for the end of one in progress; say how it is.

        ``again`` continues one that was interrupted, as a new attempt, with ``resume_words``. Raises
        RefusedError or TargetError if the slot is empty or has another drive, and what the run itself ends
        with.
        """
        run_id, journal = request.run_id, self.journal
        with journal.starting(run_id) as alone:
            if alone and not journal.is_held(run_id):
                found = journal.observe(run_id, alive=False)
                if _may_begin(found, journal.note_of(run_id), again=again):
                    resumes = found is not None and found.folder is not None
                    self._carry_out(request, carry_out, job, resume_words if resumes else None)
                found = journal.settled(run_id, alive=False)
                assert found is not None  # noqa: S101 it was begun by now
                return found
        return self._attached(run_id)

    def _carry_out(
        self, request: RunRequest, carry_out: CarryOut, job: str | None, resume_words: Sequence[str] | None
    ) -> None:
        """Begin the run, or with ``resume_words`` continue with it."""
        journal, run_id = self.journal, request.run_id
        before = read_owner(journal.claim_of(run_id))
        note = journal.note_of(run_id) or RunNote()
        start = Start(job=job, boot_id=boot_id(self.roots), at=now())
        journal.write(run_id, RunNote(request=request, starts=(*note.starts, start)))
        try:
            drive, folder = self._checked_drive(request), journal.folder_of(run_id)
            ours = self._both(request, drive)
            if resume_words is not None:
                carry_out(["resume", str(folder), "--target", drive.target, *ours, *resume_words])
            elif request.test_words:
                carry_out(request.words_on(drive.target, folder, ours))
            else:
                raise UsageError(f"run {run_id} names no test")
        except OpenptsError as error:
            if read_owner(journal.claim_of(run_id)) == before:
                journal.change(run_id, refused=str(error))
            raise

    def _attached(self, run_id: str) -> Observation:
        """Wait for a run that another process carries out; who ends us, ends the run."""
        try:
            self.journal.until_ended(run_id)
        except KeyboardInterrupt:
            self.stop(run_id)
        found = self.journal.settled(run_id)
        assert found is not None  # noqa: S101 it was locked
        return found

    def _checked_drive(self, request: RunRequest) -> "FleetDrive":
        """The drive that the request means. Raises RefusedError, TargetError and UsageError."""
        if request.slot is None:
            raise UsageError(f"run {request.run_id} names no slot")
        if request.slot not in self.host.slots:
            raise UsageError(f"{self.host.name} has no slot {request.slot}: see its fleet file")
        where, drive = f"slot {request.slot} of {self.host.name}", self.in_slot(request.slot)
        if drive is None:
            raise TargetError(f"{where} is empty, and run {request.run_id} is for {request.serial}")
        if drive.is_block and drive.serial is None:
            raise RefusedError(f"refused [slot]: the drive in {where} reports no serial number")
        if request.serial is None and drive.is_block:
            raise UsageError(
                f"run {request.run_id} names no serial number, and {where} has drive {drive.serial}"
            )
        if not drive.is_block and request.target not in {None, drive.target}:
            raise RefusedError(
                f"refused [slot]: {where} has {drive.target}, and run {request.run_id} is for "
                f"{request.target}"
            )
        if drive.serial != request.serial:
            raise RefusedError(
                f"refused [slot]: {where} has drive {drive.serial}, and run {request.run_id} is for "
                f"{request.serial}"
            )
        expected = request.model or self.host.slots[request.slot].model
        if expected and drive.model != expected:
            raise RefusedError(f"refused [slot]: the drive in {where} is a {drive.model}, and no {expected}")
        return drive

    def in_slot(self, name: str) -> "FleetDrive | None":
        """What is in a slot now; None if nothing is."""
        target = self.host.slots[name].target
        is_empty = target.startswith("/") and not Path(target).exists()
        return None if is_empty else FleetDrive.at(target, self.roots)

    def slots(self) -> dict[str, str | None]:
        """The serial number of what is in each slot; None where nothing is, empty where it has none."""
        drives = {name: self.in_slot(name) for name in self.host.slots}
        return {name: None if drive is None else drive.serial or "" for name, drive in drives.items()}

    def _both(self, request: RunRequest, drive: "FleetDrive") -> list[str]:
        """No report: to make one takes processors that other drives' runs are measured on."""
        confirmed = ["--confirm-serial", drive.serial] if drive.is_block and drive.serial else []
        events = str(self.journal.events_of(request.run_id))
        return [*confirmed, "--events", events, "--no-report"]

    def stop(self, run_id: str) -> Observation:
        """Cancel a run: it is asked to end, then all that hold its claim are killed; nothing starts it later.

        Raises FleetError if a process holds it that can't be seen from here.
        """
        journal = self.journal
        found = journal.observe(run_id)
        if found is None or found.stage in {RunState.RUNNING, RunState.INTERRUPTED}:
            journal.change(run_id, cancelled_at=now())
        for number, patience_s in ((signal.SIGTERM, _TO_STOP_S), (signal.SIGKILL, _TO_DIE_S)):
            deadline_s = time.monotonic() + patience_s
            self._signal(run_id, number)
            while journal.is_alive(run_id) and time.monotonic() < deadline_s:
                time.sleep(_POLL_S)
        if journal.is_alive(run_id):
            claim = journal.claim_of(run_id)
            raise FleetError(f"run {run_id} is in progress in a hidden process: see fuser -v {claim}")
        found = journal.settled(run_id)
        assert found is not None  # noqa: S101 it has a note
        return found

    def _signal(self, run_id: str, number: int) -> None:
        journal = self.journal
        held = [lockers(path, self.roots) for path in (journal.claim_of(run_id), journal.lock_of(run_id))]
        for pid in {pid for pids in held for pid in pids} - {os.getpid()}:
            with suppress(ProcessLookupError):
                os.kill(pid, number)


class FleetDrive(Struct, frozen=True):
    """A drive as it is there: ``target`` names it for `openpts run`, by the kernel's own name of its node."""

    target: str
    serial: str | None
    model: str | None
    is_block: bool

    @classmethod
    def at(cls, target: str, roots: SystemRoots) -> "FleetDrive":
        """What a target names now; a link is followed once: what is checked is what is written to.

        Raises TargetError if there is no such drive.
        """
        if names_simulated(target) or target.startswith(_FILE):
            return cls(target, None, None, is_block=False)
        device = BlockDevice.of_node(Path(target), roots)
        return cls(str(device.node), serial_number(device).value, model(device).value, is_block=True)


def _may_begin(found: Observation | None, note: RunNote | None, *, again: bool) -> bool:
    """Whether a run that no process carries out may be begun, or gone on with.

    One that was killed before it had claimed its drive may begin, unless its end was reported to others.
    """
    if found is None or note is None:
        return found is None
    if note.cancelled_at is not None or found.stage is not RunState.INTERRUPTED:
        return False
    return again or (found.folder is None and not note.interrupted)
