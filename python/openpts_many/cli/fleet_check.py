"""`openpts fleet check`: what a fleet's configuration gets wrong."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click
from rich.padding import Padding
from rich.text import Text

from openpts.cli.console import table_console, table_of
from openpts.cli.printed_document import print_document
from openpts.errors import FleetError
from openpts.units import format_count
from openpts.vocabulary.document import Document
from openpts_many.fleet.check.finding import Finding, Severity
from openpts_many.fleet.check.fleet import check_fleet
from openpts_many.fleet.configuration import read_fleet

_STYLES: Final = {Severity.ERROR: "bold red", Severity.WARNING: "yellow"}
_WIDE: Final = 110


class FleetFindings(Document, frozen=True, kw_only=True, tag="openpts.fleet-check/1"):
    """What is wrong with a fleet; ``hosts`` are those that were checked."""

    hosts: tuple[str, ...]
    findings: tuple[Finding, ...]


def checked(fleet_file: Path, *, as_json: bool) -> int:
    """Check a fleet, and print what is wrong. The exit code: that of a FleetError if there are errors."""
    fleet = read_fleet(fleet_file)
    findings = check_fleet(fleet)
    if as_json:
        print_document(FleetFindings(hosts=tuple(fleet.hosts), findings=findings))
    else:
        _print(findings)
        slots = sum(len(host.slots) for host in fleet.hosts.values())
        counts = Counter(one.severity for one in findings)
        told = ", ".join(format_count(counts[severity], severity) for severity in Severity)
        click.echo(f"{format_count(len(fleet.hosts), 'host')} with {format_count(slots, 'slot')}: {told}")
    return FleetError.exit_code if any(one.severity is Severity.ERROR for one in findings) else 0


def _print(findings: Sequence[Finding]) -> None:
    console = table_console()
    if console.width >= _WIDE:
        table = table_of("", "=Where", "=What", "Now", "Why it matters", "What to do")
        for one in findings:
            severity = Text(one.severity, _STYLES[one.severity])
            table.add_row(severity, one.where, one.subject, one.found, one.reason, one.remedy)
        console.print(table)
        return
    for one in findings:
        head = f" {one.where}, {one.subject}: {one.found}"
        console.print(Text.assemble((one.severity, _STYLES[one.severity]), head))
        console.print(Padding(Text(f"{one.reason}\n-> {one.remedy}", "dim"), (0, 0, 0, 4), expand=False))
