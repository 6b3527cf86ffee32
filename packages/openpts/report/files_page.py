"""The last page: the files of the record with their checksums, and the data that goes with the report."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from openpts.escaped_text import visible_line
from openpts.report.record_files import RecordFile
from openpts_pages.csv_files import csv_name
from openpts_pages.kit import rows_table
from openpts_pages.model import Block, Cell, Page, Report, Table, Verdict


def files_page(report: Report, files: Sequence[RecordFile], test_ids: Mapping[Path, str]) -> Page:
    """What the report was made from, and where its tables are as data.

    Of several runs each file is named under the test ID of its folder.
    """
    record: tuple[Block, ...] = (_record_table(files, test_ids),) if files else ()
    return Page(
        "files",
        "Files",
        (
            Verdict(
                "openpts verify derives all figures of this report again from the record. SHA256SUMS beside "
                "the report has the checksums of its files."
            ),
            *record,
            _data_table(report),
        ),
    )


def _record_table(files: Sequence[RecordFile], test_ids: Mapping[Path, str]) -> Table:
    several = len(test_ids) > 1
    return rows_table(
        "files-record",
        "Files of the record",
        "File:< | Bytes:0.5 | SHA-256:<2",
        (
            (
                visible_line(f"{test_ids[file.folder]}/{file.name}" if several else file.name),
                Cell(f"{file.size_bytes:,}", float(file.size_bytes)),
                file.sha256,
            )
            for file in files
        ),
    )


def _data_table(report: Report) -> Table:
    """The table of files is left out: it would have to list itself."""
    return rows_table(
        "files-data",
        "Tables and plotted series as data",
        "File:<1.2 | Table:<2 | Rows:0.4",
        (
            (csv_name(table), table.title, Cell(f"{len(table.rows):,}", float(len(table.rows))))
            for table in report.tables().values()
        ),
        note="Comma-separated, UTF-8, full precision; lines that begin with # describe the data.",
    )
