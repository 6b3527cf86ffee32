"""A campaign's runs on this host, carried out as a lot in the campaign's folder."""

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from openpts.errors import RecordError
from openpts.lot.lot_runner import LotRunner, Reporter, as_recorded, new_lot
from openpts.ownership import CLAIM_NAME, new_run_id, until_unlocked
from openpts.record.lot import DONE, LOT_NAME, Lot, LotEntry, read_lot, write_lot
from openpts.record.suite import SuiteState
from openpts.vocabulary.run_request import RunRequest
from openpts_many.campaign.campaign_file import Campaign, OnInterruption
from openpts_many.campaign.journal import note_replaced


def runner_here(
    folder: Path, campaign: Campaign, requests: Sequence[RunRequest], report: Reporter | None
) -> LotRunner:
    """What carries out the runs of a campaign that are not done, in its folder. Raises RecordError.

    The lot is on the disk already, so that its claims of the folder are those of one lot.
    """
    lot = _lot(folder, campaign, requests)
    lot = replace(lot, at_most=campaign.at_most, stagger_s=campaign.stagger_s, ended_at=None)
    write_lot(folder, lot)
    return LotRunner(folder, lot, report=report)


def _lot(folder: Path, campaign: Campaign, requests: Sequence[RunRequest]) -> Lot:
    """The lot with what is left as waiting."""
    if not (folder / LOT_NAME).exists():
        return new_lot(requests)
    lot = read_lot(folder)
    known = {entry.request.run_id for entry in lot.entries}
    if len(lot.entries) != len(requests):
        raise RecordError(f"{folder / LOT_NAME} has other runs than the campaign")
    entries = []
    for entry, request in zip(lot.entries, requests, strict=True):
        # of a replacement that was cut off behind the journal's line, the lot has the run before
        own = entry if request.run_id in known else _replaced(entry, request)
        entries.append(_left(folder, own, campaign.interrupted))
    return replace(lot, entries=tuple(entries))


def _left(folder: Path, entry: LotEntry, interrupted: OnInterruption) -> LotEntry:
    """As it is by its record, or the one that takes its place."""
    until_unlocked(folder / entry.folder / CLAIM_NAME)  # what the kernel ends with its campaign takes seconds
    found = as_recorded(folder, entry)
    if found.state is SuiteState.INTERRUPTED and interrupted is OnInterruption.REPEAT:
        again = replace(entry.request, run_id=new_run_id())
        note_replaced(folder, entry.request.run_id, again)
        return _replaced(entry, again)
    return found if found.state in DONE else replace(found, state=SuiteState.WAITING)


def _replaced(entry: LotEntry, request: RunRequest) -> LotEntry:
    """The run that takes the place of one that was cut off, whose folder stays."""
    return LotEntry(request=request, folder=f"{entry.folder}-again")
