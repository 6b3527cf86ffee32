"""What became of each test of a suite: suite.json beside the run folders."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import msgspec

from openpts.errors import RecordError, failing_as
from openpts.procedures.registry import AnyConditions
from openpts.record.decoding import decode_json
from openpts.record.manifest import Ordered
from openpts.run_folder_files import read_file, write_files
from openpts.vocabulary.people import People
from openpts.vocabulary.purpose import Purpose

SUITE_NAME = "suite.json"
INDEX_NAME = "index.html"
"""The page on a suite, or on a batch, beside its file."""


class SuiteState(StrEnum):
    """State of a test of a suite; REFUSED: it ended before anything was written."""

    WAITING = "waiting"
    RUNNING = "running"
    COMPLETE = "complete"
    INTERRUPTED = "interrupted"
    FAILED = "failed"
    REFUSED = "refused"

    @property
    def has_ended(self) -> bool:
        """Whether a record may be there to which nothing is written any more."""
        return self not in {SuiteState.WAITING, SuiteState.RUNNING, SuiteState.REFUSED}


@dataclass(frozen=True, slots=True)
class SuiteEntry:
    """One test. ``folder`` is a name in the suite's, ``reports`` are in that; ``section`` is one of PTS.

    ``conditions`` are those that were ordered, for a suite that is resumed before the test has begun; None in
    older suites. ``exit_code`` is that of a test that ended with an error.
    """

    test: str
    title: str
    section: int
    folder: str
    state: SuiteState = SuiteState.WAITING
    reason: str | None = None
    reports: tuple[str, ...] = ()
    report_reason: str | None = None
    conditions: AnyConditions | None = None
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class Suite:
    """All tests in the order in which they run. Times are ISO 8601, UTC.

    ``reports`` are those on all tests together, beside suite.json; ``report_reason`` says why there is none.
    ``ordered``, ``people`` and ``purpose`` are of all tests; None and empty in older suites. ``keep_going``:
    continue after a test that failed during its run. ``inputs`` are the files that the operator wrote, by the
    names of the copies that each run has: the first that begins has them from here.
    """

    target: str
    revision: str
    command_line: tuple[str, ...]
    started_at: str
    entries: tuple[SuiteEntry, ...] = ()
    ended_at: str | None = None
    reports: tuple[str, ...] = ()
    report_reason: str | None = None
    ordered: Ordered | None = None
    people: People = field(default_factory=People)
    purpose: Purpose = field(default_factory=Purpose)
    keep_going: bool = True
    inputs: dict[str, bytes] = field(default_factory=dict)


def write_suite(folder: Path, suite: Suite) -> None:
    """Replace suite.json as a whole. Raises RecordError."""
    with failing_as(RecordError, f"can't write {folder / SUITE_NAME}"):
        write_files(folder, {SUITE_NAME: msgspec.json.format(msgspec.json.encode(suite), indent=1)})


def read_suite(folder: Path) -> Suite:
    """Load a suite's folder. Raises RecordError."""
    with failing_as(RecordError, f"can't read {folder / SUITE_NAME}"):
        return decode_json(read_file(folder, SUITE_NAME), Suite)
