"""`openpts verify`: is a report what its record says?"""

import json
from pathlib import Path
from typing import Final

import click
import msgspec

from openpts.errors import RecordError

_MOST_SHOWN: Final = 40


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
    if as_json:
        told = {"report": str(path), "differences": msgspec.to_builtins(found), "files": faults}
        click.echo(json.dumps(told, indent=2))
    else:
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
    if wrong:
        raise RecordError("; ".join(wrong)) from unread
    if not as_json:
        click.echo(f"{path}: every value matches the record")
