"""`openpts devices`: what drives there are, how they are, and whether they are free to be tested."""

import json
import os

import click

from openpts.cli.devices_details import print_details
from openpts.cli.devices_json import as_json_object
from openpts.cli.devices_table import print_table
from openpts.cli.table_console import table_console
from openpts.device.block_device import BlockDevice
from openpts.device.listing.discovery import PATIENCE_S, list_device, list_devices
from openpts.device.targets.target import BlockTarget, parse_target
from openpts.errors import UsageError
from openpts.system_files import SystemRoots


@click.command()
@click.argument("node", required=False, metavar="[NODE]")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object; docs/devices.md describes it.")
@click.option(
    "--patience",
    "patience_s",
    type=click.FloatRange(min=0.1),
    default=PATIENCE_S,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for the drives, all of them together; one that hangs costs its own line.",
)
def devices(node: str | None, as_json: bool, patience_s: float) -> None:
    """List the drives of this machine, and why one cannot be tested.

    With NODE, such as /dev/nvme0n1, print all that is known of one drive and the source of each fact. Nothing
    is written. Without root, most details can't be read.
    """
    roots = SystemRoots()
    listings = (
        list_devices(roots, patience_s)
        if node is None
        else [list_device(_drive(node, roots), roots, patience_s)]
    )
    if as_json:
        click.echo(json.dumps(as_json_object(listings), indent=2))
        return
    console = table_console()
    if node is None:
        print_table(listings, console)
    else:
        print_details(listings[0], console)
    if os.geteuid() != 0:
        click.echo(
            "openpts: not run as root, so much of this can't be read: try sudo openpts devices", err=True
        )


def _drive(node: str, roots: SystemRoots) -> BlockDevice:
    target = parse_target(node)
    if not isinstance(target, BlockTarget):
        raise UsageError(f"{node} is a file: name a drive such as /dev/nvme0n1")
    return BlockDevice.of_node(target.path, roots)
