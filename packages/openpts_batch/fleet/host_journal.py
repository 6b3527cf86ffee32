"""What a host knows of its runs, on its own disk: this decides, and not what a scheduler remembers.

A run's folder says most of it: the claim that its processes hold, and in the record how it ended. A note
beside the folders has what these can't say: what was asked for, the scheduler's numbers of each attempt, a
refusal before there was a folder, and that the run was cancelled.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct, field, structs

from openpts.errors import FleetError, RecordError, failing_as
from openpts.ownership import CLAIM_NAME, is_locked, locked_alone, read_owner, until_unlocked
from openpts.record.batch import DONE
from openpts.record.decoding import decode_json
from openpts.record.manifest import Manifest, RunState
from openpts.record.reader import read_manifest
from openpts.run_folder_files import read_file, write_files
from openpts.system_files import SystemRoots, boot_id
from openpts.vocabulary.run_request import RunRequest
from openpts_batch.fleet.observation import Observation

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
            said = "is starting" if owner is None else f"process {owner.pid}, since {owner.since}"
            return RunState.RUNNING, said
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
            return RunState.INTERRUPTED, f"can't go on: {note.refused}"
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
