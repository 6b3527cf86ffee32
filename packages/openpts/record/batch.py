"""What became of each run of a batch: batch.json beside the run folders."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct, field

from openpts.errors import RecordError, failing_as
from openpts.output_files import BATCH_NAME
from openpts.ownership import CLAIM_NAME, read_owner
from openpts.record.decoding import decode_json, other_version
from openpts.record.manifest import RequestedSettings, RunState
from openpts.run_folder_files import read_file, write_files
from openpts.units import format_count
from openpts.vocabulary.bandwidth import MemoryBandwidth
from openpts.vocabulary.facts import People, Purpose
from openpts.vocabulary.run_request import RunRequest

INDEX_NAME: Final = "index.html"  # the page on a batch, beside its file
VERSION: Final = "1.0"  # major and minor: fields that are added raise the minor one, all else the major one
DONE: Final = frozenset({RunState.COMPLETE, RunState.FAILED})
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
    ``conditions`` are those that were ordered, of a test of a suite, for one that is resumed before it began.
    """

    request: RunRequest
    folder: FolderName
    state: RunState = RunState.WAITING
    exit_code: int | None = None
    reason: str | None = None
    slot: str | None = None
    numa_node: int | None = None
    cpus: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    neighbors: tuple[Neighbor, ...] = field(default=(), name="neighbours")
    reports: tuple[str, ...] = ()
    report_reason: str | None = None
    conditions: dict[str, Any] | None = None

    @property
    def test(self) -> str:
        """The name of the test."""
        return self.request.test_words[0]


class Suite(Struct, frozen=True, kw_only=True):
    """What the tests of a batch on one drive have in common: they run in turn, in one process.

    ``keep_going``: continue after a test that failed during its run.
    """

    target: str
    revision: str
    ordered: RequestedSettings
    people: People = field(default_factory=People)
    purpose: Purpose = field(default_factory=Purpose)
    keep_going: bool = True


class Batch(Struct, frozen=True, kw_only=True):
    """All runs in the order in which they start. Times are ISO 8601, UTC.

    ``batch_id`` is in the claim of its folder. ``at_most`` so many run at once, None: all; ``stagger_s`` is
    the time between two starts. ``host_limits`` say which part of the host can't drive so many at once.
    ``memory`` is that of the host, None where all drives are simulated. ``suite`` is None where each drive
    has a run, and a report, of its own; ``reports`` are those on all tests of a suite together, beside
    batch.json, and ``report_reason`` says why there is none. ``inputs`` are the files that the operator wrote
    for a suite, by the names of the copies that each run has: the first that begins has them from here.
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
    suite: Suite | None = None
    reports: tuple[str, ...] = ()
    report_reason: str | None = None
    inputs: dict[str, bytes] = {}

    @property
    def kind(self) -> str:
        """What an operator calls it."""
        return "batch" if self.suite is None else "suite"


def write_batch(folder: Path, batch: Batch) -> None:
    """Replace batch.json as a whole. Raises RecordError."""
    with failing_as(RecordError, f"can't write {folder / BATCH_NAME}"):
        write_files(folder, {BATCH_NAME: msgspec.json.format(msgspec.json.encode(batch), indent=1)})


def read_batch(folder: Path) -> Batch:
    """Load a batch's folder. Raises RecordError, also for batch.json of another major version."""
    with failing_as(RecordError, f"can't read {folder / BATCH_NAME}"):
        raw = read_file(folder, BATCH_NAME)
        found: str = decode_json(raw, _Version).version
        if found.partition(".")[0] != (reads := VERSION.partition(".")[0]):
            owner = read_owner(folder / CLAIM_NAME)
            writer = "" if owner is None else f"openpts {owner.version}"
            raise other_version(folder / BATCH_NAME, "batch", found, reads, writer=writer)
        return decode_json(raw, Batch)


class _Version(Struct):
    version: str


def is_batch(folder: Path) -> bool:
    """Whether a folder is that of a batch."""
    return os.path.lexists(folder / BATCH_NAME)


def has_drives_apart(folder: Path) -> bool:
    """Whether a folder is that of a batch of drives that each have a report. Raises RecordError."""
    return is_batch(folder) and read_batch(folder).kind == "batch"


def entry_of(run_folder: Path) -> BatchEntry | None:
    """What the batch that a run belongs to has on it; None of a run by itself. Raises RecordError."""
    if not is_batch(run_folder.parent):
        return None
    entries = read_batch(run_folder.parent).entries
    return next((entry for entry in entries if entry.folder == run_folder.name), None)


_ENTRIES: Final = {"suite": "test", "batch": "drive"}


def counts_text(states: Sequence[str], kind: str) -> str:
    """How many entries of a batch are in which state: ``16 drives: 3 running, 13 waiting``."""
    counts = [f"{states.count(state)} {state}" for state in RunState if state in states]
    return f"{format_count(len(states), _ENTRIES[kind])}: {', '.join(counts)}"
