"""The status of each requirement in a run, as a table and as JSON."""

from collections.abc import Sequence
from typing import IO, Any, Final

from rich.table import Table
from rich.text import Text

from openpts.cli.table_console import table_console
from openpts.conformance.catalogue import SECTION_TITLES, Level
from openpts.conformance.conformance import Conformance, count_line, counts_by_level
from openpts.evidence.finding import STATUS_TITLES, Status
from openpts.pages.printable import printable
from openpts.record.manifest import Manifest
from openpts.report.conformance_page import finding_text

_STYLES: Final = {
    Status.MET: "green",
    Status.DEVIATED: "red",
    Status.BUILT_IN: "cyan",
    Status.UNVERIFIED: "yellow",
    Status.NOT_REACHED: "yellow",
    Status.NOT_APPLICABLE: "dim",
}


def print_conformance(
    stream: IO[str], manifest: Manifest, everything: Sequence[Conformance], shown: Sequence[Conformance]
) -> None:
    """A table for each section of the specification that has something to show, and the counts."""
    console = table_console(stream)
    conditions = manifest.conditions
    if not conditions.of_specification:
        console.print(
            f"{printable(manifest.test_id)}: {conditions.test.upper()} is not part of the specification: no "
            "requirement binds it, and nothing in it can be conformant"
        )
        return
    console.print(
        f"{printable(manifest.test_id)}: {conditions.test.upper()} after {conditions.drive_class.revision}"
    )
    for section, title in SECTION_TITLES.items():
        rows = [c for c in shown if c.requirement.section == section]
        if rows:
            console.print()
            console.print(Text(title, style="bold"))
            console.print(_table(rows))
    console.print()
    console.print(count_line(everything))
    console.print(_counts_table(everything))


def conformance_object(
    manifest: Manifest, everything: Sequence[Conformance], shown: Sequence[Conformance]
) -> dict[str, Any]:
    """The same for machines; ``counts`` are of all requirements by status and level, whatever is shown."""
    return {
        "test_id": manifest.test_id,
        "test": manifest.conditions.test,
        "revision": manifest.conditions.drive_class.revision
        if manifest.conditions.of_specification
        else None,
        "counts": counts_by_level(everything),
        "requirements": [_object(each) for each in shown],
    }


def _object(each: Conformance) -> dict[str, Any]:
    requirement, finding = each.requirement, each.finding
    return {
        "id": requirement.id,
        "level": requirement.level,
        "clause": requirement.clause,
        "section": requirement.section,
        "text": requirement.text,
        "status": finding.status,
        "required": finding.required,
        "used": finding.used,
        "note": finding.note,
        "tests": finding.tests,
    }


def _counts_table(everything: Sequence[Conformance]) -> Table:
    """How many stand how; what is built in or not verifiable is no part of what is met."""
    table = Table(box=None, pad_edge=False)
    table.add_column("All requirements")
    for level in Level:
        table.add_column(level, justify="right")
    for status, by_level in counts_by_level(everything).items():
        table.add_row(
            Text(STATUS_TITLES[status], style=_STYLES[status]), *(str(count) for count in by_level.values())
        )
    return table


def _table(rows: Sequence[Conformance]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    for width in (13, 6, 14):
        table.add_column(width=width, no_wrap=True)
    table.add_column(ratio=5)
    table.add_column(ratio=6, overflow="fold")
    table.expand = True
    for each in rows:
        requirement, style = each.requirement, _STYLES[each.status]
        table.add_row(
            Text(requirement.id),
            Text(requirement.level),
            Text(each.status, style=style),
            Text(f"{requirement.text} [{requirement.clause}]"),
            Text(finding_text(each.finding), style=style if each.status is Status.DEVIATED else ""),
        )
    return table
