"""Writes the report's files beside the record: model, HTML, PDF."""

from pathlib import Path

import msgspec

from openpts.errors import RecordError
from openpts.report.build import build_report
from openpts.report.html import render_html
from openpts.report.pdf import missing_pdf_note, render_pdf
from openpts.report.svg import draw_figures, missing_plots_note
from openpts.report.tests import read_for_report
from openpts.report.times import default_date

JSON_NAME = "report.json"
HTML_NAME = "report.html"
PDF_NAME = "report.pdf"


def write_report(
    run_folder: Path,
    *,
    html: bool = True,
    pdf: bool = True,
    report_date: str | None = None,
    out: Path | None = None,
) -> list[Path]:
    """Write report.json and, as wanted, report.html and report.pdf; returns the files written.

    They go into the run folder, or into ``out``. ``report_date`` is ISO 8601, UTC; by default it is
    the end of the run, so that the same record gives the same bytes. A PDF is left out if typst is not
    installed (``missing_parts`` says so). Raises RecordError if the record can't be read or a file
    can't be written.
    """
    run = read_for_report(run_folder)
    report = build_report(run, report_date or default_date(run))
    drawings = draw_figures(report) if html or pdf else {}
    files = {JSON_NAME: msgspec.json.format(msgspec.json.encode(report), indent=1)}
    if html:
        files[HTML_NAME] = render_html(report, drawings).encode()
    if pdf and not missing_pdf_note():
        files[PDF_NAME] = render_pdf(report, drawings)
    return _write(out or run_folder, files)


def missing_parts() -> list[str]:
    """One line for each optional package that is missing, with the way to get it."""
    return [note for note in (missing_plots_note(), missing_pdf_note()) if note]


def _write(folder: Path, files: dict[str, bytes]) -> list[Path]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_bytes(content)
    except OSError as error:
        raise RecordError(f"can't write the report into {folder}: {error.strerror}") from error
    return [folder / name for name in files]
