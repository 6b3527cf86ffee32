"""A campaign's runs on this host, carried out as a batch in the campaign's folder."""

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from openpts.batch.executor import Reporter
from openpts.batch.side_by_side import SideBySide, as_recorded, new_batch
from openpts.errors import RecordError
from openpts.ownership import CLAIM_NAME, new_run_id, until_unlocked
from openpts.record.batch import BATCH_NAME, DONE, Batch, BatchEntry, batch_file, read_batch, write_batch
from openpts.record.manifest import RunState
from openpts.vocabulary.run_request import RunRequest
from openpts_many.campaign.campaign_file import Campaign, OnInterruption
from openpts_many.campaign.journal import note_replaced


def runner_here(
    folder: Path, campaign: Campaign, requests: Sequence[RunRequest], report: Reporter | None
) -> SideBySide:
    """What carries out the runs of a campaign that are not done, in its folder. Raises RecordError.

    The batch is on the disk already, so that its claims of the folder are those of one batch.
    """
    batch = _batch(folder, campaign, requests)
    batch = replace(batch, at_most=campaign.at_most, stagger_s=campaign.stagger_s, ended_at=None)
    write_batch(folder, batch)
    return SideBySide(folder=folder, batch=batch, report=report)


def _batch(folder: Path, campaign: Campaign, requests: Sequence[RunRequest]) -> Batch:
    """The batch with what is left as waiting."""
    if batch_file(folder) is None:
        return new_batch(requests)
    batch = read_batch(folder)
    known = {entry.request.run_id for entry in batch.entries}
    if len(batch.entries) != len(requests):
        raise RecordError(f"{folder / BATCH_NAME} has other runs than the campaign")
    entries = []
    for entry, request in zip(batch.entries, requests, strict=True):
        # of a replacement that was cut off behind the journal's line, the batch has the run before
        own = entry if request.run_id in known else _replaced(entry, request)
        entries.append(_left(folder, own, campaign.interrupted))
    return replace(batch, entries=tuple(entries))


def _left(folder: Path, entry: BatchEntry, interrupted: OnInterruption) -> BatchEntry:
    """As it is by its record, or the one that takes its place."""
    until_unlocked(folder / entry.folder / CLAIM_NAME)  # what the kernel ends with its campaign takes seconds
    found = as_recorded(folder, entry)
    if found.state is RunState.INTERRUPTED and interrupted is OnInterruption.REPEAT:
        again = replace(entry.request, run_id=new_run_id())
        note_replaced(folder, entry.request.run_id, again)
        return _replaced(entry, again)
    return found if found.state in DONE else replace(found, state=RunState.WAITING)


def _replaced(entry: BatchEntry, request: RunRequest) -> BatchEntry:
    """The run that takes the place of one that was cut off, whose folder stays."""
    return BatchEntry(request=request, folder=f"{entry.folder}-again")
