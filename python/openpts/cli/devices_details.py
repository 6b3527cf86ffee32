"""All that is known of one drive, each fact with the place where it was read."""

from collections.abc import Iterator
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from openpts.device.listing.drive_listing import DeviceListing, PurgeAbility, Safety
from openpts.units import NS_PER_S, format_capacity, format_duration
from openpts.vocabulary.facts import Fact

_NOT_REPORTED: Final = "not reported"
_NAMES: Final = {
    "manufacturer": "Manufacturer",
    "model": "Model",
    "serial": "Serial number",
    "firmware": "Firmware",
    "interface": "Interface",
    "form_factor": "Form factor",
    "media": "Media",
    "nand_type": "NAND type",
    "sector": "Sector",
    "write_cache": "Volatile write cache",
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
