"""`openpts devices`: what drives there are, and whether they are free to be tested."""

import json
from dataclasses import asdict

import click
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from openpts.device.discovery import list_devices
from openpts.system_files import SystemRoots
from openpts.units import format_capacity


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def devices(as_json: bool) -> None:
    """List the drives of this machine and what speaks against testing each.

    Nothing is written. Run it as root to see everything.
    """
    listings = list_devices(SystemRoots())
    if as_json:
        click.echo(json.dumps([asdict(listing) for listing in listings], indent=2, default=str))
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("Device", "Model", "Serial", "Capacity", "Interface", "Sector", "May be tested?"):
        justify: JustifyMethod = "right" if heading in ("Capacity", "Sector") else "left"
        table.add_column(heading, justify=justify, no_wrap=heading != "May be tested?")
    for listing in listings:
        texts = (
            listing.path,
            listing.model or "-",
            listing.serial or "-",
            format_capacity(listing.capacity_bytes),
            listing.interface or "-",
            f"{listing.sector_bytes} B" if listing.sector_bytes else "-",
            listing.reason or listing.safety,
        )
        table.add_row(*map(Text, texts))  # as they are: a name in brackets is no markup
    console = Console()
    if not console.is_terminal:
        console.width = 200  # a pipe has no width, and 80 columns would cut what a script wants to read
    console.print(table)
