"""A campaign that has begun: a batch in its folder, with all IDs before the first run starts.

A campaign that is killed finds its runs again by their IDs, so that none is made twice.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from openpts.batch.side_by_side import new_batch
from openpts.errors import RecordError, failing_as
from openpts.record.batch import Batch, BatchEntry, read_batch, write_batch
from openpts.record.manifest import RunState
from openpts.vocabulary.run_request import RunRequest
from openpts_many.campaign.campaign_file import Campaign, OnInterruption
from openpts_many.fleet.port import Observation


def new_campaign(campaign: Campaign, requests: Sequence[RunRequest]) -> Batch:
    """The batch of a campaign that has not begun; runs of other hosts have their IDs as folders."""
    batch = as_planned(new_batch(requests), campaign)
    entries = [replace(one, folder=one.request.run_id) if one.request.host else one for one in batch.entries]
    return replace(batch, entries=tuple(entries))


def begin(folder: Path, campaign: Campaign, requests: Sequence[RunRequest]) -> Batch:
    """Write the batch: from now on these are the runs. Raises RecordError.

    The folder is claimed under the batch's ID afterwards, so that one that is killed between them goes on.
    """
    with failing_as(RecordError, f"can't write the campaign in {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
    batch = new_campaign(campaign, requests)
    write_batch(folder, batch)
    return batch


def as_planned(batch: Batch, campaign: Campaign) -> Batch:
    """The batch of a campaign whose file is this one by now."""
    return replace(
        batch,
        campaign=msgspec.to_builtins(campaign),
        repeats=campaign.interrupted is OnInterruption.REPEAT,
        at_most=campaign.at_most,
        stagger_s=campaign.stagger_s,
    )


def campaign_of(batch: Batch) -> Campaign:
    """What the file of a campaign had when it was carried out last. Raises RecordError."""
    with failing_as(RecordError, "can't read the campaign of a batch"):
        return msgspec.convert(batch.campaign, Campaign)


def read_begun(folder: Path) -> Batch:
    """The batch of a campaign. Raises RecordError."""
    batch = read_batch(folder)
    if batch.campaign is None:
        raise RecordError(f"{folder} is the folder of a {batch.kind}, and of no campaign")
    return batch


def as_seen(entry: BatchEntry, seen: Observation | None) -> BatchEntry:
    """A run on another host that was seen so; one that failed without a folder was refused."""
    if seen is None:
        return entry
    was_refused = seen.stage is RunState.FAILED and seen.is_certain and seen.folder is None
    state = RunState.REFUSED if was_refused else seen.stage
    return replace(entry, state=state, reason=seen.reason or None, is_certain=seen.is_certain)
