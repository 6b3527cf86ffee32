"""`openpts verify`: is a report what its record says?"""

from pathlib import Path
from typing import Any, Final

import click
from msgspec import Struct

from openpts.cli.printed_document import print_document
from openpts.errors import RecordError
from openpts.vocabulary.document import Document

_MOST_SHOWN: Final = 40


class FoundDifference(Struct, frozen=True):
    """A place of the report, its value there and that which follows from the record; None if one has none."""

    place: str
    stored: Any
    derived: Any


class VerifiedReport(Document, frozen=True, kw_only=True, tag="openpts.verify/1"):
    """What in a report differs from its record, and which files don't match their checksums, in words."""

    report: str
    differences: tuple[FoundDifference, ...]
    files: tuple[str, ...]


@click.command()
@click.argument("report_json", metavar="REPORT", type=click.Path(path_type=Path))
@click.argument("runs", metavar="[RUN]...", type=click.Path(path_type=Path), nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="Print all differences as one JSON object.")
def verify(report_json: Path, runs: tuple[Path, ...], as_json: bool) -> None:
    """Recompute every number of a report from its record, and name the differences.

    REPORT is a report.json, or the folder with one. RUN is what the report was made from, as for `openpts
    report`; by default, the folder of the report. The files of the report (HTML, PDF, CSV) and of the record
    beside it must match their SHA256SUMS. Exit code 8 if anything differs.
    """
    from openpts.report.checksums import file_faults  # noqa: PLC0415 slow to load
    from openpts.report.record_files import record_files  # noqa: PLC0415 slow to load
    from openpts.report.rederive import differences, read_report  # noqa: PLC0415 slow to load
    from openpts.report.sources import ReportSource  # noqa: PLC0415 slow to load

    path = report_json / "report.json" if report_json.is_dir() else report_json
    stored = read_report(path)
    source = ReportSource.of(runs or (path.parent,), out=path.parent)
    unread: RecordError | None = None
    try:
        found, files = differences(stored, source)
    except RecordError as error:
        found, files, unread = [], record_files(source.run_folders), error
    faults = file_faults(path, stored, files)
    if not as_json:
        for one in found[:_MOST_SHOWN]:
            click.echo(f"{one.place}: the report has {one.stored!r}, the record {one.derived!r}")
        for fault in faults[:_MOST_SHOWN]:
            click.echo(fault)
    wrong = [str(unread)] if unread else []
    if found:
        more = len(found) - _MOST_SHOWN
        hidden = f", {more:,} of them not shown" if more > 0 and not as_json else ""
        wrong.append(f"{path} differs from its record in {len(found):,} places{hidden}")
    if faults:
        wrong.append(f"{path}: {len(faults):,} of its files don't match their checksums: {faults[0]}")
    failure = RecordError("; ".join(wrong)) if wrong else None
    if as_json:
        print_document(VerifiedReport.of(report=str(path), differences=found, files=faults), failure)
    if failure is not None:
        raise failure from unread
    if not as_json:
        click.echo(f"{path}: every value matches the record")
