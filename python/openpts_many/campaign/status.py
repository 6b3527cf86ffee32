"""Where a campaign stands: each of its runs with its state and the reason for it."""

from pathlib import Path
from typing import Final

from msgspec import Struct

from openpts.ownership import CLAIM_NAME, is_locked
from openpts.record.batch import Batch, BatchEntry
from openpts.record.manifest import RunState
from openpts.vocabulary.document import Document
from openpts_many.campaign.begun import campaign_of

_FETCHED: Final = "runs"
"""Below the campaign's folder, where earlier versions fetched the runs of other hosts to."""


class RunStatus(Struct, frozen=True, kw_only=True):
    """A run of a campaign. ``folder`` is where its record is, None if it is not on this host."""

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


def status_of(folder: Path, batch: Batch) -> CampaignStatus:
    """What the campaign's folder tells of its runs."""
    running = is_locked(folder / CLAIM_NAME)
    runs = [_status(folder, number, one, running) for number, one in enumerate(batch.entries, start=1)]
    return CampaignStatus(
        title=campaign_of(batch).title, folder=str(folder), is_running=running, runs=tuple(runs)
    )


def _status(folder: Path, number: int, entry: BatchEntry, running: bool) -> RunStatus:
    request = entry.request
    was_killed = entry.state is RunState.RUNNING and not request.host and not running
    places = (folder / entry.folder, folder / _FETCHED / request.run_id)
    return RunStatus(
        run_id=request.run_id,
        number=number,
        test=entry.test,
        condition=request.labels.get("condition"),
        repetition=int(request.labels["repetition"]),
        drive=request.serial or request.target or "",
        slot=request.slot or entry.slot,
        host=request.host,
        state=RunState.INTERRUPTED if was_killed else entry.state,
        reason="the campaign was killed" if was_killed else entry.reason,
        folder=next((str(place) for place in places if place.exists()), None),
    )
