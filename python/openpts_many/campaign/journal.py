"""What a campaign has decided, in its folder: the plan with all IDs first, then what came of it.

Lines of JSON, each on the disk before anything follows from it: a campaign that is killed finds its runs
again by their IDs, so that none is made twice.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

import msgspec
from msgspec import Struct

from openpts.errors import RecordError, failing_as
from openpts.ownership import is_locked, locked_alone
from openpts.record.decoding import decode_json
from openpts.run_folder_files import read_file, synchronize_folder, write_files
from openpts.vocabulary.run_request import RunRequest
from openpts_many.campaign.campaign_file import Campaign
from openpts_many.fleet.port import Observation

JOURNAL_NAME: Final = "campaign.jsonl"
_LOCK_NAME: Final = "campaign.lock"


class Planned(Struct, frozen=True, kw_only=True, tag="planned", tag_field="kind"):
    """The campaign as it began: its file, and its runs in their order. ``at`` is ISO 8601, UTC."""

    format: Literal["openpts-campaign"] = "openpts-campaign"
    version: str = "1.0"
    at: str
    campaign: Campaign
    requests: tuple[RunRequest, ...]


class Replaced(Struct, frozen=True, kw_only=True, tag="replaced", tag_field="kind"):
    """A run that was cut off is made again as another one."""

    at: str
    run_id: str
    by: RunRequest


class Seen(Struct, frozen=True, kw_only=True, tag="seen", tag_field="kind"):
    """A run on another host as it was seen when its stage had changed."""

    at: str
    observation: Observation


_Line = Planned | Replaced | Seen


class CampaignState(Struct, frozen=True, kw_only=True):
    """The plan with what came of it. ``requests`` are those that count now; ``seen`` is by run ID."""

    campaign: Campaign
    requests: tuple[RunRequest, ...]
    seen: dict[str, Observation] = {}


def begin(folder: Path, campaign: Campaign, requests: Sequence[RunRequest]) -> CampaignState:
    """Write the plan: from now on these are the runs. Raises RecordError."""
    planned = Planned(at=_now(), campaign=campaign, requests=tuple(requests))
    with failing_as(RecordError, f"can't write {folder / JOURNAL_NAME}"):
        write_files(folder, {JOURNAL_NAME: msgspec.json.encode(planned) + b"\n"})
    return CampaignState(campaign=campaign, requests=planned.requests)


def has_begun(folder: Path) -> bool:
    """Whether the folder has the plan of a campaign."""
    return os.path.lexists(folder / JOURNAL_NAME)


def read_state(folder: Path) -> CampaignState:
    """The campaign of a folder as its journal has it. Raises RecordError.

    A last line without its end was cut off while it was written, and nothing followed from it.
    """
    with failing_as(RecordError, f"can't read {folder / JOURNAL_NAME}"):
        *whole, _torn = read_file(folder, JOURNAL_NAME).split(b"\n")
        lines: list[_Line] = [decode_json(line, _Line) for line in whole]
    if not lines or not isinstance(lines[0], Planned):
        raise RecordError(f"can't read {folder / JOURNAL_NAME}: it does not begin with a plan")
    requests = lines[0].requests
    seen: dict[str, Observation] = {}
    for line in lines[1:]:
        match line:
            case Replaced():
                requests = tuple(line.by if one.run_id == line.run_id else one for one in requests)
            case Seen():
                seen[line.observation.run_id] = line.observation
    return CampaignState(campaign=lines[0].campaign, requests=requests, seen=seen)


def note_replaced(folder: Path, run_id: str, by: RunRequest) -> None:
    """A run gives way to a new one. Raises RecordError."""
    _append(folder, Replaced(at=_now(), run_id=run_id, by=by))


def note_seen(folder: Path, observation: Observation) -> None:
    """A run on another host has another stage now. Raises RecordError."""
    _append(folder, Seen(at=_now(), observation=observation))


def _append(folder: Path, line: _Line) -> None:
    path = folder / JOURNAL_NAME
    with failing_as(RecordError, f"can't write {path}"):
        fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            end = read_file(folder, JOURNAL_NAME).rfind(b"\n") + 1  # over a line that was cut off
            os.ftruncate(fd, end)
            os.pwrite(fd, msgspec.json.encode(line) + b"\n", end)
            os.fsync(fd)
        finally:
            os.close(fd)
        synchronize_folder(folder)


def is_carried_out(folder: Path) -> bool:
    """Whether a process carries out the campaign now."""
    return is_locked(folder / _LOCK_NAME)


@contextmanager
def carried_out_here(folder: Path) -> Iterator[None]:
    """No other process carries out the campaign as long as the block lasts. Raises RecordError."""
    with ExitStack() as held:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            held.enter_context(locked_alone(folder / _LOCK_NAME))
        except BlockingIOError as error:
            raise RecordError(f"another process carries out the campaign in {folder}") from error
        except OSError as error:
            raise RecordError(f"can't write the campaign in {folder}: {error.strerror}") from error
        yield


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
