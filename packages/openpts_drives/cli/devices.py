"""`openpts devices`: what drives there are, how they are, and whether they are free to be tested.

devices.md of the manual describes every field of the JSON output.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Self

import click
from msgspec import Struct
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from openpts.cli.console import table_console
from openpts.cli.guard_verdict import SafetyVerdict
from openpts.cli.options import argument, flag, option, with_options
from openpts.cli.standard_streams import print_document
from openpts.device.block_device import BlockDevice
from openpts.device.guard.verdict import Safety
from openpts.device.targets.target import BlockTarget, parse_target
from openpts.errors import UsageError
from openpts.system_files import SystemRoots
from openpts.units import NS_PER_S, format_capacity, format_duration
from openpts.vocabulary.document import Document, filled
from openpts.vocabulary.facts import Fact, Facts, HealthReading, fact_of
from openpts_drives.listing.discovery import PATIENCE_S, list_device, list_devices
from openpts_drives.listing.drive_listing import DeviceListing, PurgeAbility

_UNKNOWN: Final = "-"
_GAP: Final = 2


class _Column(Struct, frozen=True):
    """``shortest`` is how far an ellipsis may cut it, None: never, since people copy what is in it.

    Where not all have room those with a ``rank`` do as far as it goes, 1 before 2.
    """

    heading: str
    text: Callable[[DeviceListing], str | None]
    justify: JustifyMethod = "left"
    shortest: int | None = None
    rank: int = 0

    def width(self, listings: Sequence[DeviceListing]) -> int:
        """Of the longest text in it."""
        return max(len(self.heading), *(len(self.text(listing) or _UNKNOWN) for listing in listings))


def print_table(listings: Sequence[DeviceListing], console: Console) -> None:
    """One line for each drive, then the refusals of those that are not free."""
    if not listings:
        console.print(Text("no drives"))
        return
    table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False)
    widths = _fitting(listings, console.width)
    for column, width in widths.items():
        table.add_column(column.heading, justify=column.justify, no_wrap=True, width=width)
    for listing in listings:
        # as they are: a name in brackets is no markup
        table.add_row(*(Text(column.text(listing) or _UNKNOWN) for column in widths))
    console.print(table, soft_wrap=True)
    for listing in listings:
        for remark in _remarks(listing):
            console.print(Text(f"{listing.path}: {remark}"), soft_wrap=not console.is_terminal)


def _fitting(listings: Sequence[DeviceListing], width: int) -> dict[_Column, int]:
    """The columns for which there is room, by their importance, in their order; each with its width."""
    chosen = {column: column.width(listings) for column in _COLUMNS if not column.rank}
    excess = sum(chosen.values()) + _GAP * (len(chosen) - 1) - width
    chosen |= {
        column: max(column.shortest, needs - max(0, excess))
        for column, needs in chosen.items()
        if column.shortest is not None
    }
    for column in sorted(filter(lambda column: column.rank, _COLUMNS), key=lambda column: column.rank):
        if column is _SLOT and not any(map(column.text, listings)):
            continue
        more = chosen | {column: column.width(listings)}
        if sum(more.values()) + _GAP * (len(more) - 1) <= width:
            chosen = more
    return {column: chosen[column] for column in _COLUMNS if column in chosen}


def _remarks(listing: DeviceListing) -> Iterator[str]:
    if listing.silent:
        yield listing.silent
    yield from map(str, listing.verdict.refusals)
    if listing.safety is Safety.UNKNOWN and listing.reason != listing.silent:
        yield listing.reason
    yield from (f"warning: {warning}" for warning in listing.warnings)


def _verdict(listing: DeviceListing) -> str:
    if listing.safety is not Safety.REFUSED:
        return {Safety.FREE: "free", Safety.UNKNOWN: "can't tell"}[listing.safety]
    first, *others = listing.verdict.refusals
    return f"no: {first.rule_id}{f' +{len(others)}' if others else ''}"


def _sectors(listing: DeviceListing) -> str | None:
    if listing.sector_bytes is None:
        return None
    return f"{listing.sector_bytes}/{listing.physical_sector_bytes or '?'}"


def _media(listing: DeviceListing) -> str | None:
    if listing.media.is_rotational:
        return f"{listing.media.rpm:,} rpm" if listing.media.rpm else "HDD"
    return "SSD" if listing.media.kind else None


def _purge(listing: DeviceListing) -> str | None:
    return ", ".join(ability.name for ability in listing.purge if ability.supported and ability.is_purge)


def _temperature(listing: DeviceListing) -> str | None:
    return None if listing.temperature_c is None else f"{listing.temperature_c:.0f} C"


def _wear(listing: DeviceListing) -> str | None:
    used = listing.percentage_used_pct
    return None if used is None else f"{used:.0f} %"


def _reported(title: str, key: str, *, shortest: int | None = None, rank: int = 0) -> _Column:
    """A fact of the report's header."""
    return _Column(title, lambda listing: fact_of(listing.facts, key), shortest=shortest, rank=rank)


_SLOT: Final = _reported("Slot", "slot", rank=2)
_COLUMNS: Final = (
    _SLOT,
    _Column("Device", lambda listing: listing.path),
    _reported("Model", "model", shortest=8),
    _reported("Serial", "serial"),
    _reported("Firmware", "firmware", rank=6),
    _Column("Capacity", lambda listing: format_capacity(listing.capacity_bytes), "right"),
    _reported("Interface", "interface", rank=9),
    _Column("Link", lambda listing: listing.link.current, rank=1),
    _reported("Form", "form_factor", rank=11),
    _Column("Media", _media, rank=5),
    _Column("Sector", _sectors, "right", rank=8),
    _reported("Cache", "write_cache", rank=7),
    _Column("Temp", _temperature, "right", rank=3),
    _Column("Wear", _wear, "right", rank=4),
    _Column("Purge", _purge, rank=10),
    _Column("To test?", _verdict),
)


_NOT_REPORTED: Final = "not reported"
_NAMES: Final = {
    "manufacturer": "Manufacturer",
    "model": "Model",
    "serial": "Serial number",
    "slot": "Slot",
    "firmware": "Firmware",
    "interface": "Interface",
    "form_factor": "Form factor",
    "media": "Media",
    "nand_type": "NAND type",
    "sector": "Sector",
    "write_cache": "Volatile write cache",
    "security": "Locking",
    "features": "Features",
    "hba": "Adapter",
}
# name and unit of values of the drive's log, in the order of interest
_HEALTH: Final = {
    "temperature_c": ("Temperature", "C"),
    "warning_limit_c": ("Warns of heat from", "C"),
    "critical_limit_c": ("Too hot from", "C"),
    "percentage_used_pct": ("Wear", "% of the rated life"),
    "available_spare_pct": ("Spare", "%"),
    "critical_warning": ("Critical warning", "(bits)"),
    "host_write_bytes": ("Written by hosts", "B"),
    "host_read_bytes": ("Read by hosts", "B"),
    "nand_write_bytes": ("Written to the NAND", "B"),
    "media_errors": ("Media errors", ""),
    "power_on_hours": ("Powered on", "h"),
    "power_cycles": ("Power cycles", ""),
    "unsafe_shutdowns": ("Unsafe shutdowns", ""),
}


def print_details(listing: DeviceListing, console: Console) -> None:
    """The facts, the log, the purge methods, and the verdict of each rule that refuses it."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold", ratio=2)
    table.add_column(overflow="fold", ratio=3, style="dim")
    for name, value, source in _lines(listing):
        table.add_row(Text(name), Text(value), Text(source))
    console.print(table)
    _print_verdict(listing, console)


def _lines(listing: DeviceListing) -> Iterator[tuple[str, str, str]]:
    yield "Device", listing.path, ""
    capacity = f"{format_capacity(listing.capacity_bytes)} ({listing.capacity_bytes:,} bytes)"
    yield "Capacity", capacity, "size in sysfs, in units of 512 bytes"
    for key, name in _NAMES.items():
        fact = listing.facts.get(key, Fact(None, listing.silent))
        yield name, fact.value or _NOT_REPORTED, fact.source
    link = listing.link
    most = f", at most {link.most}" if link.most else ""
    yield "Link", f"{link.current}{most}" if link.current else _NOT_REPORTED, link.source
    if paths := listing.facts.get("paths"):
        yield "Paths", paths.value or "", paths.source
    if listing.siblings:
        yield "Other namespaces", ", ".join(listing.siblings), "of the same controller, in sysfs"
    yield from _health_lines(listing)
    for ability in listing.purge:
        yield f"Purge {ability.name}", _ability(ability), ability.reason


def _health_lines(listing: DeviceListing) -> Iterator[tuple[str, str, str]]:
    health = listing.health
    if not health.values:
        yield "Health", _NOT_REPORTED, health.source
    for key, (name, unit) in _HEALTH.items():
        if (value := health.values.get(key)) is not None:
            text = format_capacity(int(value)) if unit == "B" else f"{value:,g} {unit}".strip()
            yield name, text, health.source


def _ability(ability: PurgeAbility) -> str:
    if not ability.supported:
        return "no"
    lasts = f", {format_duration(int(ability.duration_s * NS_PER_S))}" if ability.duration_s else ""
    reaches = f", erases {', '.join(ability.reaches)} as well" if ability.reaches else ""
    return f"yes{lasts}{reaches}{'' if ability.is_purge else ', but it does not count as a purge'}"


def _print_verdict(listing: DeviceListing, console: Console) -> None:
    if listing.silent:
        console.print(Text(listing.silent))
    for warning in listing.warnings:
        console.print(Text(f"warning: {warning}"))
    for refusal in listing.verdict.refusals:
        console.print(Text(str(refusal)))
    match listing.safety:
        case Safety.FREE:
            console.print(Text("It may be tested, once it is confirmed."))
        case Safety.UNKNOWN:
            console.print(Text(f"Unknown whether it may be tested: {listing.reason}"))
        case Safety.REFUSED:
            console.print(Text("It may not be tested."))


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
