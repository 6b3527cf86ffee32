"""The files of a report that a command writes on request: their options, and where they are."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openpts.cli.options import FOLDER, flag, option
from openpts.cli.report import PAPER, REDACT, print_notes
from openpts_pages.model import Report


def folder_of_files(default: Path) -> Any:
    """The option that names the folder of the files."""
    text = f"Write into this folder; alone, it asks for all three forms. [default: ./{default}]"
    return option("", text, FOLDER)


@dataclass(frozen=True, slots=True)
class FileArgs:
    """The forms of a report, their folder, which a command names, paper and redaction."""

    html: bool = flag("Write an interactive page (HTML), one file.")
    pdf: bool = flag("Write pages for print (PDF).")
    csv: bool = flag("Write each table and series as a CSV file.")
    out: Path | None = None
    paper: str = PAPER
    redact: bool = REDACT

    def written(self, report: Report, default: Path) -> list[str]:
        """Write the forms that are wanted, all three where ``out`` alone is given; none where nothing is."""
        none = not (self.html or self.pdf or self.csv)
        if self.out is None and none:
            return []
        from openpts.report.write import ReportOptions, write_model  # noqa: PLC0415 slow to load, and most gates write nothing

        options = ReportOptions(html=self.html or none, pdf=self.pdf or none, csv=self.csv or none)
        written = write_model(report, self.out or default, options)
        print_notes([written])
        return [str(path) for path in written.documents]
