"""The files of a report that a command writes on request: their options, and where they are."""

from collections.abc import Mapping
from pathlib import Path

from openpts.cli.help_order import Decorator, together
from openpts.cli.options import FOLDER, flag, option
from openpts.cli.report import PAPER, REDACT, print_notes
from openpts.pages.model import Report


def file_options(default: Path) -> Decorator:
    """Options for the forms of a report, their folder, paper and redaction."""
    return together(
        flag("Write an interactive page (HTML), one file.", name="--html"),
        flag("Write pages for print (PDF).", name="--pdf"),
        flag("Write each table and series as a CSV file.", name="--csv"),
        option(
            "--out",
            f"Write into this folder; alone, it asks for all three forms. [default: ./{default}]",
            FOLDER,
        ),
        PAPER,
        REDACT,
    )


def written_files(report: Report, wanted: Mapping[str, bool], out: Path | None, default: Path) -> list[str]:
    """Write the forms that are wanted, all three where ``out`` alone is given; none where nothing is."""
    if out is None and not any(wanted.values()):
        return []
    from openpts.report.write import ReportOptions, write_model  # noqa: PLC0415 slow to load, and most gates write nothing

    files = wanted if any(wanted.values()) else dict.fromkeys(wanted, True)
    options = ReportOptions(html=files["html"], pdf=files["pdf"], csv=files["csv"])
    written = write_model(report, out or default, options)
    print_notes(written)
    return [str(path) for path in written.documents]
