"""`openpts devices`: what drives there are, how they are, and whether they are free to be tested.

docs/devices.md describes every field of the JSON output. Its ``schema_version`` grows when a field changes
its meaning or goes; new fields may come without that.
"""

import json
import os
from collections.abc import Sequence
from typing import Any, Final

import click

from openpts.cli.console import table_console
from openpts.cli.devices_table import print_details, print_table
from openpts.cli.guard_verdict import verdict_object
from openpts.device.block_device import BlockDevice
from openpts.device.listing.discovery import PATIENCE_S, list_device, list_devices
from openpts.device.listing.drive_listing import DeviceListing
from openpts.device.targets.target import BlockTarget, parse_target
from openpts.errors import UsageError
from openpts.system_files import SystemRoots

_SCHEMA_VERSION: Final = 1


def _as_json_object(listings: Sequence[DeviceListing]) -> dict[str, Any]:
    """What `openpts devices --json` prints; None is what nothing reports."""
    return {
        "schema": "openpts-devices",
        "schema_version": _SCHEMA_VERSION,
        "devices": [_device(listing) for listing in listings],
    }


def _device(listing: DeviceListing) -> dict[str, Any]:
    return {
        "path": listing.path,
        "model": listing.model,
        "serial": listing.serial,
        "slot": listing.slot,
        "firmware": listing.firmware,
        "capacity_bytes": listing.capacity_bytes,
        "interface": listing.interface,
        "link": {"current": listing.link.current, "maximum": listing.link.most},
        "form_factor": listing.form_factor,
        "media": listing.media.kind,
        "rotation_rpm": listing.media.rpm,
        "logical_sector_bytes": listing.sector_bytes,
        "physical_sector_bytes": listing.physical_sector_bytes,
        "write_cache": listing.write_cache,
        "temperature_c": listing.temperature_c,
        "percentage_used_pct": listing.percentage_used_pct,
        "health": {"source": listing.health.source, "values": dict(listing.health.values)},
        "purge_methods": [
            {
                "name": ability.name,
                "title": ability.title,
                "is_purge": ability.is_purge,
                "supported": ability.supported,
                "reason": ability.reason,
                "duration_s": ability.duration_s,
                "reaches": list(ability.reaches),
            }
            for ability in listing.purge
        ],
        "other_namespaces": list(listing.siblings),
        "facts": {key: {"value": fact.value, "source": fact.source} for key, fact in listing.facts.items()},
        "warnings": list(listing.warnings),
        "silent": listing.silent or None,
        "safety": verdict_object(listing.verdict),
    }


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
        click.echo(json.dumps(_as_json_object(listings), indent=2))
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
