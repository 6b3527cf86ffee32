"""Which drives were under load in the slots beside another: their heat is in its temperature."""

from msgspec.structs import replace

from openpts.record.batch import Batch, BatchEntry, Neighbor
from openpts_batch.slots import are_beside


def with_loaded_neighbors(batch: Batch, ended: int) -> Batch:
    """The batch after an entry's run has ended: it and those beside it have each other's time under load."""
    entries = list(batch.entries)
    for index, entry in enumerate(entries):
        if index != ended and are_beside(entry.slot, entries[ended].slot):
            for one, other in ((index, ended), (ended, index)):
                entries[one] = _beside(entries[one], entries[other])
    return replace(batch, entries=tuple(entries))


def _beside(entry: BatchEntry, other: BatchEntry) -> BatchEntry:
    """The entry with the time that both were under load; noted when the second of them has ended."""
    if None in (entry.started_at, entry.ended_at, other.started_at, other.ended_at):
        return entry
    since = max(str(entry.started_at), str(other.started_at))
    until = min(str(entry.ended_at), str(other.ended_at))
    if since >= until:
        return entry
    neighbor = Neighbor(slot=str(other.slot), run_id=other.request.run_id, since=since, until=until)
    return replace(entry, neighbors=(*entry.neighbors, neighbor))
