"""Where a campaign stands: each of its runs with its state and the reason for it."""

from pathlib import Path
from typing import Final

from msgspec import Struct

from openpts.record.batch import batch_file, read_batch
from openpts.record.manifest import RunState
from openpts.vocabulary.document import Document
from openpts.vocabulary.run_request import RunRequest
from openpts_many.campaign.journal import CampaignState, is_carried_out

FETCHED: Final = "runs"
"""The folder with the run folders of other hosts, below that of the campaign."""


class RunStatus(Struct, frozen=True, kw_only=True):
    """A run of a campaign. ``folder`` is where its record is on this host, None if it is not here.

    ``state`` is a ``RunState``, of other hosts a ``RunStage``.
    """

    run_id: str
    number: int
    test: str
    condition: str | None
    repetition: int
    drive: str
    slot: str | None
    host: str | None
    state: str
    reason: str | None
    folder: str | None


class CampaignStatus(Document, frozen=True, kw_only=True, tag="openpts.campaign/1"):
    """All runs of a campaign. ``is_running``: a process carries it out."""

    title: str
    folder: str
    is_running: bool
    runs: tuple[RunStatus, ...]

    def counts(self) -> dict[str, int]:
        """How many runs are in which state, in the order in which states occur."""
        states = [str(run.state) for run in self.runs]
        return {state: states.count(state) for state in dict.fromkeys(states)}


def status_of(folder: Path, state: CampaignState) -> CampaignStatus:
    """What the campaign's folder tells of its runs. Raises RecordError."""
    running = is_carried_out(folder)
    entries = read_batch(folder).entries if batch_file(folder) else ()
    by_id = {entry.request.run_id: entry for entry in entries}
    runs = []
    for number, request in enumerate(state.requests, start=1):
        seen, entry = state.seen.get(request.run_id), by_id.get(request.run_id)
        if request.host and seen is not None:
            place = folder / FETCHED / request.run_id
            runs.append(_status(number, request, seen.stage, seen.reason or None, folder=place))
        elif not request.host and entry is not None:
            was_killed = entry.state is RunState.RUNNING and not running
            stands = RunState.INTERRUPTED if was_killed else entry.state
            reason = "the campaign was killed" if was_killed else entry.reason
            runs.append(
                _status(number, request, stands, reason, folder=folder / entry.folder, slot=entry.slot)
            )
        else:
            runs.append(_status(number, request, RunState.WAITING))
    return CampaignStatus(
        title=state.campaign.title, folder=str(folder), is_running=running, runs=tuple(runs)
    )


def _status(
    number: int,
    request: RunRequest,
    state: str,
    reason: str | None = None,
    *,
    folder: Path | None = None,
    slot: str | None = None,
) -> RunStatus:
    return RunStatus(
        run_id=request.run_id,
        number=number,
        test=request.test_words[0],
        condition=request.labels.get("condition"),
        repetition=int(request.labels["repetition"]),
        drive=request.serial or request.target or "",
        slot=request.slot or slot,
        host=request.host,
        state=state,
        reason=reason,
        folder=str(folder) if folder is not None and folder.exists() else None,
    )
