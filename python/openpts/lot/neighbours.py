"""Which drives were under load beside another: their heat is in its temperature."""

import re
from typing import Final

from msgspec.structs import replace

from openpts.record.lot import Lot, LotEntry, Neighbour

_NUMBER: Final = re.compile(r"(.*?)0*([0-9]+)")
_NOT_IN_SPACE: Final = ("-", ".", ":")
"""Before the number of a port or a PCI function in the name of a path."""


def with_neighbours(lot: Lot, ended: int) -> Lot:
    """The lot after an entry's run has ended: it and those beside it have each other's time under load."""
    entries = list(lot.entries)
    for index, entry in enumerate(entries):
        if index != ended and _adjacent(entry.slot, entries[ended].slot):
            for one, other in ((index, ended), (ended, index)):
                entries[one] = _beside(entries[one], entries[other])
    return replace(lot, entries=tuple(entries))


def _beside(entry: LotEntry, other: LotEntry) -> LotEntry:
    """The entry with the time that both were under load; noted when the second of them has ended."""
    if None in (entry.started_at, entry.ended_at, other.started_at, other.ended_at):
        return entry
    since = max(str(entry.started_at), str(other.started_at))
    until = min(str(entry.ended_at), str(other.ended_at))
    if since >= until:
        return entry
    neighbour = Neighbour(slot=str(other.slot), run_id=other.request.run_id, since=since, until=until)
    return replace(entry, neighbours=(*entry.neighbours, neighbour))


def _adjacent(one: str | None, other: str | None) -> bool:
    """Whether slots are numbered one behind the other, in the same enclosure; paths are not."""
    first, second = (_NUMBER.fullmatch(text or "") for text in (one, other))
    if first is None or second is None or first[1] != second[1] or first[1].endswith(_NOT_IN_SPACE):
        return False
    return abs(int(first[2]) - int(second[2])) == 1
