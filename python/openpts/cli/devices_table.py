"""The drives as a table that fits the terminal: the wider, the more columns; problems are listed below it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from openpts.device.listing.drive_listing import DeviceListing, Safety
from openpts.units import format_capacity

_UNKNOWN: Final = "-"
_GAP: Final = 2


@dataclass(frozen=True, slots=True)
class _Column:
    """``shortest`` is how far an ellipsis may cut it, None: never, since people copy what is in it."""

    heading: str
    text: Callable[[DeviceListing], str | None]
    justify: JustifyMethod = "left"
    shortest: int | None = None

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
    chosen = {column: column.width(listings) for column in _COLUMNS if column not in _BY_IMPORTANCE}
    excess = sum(chosen.values()) + _GAP * (len(chosen) - 1) - width
    chosen |= {
        column: max(column.shortest, needs - max(0, excess))
        for column, needs in chosen.items()
        if column.shortest is not None
    }
    for column in _BY_IMPORTANCE:
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


_LINK: Final = _Column("Link", lambda listing: listing.link.current)
_TEMPERATURE: Final = _Column("Temp", _temperature, "right")
_WEAR: Final = _Column("Wear", _wear, "right")
_MEDIA: Final = _Column("Media", _media)
_FIRMWARE: Final = _Column("Firmware", lambda listing: listing.firmware)
_SECTOR: Final = _Column("Sector", _sectors, "right")
_CACHE: Final = _Column("Cache", lambda listing: listing.write_cache)
_INTERFACE: Final = _Column("Interface", lambda listing: listing.interface)
_PURGE: Final = _Column("Purge", _purge)
_FORM: Final = _Column("Form", lambda listing: listing.form_factor)
_BY_IMPORTANCE: Final = (
    _LINK,
    _TEMPERATURE,
    _WEAR,
    _MEDIA,
    _FIRMWARE,
    _CACHE,
    _SECTOR,
    _INTERFACE,
    _PURGE,
    _FORM,
)
_COLUMNS: Final = (
    _Column("Device", lambda listing: listing.path),
    _Column("Model", lambda listing: listing.model, shortest=8),
    _Column("Serial", lambda listing: listing.serial),
    _FIRMWARE,
    _Column("Capacity", lambda listing: format_capacity(listing.capacity_bytes), "right"),
    _INTERFACE,
    _LINK,
    _FORM,
    _MEDIA,
    _SECTOR,
    _CACHE,
    _TEMPERATURE,
    _WEAR,
    _PURGE,
    _Column("To test?", _verdict),
)
