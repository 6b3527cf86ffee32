"""Holds the files of a report against its SHA256SUMS: data, pages and the report itself."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from openpts.folder_files import read_file
from openpts.pages.model import Report
from openpts.report.csv_files import FOLDER, csv_name
from openpts.report.earlier_report import LINE, checksum_of
from openpts.report.write import REPORT_NAME, SUMS_NAME
from openpts.visible_text import visible_line

_DOCUMENTS: Final = (".json", ".html", ".pdf")


def file_faults(report_json: Path, report: Report) -> list[str]:
    """What is wrong with the files beside a report, a line each: changed, missing, or not the report's.

    A report.json without files beside it, such as one that was sent, has nothing wrong.
    """
    stem = report_json.name.removesuffix(".json")
    own = "" if stem == REPORT_NAME else f"{stem}-"
    sums = report_json.with_name(SUMS_NAME if not own else f"{stem}.{SUMS_NAME}")
    tables = [f"{own}{csv_name(table)}" for table in report.tables().values()]
    expected = dict.fromkeys([*(f"{stem}{ending}" for ending in _DOCUMENTS), *tables])
    # unlike pathlib, os.path takes a damaged name, such as one of 2,000 characters, as that of no file
    found = [name for name in expected if os.path.exists(report_json.parent / name)]  # noqa: PTH110
    found += _strays(report_json.parent / f"{own}{FOLDER}", expected)
    try:
        lines = read_file(sums.parent, sums.name).decode().removesuffix("\n").split("\n")
    except FileNotFoundError:
        alone = found in ([], [report_json.name])
        return [] if alone else [f"{sums.name} is missing: changes of the other files can't be found"]
    except (OSError, UnicodeError) as error:
        return [f"{sums.name} can't be read: {error}"]
    return list(_faults(report_json.parent, sums.name, lines, expected, found))


def _strays(folder: Path, expected: dict[str, None]) -> list[str]:
    """Data that no table of the report has."""
    names = sorted(f"{folder.name}/{path.name}" for path in folder.glob("*.csv"))
    return [name for name in names if name not in expected]


def _faults(
    folder: Path, sums: str, lines: list[str], expected: dict[str, None], found: list[str]
) -> Iterator[str]:
    listed: set[str] = set()
    for number, line in enumerate(lines, start=1):
        match = LINE.fullmatch(line)
        name = match[2] if match else ""
        if match is None or name in listed or name not in expected:
            yield f"{sums}: line {number} does not belong to this report: {visible_line(line[:200])}"
            continue
        listed.add(name)
        if not os.path.isfile(folder / name):  # noqa: PTH113 likewise
            yield f"{name} is missing"
        elif checksum_of(folder, name) != match[1]:
            yield f"{name} was changed: {sums} has another checksum"
    yield from (f"{visible_line(name)} is not in {sums}" for name in found if name not in listed)
