"""`openpts devices`: what drives there are, and whether they are free to be tested."""

import json
from dataclasses import asdict

import click
from rich.console import Console
from rich.table import Table

from openpts.device.discovery import list_devices
from openpts.units import format_capacity
from openpts.vocabulary.machine import SystemRoots


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
        table.add_column(heading, justify="right" if heading in ("Capacity", "Sector") else "left")
    for listing in listings:
        table.add_row(
            str(listing.path),
            listing.model or "-",
            listing.serial or "-",
            format_capacity(listing.capacity_bytes),
            listing.interface or "-",
            f"{listing.sector_bytes} B" if listing.sector_bytes else "-",
            f"{listing.safety}: {listing.reason}" if listing.reason else listing.safety,
        )
    Console().print(table)
