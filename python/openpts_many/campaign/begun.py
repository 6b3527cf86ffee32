"""A campaign that has begun: a batch in its folder, with all IDs before the first run starts.

A campaign that is killed finds its runs again by their IDs, so that none is made twice.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from openpts.errors import RecordError, failing_as
from openpts.record.batch import Batch, BatchEntry, batch_file, read_batch, write_batch
from openpts.record.decoding import decode_json
from openpts.record.manifest import RunState
from openpts.run_folder_files import read_file
from openpts.vocabulary.run_request import RunRequest
from openpts_many.campaign.campaign_file import Campaign, OnInterruption
from openpts_many.fleet.port import Observation

JOURNAL_NAME: Final = "campaign.jsonl"
"""What earlier versions had beside, or in place of, batch.json."""


def new_campaign(campaign: Campaign, requests: Sequence[RunRequest]) -> Batch:
    """The batch of a campaign that has not begun; runs of other hosts have their IDs as folders."""
    from openpts.batch.side_by_side import new_batch  # noqa: PLC0415 help needs nothing that runs

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


def has_begun(folder: Path) -> bool:
    """Whether the folder has a batch, or the campaign of an earlier version."""
    return batch_file(folder) is not None or os.path.lexists(folder / JOURNAL_NAME)


def read_begun(folder: Path) -> Batch:
    """The batch of a campaign, also of an earlier version. Raises RecordError."""
    batch = read_batch(folder) if batch_file(folder) is not None else None
    if batch is not None and batch.campaign is not None:
        return batch
    if not os.path.lexists(folder / JOURNAL_NAME):
        raise RecordError(f"{folder} is the folder of a batch, and of no campaign")
    with failing_as(RecordError, f"can't read {folder / JOURNAL_NAME}"):
        *whole, _torn = read_file(folder, JOURNAL_NAME).split(b"\n")
        return _of_journal([decode_json(line, _Line) for line in whole], batch)


class _Planned(Struct, frozen=True, kw_only=True, tag="planned", tag_field="kind"):
    at: str
    campaign: Campaign
    requests: tuple[RunRequest, ...]


class _Replaced(Struct, frozen=True, kw_only=True, tag="replaced", tag_field="kind"):
    run_id: str
    by: RunRequest


class _Seen(Struct, frozen=True, kw_only=True, tag="seen", tag_field="kind"):
    observation: Observation


_Line = _Planned | _Replaced | _Seen


def _of_journal(lines: Sequence[_Line], here: Batch | None) -> Batch:
    """``here`` is the batch of the runs on this host, which is what counts for them."""
    if not lines or not isinstance(lines[0], _Planned) or not lines[0].requests:
        raise RecordError("it does not begin with a plan")
    planned, requests = lines[0], lines[0].requests
    if here is not None:
        return as_planned(here, planned.campaign)
    seen: dict[str, Observation] = {}
    for line in lines[1:]:
        match line:
            case _Replaced():
                requests = tuple(line.by if one.run_id == line.run_id else one for one in requests)
            case _Seen():
                seen[line.observation.run_id] = line.observation
    batch = new_campaign(planned.campaign, requests)
    entries = [as_seen(one, seen.get(one.request.run_id)) for one in batch.entries]
    first = planned.requests[0].run_id  # an ID that stays until batch.json is written
    return replace(batch, batch_id=first, started_at=planned.at, entries=tuple(entries))


def as_seen(entry: BatchEntry, seen: Observation | None) -> BatchEntry:
    """A run on another host that was seen so; one that failed without a folder was refused."""
    if seen is None:
        return entry
    was_refused = seen.stage is RunState.FAILED and seen.is_certain and seen.folder is None
    state = RunState.REFUSED if was_refused else seen.stage
    return replace(entry, state=state, reason=seen.reason or None, is_certain=seen.is_certain)
