"""`openpts devices`: what drives there are, how they are, and whether they are free to be tested.

devices.md of the manual describes every field of the JSON output.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Final

import click
from msgspec import Struct
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from openpts.cli.console import table_console
from openpts.cli.options import argument, flag, option, with_options
from openpts.cli.standard_streams import print_document
from openpts.device.block_device import BlockDevice
from openpts.device.guard.guard import Safety
from openpts.device.targets.target import BlockTarget, parse_target
from openpts.errors import UsageError
from openpts.system_files import SystemRoots
from openpts.units import NS_PER_S, format_capacity, format_duration
from openpts.vocabulary.document import Document
from openpts.vocabulary.facts import ROTATIONAL, Fact
from openpts_drives.link import negotiated_link
from openpts_drives.listing import PATIENCE_S, ListedDevice, PurgeAbility, list_device, list_devices

_UNKNOWN: Final = "-"
_GAP: Final = 2


class _Column(Struct, frozen=True):
    """``shortest`` is how far an ellipsis may cut it, None: never, since people copy what is in it.

    Where not all have room those with a ``rank`` do as far as it goes, 1 before 2.
    """

    heading: str
    text: Callable[[ListedDevice], str | None]
    justify: JustifyMethod = "left"
    shortest: int | None = None
    rank: int = 0

    def width(self, drives: Sequence[ListedDevice]) -> int:
        """Of the longest text in it."""
        return max(len(self.heading), *(len(self.text(drive) or _UNKNOWN) for drive in drives))


def print_table(drives: Sequence[ListedDevice], console: Console) -> None:
    """One line for each drive, then the refusals of those that are not free."""
    if not drives:
        console.print(Text("no drives"))
        return
    table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False)
    widths = _fitting(drives, console.width)
    for column, width in widths.items():
        table.add_column(column.heading, justify=column.justify, no_wrap=True, width=width)
    for drive in drives:
        # as they are: a name in brackets is no markup
        table.add_row(*(Text(column.text(drive) or _UNKNOWN) for column in widths))
    console.print(table, soft_wrap=True)
    for drive in drives:
        for remark in _remarks(drive):
            console.print(Text(f"{drive.path}: {remark}"), soft_wrap=not console.is_terminal)


def _fitting(drives: Sequence[ListedDevice], width: int) -> dict[_Column, int]:
    """The columns for which there is room, by their importance, in their order; each with its width.

    One without which no drive is named is always there, others only if a drive has something for them.
    """
    chosen = {column: column.width(drives) for column in _COLUMNS if not column.rank}
    excess = sum(chosen.values()) + _GAP * (len(chosen) - 1) - width
    chosen |= {
        column: max(column.shortest, needs - max(0, excess))
        for column, needs in chosen.items()
        if column.shortest is not None
    }
    for column in sorted(filter(lambda column: column.rank, _COLUMNS), key=lambda column: column.rank):
        if not any(map(column.text, drives)):
            continue
        more = chosen | {column: column.width(drives)}
        if sum(more.values()) + _GAP * (len(more) - 1) <= width:
            chosen = more
    return {column: chosen[column] for column in _COLUMNS if column in chosen}


def _remarks(drive: ListedDevice) -> Iterator[str]:
    if drive.silent:
        yield drive.silent
    yield from map(str, drive.safety.refusals)
    if drive.safety.verdict is Safety.UNKNOWN and drive.safety.reason != drive.silent:
        yield drive.safety.reason or ""
    yield from (f"warning: {warning}" for warning in drive.warnings)


def _verdict(drive: ListedDevice) -> str:
    if drive.safety.verdict is not Safety.REFUSED:
        return {Safety.FREE: "free", Safety.UNKNOWN: "unknown"}[drive.safety.verdict]
    first, *others = drive.safety.refusals
    return f"no: {first.rule_id}{f' +{len(others)}' if others else ''}"


def _sectors(drive: ListedDevice) -> str | None:
    if drive.logical_sector_bytes is None:
        return None
    return f"{drive.logical_sector_bytes}/{drive.physical_sector_bytes or '?'}"


def _media(drive: ListedDevice) -> str | None:
    if drive.media == ROTATIONAL:
        return f"{drive.rotation_rpm:,} rpm" if drive.rotation_rpm else "HDD"
    return "SSD" if drive.media else None


def _number(value: float | None, unit: str) -> str | None:
    return None if value is None else f"{value:.0f} {unit}"


_SLOT: Final = _Column("Slot", attrgetter("slot"), rank=2)
_COLUMNS: Final = (
    _SLOT,
    _Column("Device", attrgetter("path")),
    _Column("Model", attrgetter("model"), shortest=8),
    _Column("Serial", attrgetter("serial")),
    _Column("Firmware", attrgetter("firmware"), rank=6),
    _Column("Capacity", lambda drive: format_capacity(drive.capacity_bytes), "right"),
    _Column("Interface", attrgetter("interface"), rank=9),
    _Column("Link", attrgetter("link.current"), rank=1),
    _Column("Form", attrgetter("form_factor"), rank=11),
    _Column("Media", _media, rank=5),
    _Column("Sector", _sectors, "right", rank=8),
    _Column("Cache", attrgetter("write_cache"), rank=7),
    _Column("Temp", lambda drive: _number(drive.temperature_c, "C"), "right", rank=3),
    _Column("Wear", lambda drive: _number(drive.percentage_used_pct, "%"), "right", rank=4),
    _Column(
        "Purge",
        lambda drive: ", ".join(one.name for one in drive.purge_methods if one.supported and one.is_purge),
        rank=10,
    ),
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


def print_details(drive: ListedDevice, link_source: str, console: Console) -> None:
    """The facts, the log, the purge methods, and the verdict of each rule that refuses it."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold", ratio=2)
    table.add_column(overflow="fold", ratio=3, style="dim")
    for name, value, source in _lines(drive, link_source):
        table.add_row(Text(name), Text(value), Text(source))
    console.print(table)
    _print_verdict(drive, console)


def _lines(drive: ListedDevice, link_source: str) -> Iterator[tuple[str, str, str]]:
    yield "Device", drive.path, ""
    capacity = f"{format_capacity(drive.capacity_bytes)} ({drive.capacity_bytes:,} bytes)"
    yield "Capacity", capacity, "size in sysfs, in units of 512 bytes"
    for key, name in _NAMES.items():
        fact = drive.facts.get(key, Fact(None, drive.silent or ""))
        yield name, fact.value or _NOT_REPORTED, fact.source
    link = drive.link
    most = f", at most {link.maximum}" if link.maximum else ""
    yield "Link", f"{link.current}{most}" if link.current else _NOT_REPORTED, link_source
    if paths := drive.facts.get("paths"):
        yield "Paths", paths.value or "", paths.source
    if drive.other_namespaces:
        yield "Other namespaces", ", ".join(drive.other_namespaces), "of the same controller, in sysfs"
    if not drive.health.values:
        yield "Health", _NOT_REPORTED, drive.health.source
    for key, (name, unit) in _HEALTH.items():
        if (value := drive.health.values.get(key)) is not None:
            text = format_capacity(int(value)) if unit == "B" else f"{value:,g} {unit}".strip()
            yield name, text, drive.health.source
    for ability in drive.purge_methods:
        yield f"Purge {ability.name}", _ability(ability), ability.reason


def _ability(ability: PurgeAbility) -> str:
    if not ability.supported:
        return "no"
    lasts = f", {format_duration(int(ability.duration_s * NS_PER_S))}" if ability.duration_s else ""
    reaches = f", erases {', '.join(ability.reaches)} as well" if ability.reaches else ""
    return f"yes{lasts}{reaches}{'' if ability.is_purge else ', but it does not count as a purge'}"


def _print_verdict(drive: ListedDevice, console: Console) -> None:
    if drive.silent:
        console.print(Text(drive.silent))
    for warning in drive.warnings:
        console.print(Text(f"warning: {warning}"))
    for refusal in drive.safety.refusals:
        console.print(Text(str(refusal)))
    match drive.safety.verdict:
        case Safety.FREE:
            console.print(Text("It may be tested, once it is confirmed."))
        case Safety.UNKNOWN:
            console.print(Text(f"Unknown whether it may be tested: {drive.safety.reason}"))
        case Safety.REFUSED:
            console.print(Text("It may not be tested."))


class DeviceList(Document, frozen=True, kw_only=True, tag="openpts.devices/1"):
    """All drives, or the requested one."""

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
    named = None if node is None else _drive(node, roots)
    drives = list_devices(roots, patience_s) if named is None else [list_device(named, roots, patience_s)]
    if as_json:
        print_document(DeviceList(devices=tuple(drives)))
        return
    console = table_console()
    if named is None:
        print_table(drives, console)
    else:
        source = negotiated_link(named).source if drives[0].facts else drives[0].silent
        print_details(drives[0], source or "", console)
    if os.geteuid() != 0:
        click.echo(
            "openpts: not run as root, so much of this can't be read: try sudo openpts devices", err=True
        )


def _drive(node: str, roots: SystemRoots) -> BlockDevice:
    target = parse_target(node)
    if not isinstance(target, BlockTarget):
        raise UsageError(f"{node} is a file: name a drive such as /dev/nvme0n1")
    return BlockDevice.of_node(target.path, roots)
