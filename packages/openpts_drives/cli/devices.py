"""`openpts devices`: what drives there are, how they are, and whether they are free to be tested.

devices.md of the manual describes every field of the JSON output.
"""

import os
from typing import Final, Self

import click
from msgspec import Struct

from openpts.cli.console import table_console
from openpts.cli.guard_verdict import SafetyVerdict
from openpts.cli.options import argument, flag, option, with_options
from openpts.cli.printed_document import print_document
from openpts.device.block_device import BlockDevice
from openpts.device.targets.target import BlockTarget, parse_target
from openpts.errors import UsageError
from openpts.system_files import SystemRoots
from openpts.vocabulary.document import Document, filled
from openpts.vocabulary.facts import Facts, fact_of
from openpts.vocabulary.health import HealthReading
from openpts_drives.cli.devices_table import print_details, print_table
from openpts_drives.listing.discovery import PATIENCE_S, list_device, list_devices
from openpts_drives.listing.drive_listing import DeviceListing, PurgeAbility


class ListedLink(Struct, frozen=True):
    """The link as it was negotiated, and the most that both ends could do."""

    current: str | None
    maximum: str | None


_FACTS: Final = ("model", "serial", "slot", "firmware", "interface", "form_factor", "write_cache")


class ListedDevice(Struct, frozen=True, kw_only=True):
    """A drive; None is what nothing reports."""

    path: str
    model: str | None
    serial: str | None
    slot: str | None
    firmware: str | None
    capacity_bytes: int
    interface: str | None
    link: ListedLink
    form_factor: str | None
    media: str | None
    rotation_rpm: int | None
    logical_sector_bytes: int | None
    physical_sector_bytes: int | None
    write_cache: str | None
    temperature_c: float | None
    percentage_used_pct: float | None
    health: HealthReading
    purge_methods: tuple[PurgeAbility, ...]
    other_namespaces: tuple[str, ...]
    facts: Facts
    warnings: tuple[str, ...]
    silent: str | None
    safety: SafetyVerdict

    @classmethod
    def of(cls, listing: DeviceListing) -> Self:
        """The drive of a row of the list."""
        return filled(
            cls,
            listing,
            **{key: fact_of(listing.facts, key) for key in _FACTS},
            link=ListedLink(listing.link.current, listing.link.most),
            media=listing.media.kind,
            rotation_rpm=listing.media.rpm,
            logical_sector_bytes=listing.sector_bytes,
            purge_methods=listing.purge,
            other_namespaces=listing.siblings,
            silent=listing.silent or None,
            safety=SafetyVerdict.of(listing.verdict),
        )


class DeviceList(Document, frozen=True, kw_only=True, tag="openpts.devices/1"):
    """All drives, or the one that is asked for."""

    devices: tuple[ListedDevice, ...]


@click.command()
@with_options
def devices(
    *,
    node: str | None = argument("[NODE]", required=False),
    as_json: bool = flag("Print a JSON object; devices.md of the manual describes it.", name="--json"),
    patience_s: float = option(
        "--patience SECONDS",
        "How long to wait for the drives, all of them together; one that hangs costs its own line.",
        click.FloatRange(min=0.1),
        default=PATIENCE_S,
    ),
) -> None:
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
        print_document(DeviceList(devices=tuple(map(ListedDevice.of, listings))))
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
