"""What became of each drive of a lot: lot.json beside the run folders."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta, Struct

from openpts.errors import RecordError, failing_as
from openpts.record.decoding import decode_json
from openpts.record.suite import SuiteState
from openpts.run_folder_files import read_file, write_files
from openpts.units import format_count
from openpts.vocabulary.memory_bandwidth import MemoryBandwidth
from openpts.vocabulary.run_request import RunRequest

LOT_NAME: Final = "lot.json"
VERSION: Final = "1.1"
"""Major and minor: fields that are added raise the minor one, all else the major one."""

DONE: Final = frozenset({SuiteState.COMPLETE, SuiteState.FAILED})
"""What a resumed lot leaves as it is; a run that failed can be resumed alone."""


FolderName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]+$")]
"""Of a folder in the lot's: lots travel between labs, and such a name leads nowhere else."""


def folder_word(text: str) -> str:
    """Text as part of a folder name in a lot: other characters become ``_``."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", text)


class Neighbor(Struct, frozen=True, kw_only=True):
    """A drive in the slot beside, under load at the same time; times are ISO 8601, UTC."""

    slot: str
    run_id: str
    since: str
    until: str


class LotEntry(Struct, frozen=True, kw_only=True):
    """One run. ``folder`` is a name in the lot's, and that of its log without ``.log``.

    ``reason`` says why the state is what it is, ``reports`` are names in ``folder``. ``cpus`` are those that
    its threads were pinned to, None where the lot left that to the run. Times are those of its process.
    """

    request: RunRequest
    folder: FolderName
    state: SuiteState = SuiteState.WAITING
    exit_code: int | None = None
    reason: str | None = None
    slot: str | None = None
    numa_node: int | None = None
    cpus: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    neighbours: tuple[Neighbor, ...] = ()
    reports: tuple[str, ...] = ()
    report_reason: str | None = None


class Lot(Struct, frozen=True, kw_only=True):
    """All runs in the order in which they start. Times are ISO 8601, UTC.

    ``lot_id`` is in the claim of its folder. ``at_most`` so many run at once, None: all; ``stagger_s`` is the
    time between two starts. ``host_limits`` say which part of the host can't drive so many at once.
    ``memory`` is that of the host, None where all drives are simulated.
    """

    format: Literal["openpts-lot"] = "openpts-lot"
    version: str = VERSION
    lot_id: str
    command_line: tuple[str, ...] = ()
    started_at: str
    ended_at: str | None = None
    at_most: int | None = None
    stagger_s: float = 0.0
    host_limits: tuple[str, ...] = ()
    memory: MemoryBandwidth | None = None
    entries: tuple[LotEntry, ...] = ()


def write_lot(folder: Path, lot: Lot) -> None:
    """Replace lot.json as a whole. Raises RecordError."""
    with failing_as(RecordError, f"can't write {folder / LOT_NAME}"):
        write_files(folder, {LOT_NAME: msgspec.json.format(msgspec.json.encode(lot), indent=1)})


def read_lot(folder: Path) -> Lot:
    """Load a lot's folder. Raises RecordError."""
    with failing_as(RecordError, f"can't read {folder / LOT_NAME}"):
        return decode_json(read_file(folder, LOT_NAME), Lot)


def entry_of(run_folder: Path) -> LotEntry | None:
    """What the lot that a run belongs to has on it; None of a run by itself. Raises RecordError."""
    if not os.path.lexists(run_folder.parent / LOT_NAME):
        return None
    entries = read_lot(run_folder.parent).entries
    return next((entry for entry in entries if entry.folder == run_folder.name), None)


def counts_text(entries: Sequence[LotEntry]) -> str:
    """How many drives are in which state: ``16 drives: 3 running, 13 waiting``."""
    counts = [(state, sum(entry.state is state for entry in entries)) for state in SuiteState]
    states = ", ".join(f"{count} {state}" for state, count in counts if count)
    return f"{format_count(len(entries), 'drive')}: {states}"
