"""What became of each drive of a batch: batch.json beside the run folders."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

from openpts.errors import RecordError, failing_as
from openpts.record.decoding import decode_json
from openpts.record.suite import SuiteState
from openpts.run_folder_files import read_file, write_files
from openpts.units import format_count
from openpts.vocabulary.memory_bandwidth import MemoryBandwidth
from openpts.vocabulary.run_request import RunRequest

BATCH_NAME: Final = "batch.json"
_LOT_NAME: Final = "lot.json"
"""What the file was called when a batch was a lot, with ``lot_id``."""
VERSION: Final = "1.0"
"""Major and minor: fields that are added raise the minor one, all else the major one."""

DONE: Final = frozenset({SuiteState.COMPLETE, SuiteState.FAILED})
"""What a resumed batch leaves as it is; a run that failed can be resumed alone."""


FolderName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]+$")]
"""Of a folder in the batch's: batches travel between labs, and such a name leads nowhere else."""


def folder_word(text: str) -> str:
    """Text as part of a folder name in a batch: other characters become ``_``."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", text)


class Neighbor(Struct, frozen=True, kw_only=True):
    """A drive in the slot beside, under load at the same time; times are ISO 8601, UTC."""

    slot: str
    run_id: str
    since: str
    until: str


class BatchEntry(Struct, frozen=True, kw_only=True):
    """One run. ``folder`` is a name in the batch's, and that of its log without ``.log``.

    ``reason`` says why the state is what it is, ``reports`` are names in ``folder``. ``cpus`` are those that
    its threads were pinned to, None where the batch left that to the run. Times are those of its process.
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


class Batch(Struct, frozen=True, kw_only=True):
    """All runs in the order in which they start. Times are ISO 8601, UTC.

    ``batch_id`` is in the claim of its folder. ``at_most`` so many run at once, None: all; ``stagger_s`` is
    the time between two starts. ``host_limits`` say which part of the host can't drive so many at once.
    ``memory`` is that of the host, None where all drives are simulated.
    """

    format: Literal["openpts-batch"] = "openpts-batch"
    version: str = VERSION
    batch_id: str
    command_line: tuple[str, ...] = ()
    started_at: str
    ended_at: str | None = None
    at_most: int | None = None
    stagger_s: float = 0.0
    host_limits: tuple[str, ...] = ()
    memory: MemoryBandwidth | None = None
    entries: tuple[BatchEntry, ...] = ()


def write_batch(folder: Path, batch: Batch) -> None:
    """Replace batch.json as a whole. Raises RecordError."""
    with failing_as(RecordError, f"can't write {folder / BATCH_NAME}"):
        write_files(folder, {BATCH_NAME: msgspec.json.format(msgspec.json.encode(batch), indent=1)})


def read_batch(folder: Path) -> Batch:
    """Load a batch's folder. Raises RecordError."""
    name = BATCH_NAME if os.path.lexists(folder / BATCH_NAME) else _LOT_NAME
    with failing_as(RecordError, f"can't read {folder / name}"):
        raw = read_file(folder, name)
        if name == BATCH_NAME:
            return decode_json(raw, Batch)
        of_lot: dict[str, Any] = decode_json(raw, dict[str, Any])
        return msgspec.convert(
            of_lot | {"batch_id": of_lot.get("lot_id"), "format": "openpts-batch"}, type=Batch
        )


def is_batch(folder: Path) -> bool:
    """Whether a folder is that of a batch."""
    return any(os.path.lexists(folder / name) for name in (BATCH_NAME, _LOT_NAME))


def entry_of(run_folder: Path) -> BatchEntry | None:
    """What the batch that a run belongs to has on it; None of a run by itself. Raises RecordError."""
    if not is_batch(run_folder.parent):
        return None
    entries = read_batch(run_folder.parent).entries
    return next((entry for entry in entries if entry.folder == run_folder.name), None)


def counts_text(entries: Sequence[BatchEntry]) -> str:
    """How many drives are in which state: ``16 drives: 3 running, 13 waiting``."""
    counts = [(state, sum(entry.state is state for entry in entries)) for state in SuiteState]
    states = ", ".join(f"{count} {state}" for state, count in counts if count)
    return f"{format_count(len(entries), 'drive')}: {states}"
