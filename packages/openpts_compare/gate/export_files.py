"""Exports as files, where the operator wants them."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from openpts.errors import RecordError, UsageError, failing_as
from openpts.output_files import write_outputs


def write_export(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a folder, which is made if it is not there. Raises RecordError.

    Raises UsageError for ``-``, which elsewhere means standard output, and would be a file of that name here.
    """
    if "-" in files:
        raise UsageError("- is no place for this output: name a file")
    with failing_as(RecordError, f"can't write the export into {folder}"):
        write_outputs(folder, files)


class CaseOutcome(StrEnum):
    """FAILED: the drive did not pass. ERROR: there is no result. SKIPPED: there is nothing to judge."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"


class JunitCase(Struct, frozen=True):
    """One verdict. ``message`` says why it is not PASSED, ``output`` are lines to show with it."""

    name: str
    classname: str
    time_s: float
    outcome: CaseOutcome
    message: str = ""
    output: str = ""


def junit_xml(
    name: str, cases: Iterable[JunitCase], properties: Mapping[str, str], started_at: str | None = None
) -> bytes:
    """One ``testsuite`` with a ``testcase`` for each verdict; ``started_at`` is ISO 8601, UTC."""
    from junitparser import Error, Failure, Skipped, TestCase, TestSuite  # noqa: PLC0415 few commands write such a file

    elements = {CaseOutcome.FAILED: Failure, CaseOutcome.ERROR: Error, CaseOutcome.SKIPPED: Skipped}
    suite = TestSuite(name)
    if started_at is not None:
        suite.timestamp = started_at[: len("2026-01-01T00:00:00")]
    for key, value in properties.items():
        suite.add_property(key, value)
    for case in cases:
        element = TestCase(case.name, case.classname, round(case.time_s, 3))
        if case.outcome in elements:
            element.result = [elements[case.outcome](case.message)]
        if case.output:
            element.system_out = case.output
        suite.add_testcase(element)
    suite.update_statistics()
    xml: bytes = suite.tostring()
    return b"<?xml version='1.0' encoding='utf-8'?>\n" + xml + b"\n"
