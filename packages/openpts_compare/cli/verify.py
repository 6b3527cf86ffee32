"""`openpts verify`: is a report what its record says, and a run what the specification requires?"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click
from msgspec import Struct
from msgspec.structs import replace

from openpts.cli.options import PATH, argument, flag, option, with_options
from openpts.cli.standard_streams import print_document
from openpts.errors import NoVerdictError, OpenptsError, RecordError, UsageError
from openpts.record.batch import has_drives_apart
from openpts.vocabulary.document import Document
from openpts_pts.conformance.catalogue import GUIDES, Level
from openpts_pts.evidence.finding import Status

_MOST_SHOWN: Final = 40
_STATUSES: Final = {status.replace(" ", "-"): status for status in Status}


class FoundDifference(Struct, frozen=True):
    """A place of the report, its value there and that which follows from the record; None if one has none."""

    place: str
    stored: Any
    derived: Any


class VerifiedReport(Document, frozen=True, kw_only=True, tag="openpts.verify/1"):
    """What in a report differs from its record, and which files don't match their checksums, in words.

    ``unchecked`` says of what record script and ledger were not checked, and why.
    """

    report: str
    differences: tuple[FoundDifference, ...]
    files: tuple[str, ...]
    unchecked: tuple[str, ...] = ()


class VerifiedReports(Document, frozen=True, kw_only=True, tag="openpts.verify-reports/1"):
    """The reports of a batch's drives, each as if it were named alone."""

    reports: tuple[VerifiedReport, ...]


@click.command()
@with_options
def verify(
    *,
    report_json: Path = argument("REPORT", PATH),
    runs: tuple[Path, ...] = argument("[RUN]...", PATH, nargs=-1),
    requirements: bool = flag("Check the run against each requirement of the specification instead."),
    guide: str | None = option("", "Check it against those of a guide instead.", click.Choice(list(GUIDES))),
    only: tuple[str, ...] = option(
        "", "Show requirements of this status; may be repeated.", click.Choice(list(_STATUSES)), multiple=True
    ),
    level: tuple[str, ...] = option(
        "",
        "Show requirements of this level; may be repeated.",
        click.Choice([level.value for level in Level]),
        multiple=True,
    ),
    verbose: bool = flag("Show all requirements, not only what deviates.", name="-v --verbose"),
    as_json: bool = flag("Print all as one JSON object.", name="--json"),
) -> None:
    """Recompute every number of a report from its record, and name the differences.

    REPORT is a report.json, or the folder with one. RUN is what the report was made from, as for `openpts
    report`; by default, the folder of the report. The files of report (HTML, PDF, CSV) and record must
    match their SHA256SUMS. The record must match its test's script and the rules of its ledger. Of a
    batch, the report of each drive is verified. Exit code 8 if anything differs. 13 if all
    matches, but another version of openpts or another program made the record: its script and ledger can't be
    checked.

    With --requirements, each requirement of the specification has a verdict: met or deviated, with what
    of the record shows it. Others are built in (tests of openpts prove them), not verifiable, not reached
    or not applicable. Only the checked ones are counted as met.
    """
    if requirements or guide is not None:
        if runs:
            raise UsageError("--requirements are those of one folder: name it alone")
        from openpts_pts.conformance.requirements import print_requirements  # noqa: PLC0415 slow to load

        folder = report_json.parent if report_json.is_file() else report_json
        statuses = {_STATUSES[word] for word in only}
        print_requirements(
            folder, guide=guide, statuses=statuses, levels=level, verbose=verbose, as_json=as_json
        )
        return
    if only or level:
        raise UsageError("--only and --level choose among what --requirements shows")
    document, failure = _verified_reports(report_json, runs, as_json=as_json)
    if as_json:
        print_document(document, failure)
    if failure is not None:
        raise failure


def _verified_reports(
    path: Path, runs: Sequence[Path], *, as_json: bool
) -> tuple[VerifiedReport | VerifiedReports, OpenptsError | None]:
    """What is wrong with a report, or those of a batch, printed unless ``as_json``. Raises OpenptsError."""
    if not has_drives_apart(path):
        return _verified(path / "report.json" if path.is_dir() else path, runs, as_json=as_json)
    if runs:
        raise UsageError(f"{path} is a batch, whose reports are verified by their own runs: name it alone")
    return _verified_batch(path, as_json=as_json)


def _verified_batch(batch: Path, *, as_json: bool) -> tuple[VerifiedReports, OpenptsError | None]:
    """The reports of all runs that have a record, whatever is wrong with one of them."""
    from openpts.report.sources import run_folders_of  # noqa: PLC0415 slow to load

    reports, failures = [], []
    for folder in run_folders_of([batch]):
        path = folder / "report.json"
        try:
            one, failure = _verified(path, (), as_json=as_json)
        except RecordError as error:
            one, failure = VerifiedReport(report=str(path), differences=(), files=()), error
        if failure is not None:
            one = replace(one, error=str(failure), exit_code=failure.exit_code)
            failures.append(failure)
            if not as_json:
                click.echo(failure)
        reports.append(one)
    wrong = f"{len(failures)} of {len(reports)} reports of {batch} are not confirmed by their records"
    kind = NoVerdictError if all(isinstance(one, NoVerdictError) for one in failures) else RecordError
    failure = kind(f"{wrong}: {failures[0]}") if failures else None
    return VerifiedReports(reports=tuple(reports)), failure


def _verified(
    path: Path, runs: Sequence[Path], *, as_json: bool
) -> tuple[VerifiedReport, OpenptsError | None]:
    """What is wrong with a report, printed unless ``as_json``. Raises RecordError if it can't be read."""
    from openpts.report.record_files import record_files  # noqa: PLC0415 slow to load
    from openpts.report.sources import ReportSource  # noqa: PLC0415 slow to load
    from openpts_compare import verification  # noqa: PLC0415 slow to load

    stored = verification.read_report(path)
    source = ReportSource.of(runs or (path.parent,), out=path.parent)
    unread: RecordError | None = None
    unchecked: list[str] = []
    try:
        found, files = verification.differences(stored, source, verification.stored_figures(path))
        unchecked = _unchecked(source.run_folders)
    except RecordError as error:
        found, files, unread = [], record_files(source.run_folders), error
    faults = verification.file_faults(path, stored, files)
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
    document = VerifiedReport.of(report=str(path), differences=found, files=faults, unchecked=unchecked)
    if wrong:
        return document, RecordError("; ".join(wrong))
    if unchecked:
        words = "every value matches the record, but " + "; ".join(unchecked)
        return document, NoVerdictError(f"{path}: {words}")
    if not as_json:
        click.echo(f"{path}: every value matches the record, which is what its test leaves behind")
    return document, None


def _unchecked(folders: Sequence[Path]) -> list[str]:
    """Records whose script and ledger can't be checked, and why. Raises RecordError where they are wrong."""
    from openpts_compare.record_check import check_record  # noqa: PLC0415 slow to load

    reasons = ((folder, check_record(folder)) for folder in folders)
    return [f"script and ledger of {folder} were not checked: {why}" for folder, why in reasons if why]
