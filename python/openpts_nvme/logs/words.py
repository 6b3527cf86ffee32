"""Values of pages as texts: with their units, one line for each."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from openpts_nvme.logs.declaration import EntryList, Field
from openpts_nvme.logs.page import Page, Value

_UNITS: Final = {
    "bytes": "bytes",
    "c": "°C",
    "hours": "h",
    "kwh": "kWh",
    "min": "min",
    "ms": "ms",
    "mw": "mW",
    "pct": "%",
    "s": "s",
    "w": "W",
    "wh": "Wh",
}
# of a stamp: the host has set the clock
_ORIGIN_HOST: Final = 1


def unit_of(field: Field) -> str:
    """The unit that a field's name ends with; "" for a plain number."""
    return _UNITS.get(field.name.rpartition("_")[2], "") if field.kind == "number" else ""


def lines_of(page: Page) -> Iterator[tuple[str, str]]:
    """Names and values as texts, in the order of the declaration."""
    yield from _lines(page.log.fields_of(page.version), page.log.lists, page.values, page.impossible, "")


def _lines(
    fields: Sequence[Field],
    lists: Sequence[EntryList],
    values: Mapping[str, Value],
    impossible: Mapping[str, str],
    prefix: str,
) -> Iterator[tuple[str, str]]:
    for field in fields:
        for index in range(field.count or 1):
            value = values.get(field.name)
            name = prefix + field.name
            if field.count is not None:
                name, value = f"{name}[{index}]", value[index] if value else None
            reason = impossible.get(name)
            yield name, f"n/a: {reason}" if reason else text_of(field, value)
    for one in lists:
        for index, entry in enumerate(values[one.name]):
            yield from _lines(one.fields, one.lists, entry, impossible, f"{prefix}{one.name}[{index}].")


def text_of(field: Field, value: Value) -> str:
    """One value with its unit."""
    if value is None:
        return "n/a: not reported"
    if isinstance(value, bool):
        return "yes" if value else "no"
    match field.kind:
        case "stamp":
            return _stamp_text(value)
        case "number":
            text = f"{value:,} {unit_of(field)}".rstrip()
            return f"{text} ({field.codes[value]})" if field.codes else text
        case _:
            return str(value) or '""'


def _stamp_text(value: Mapping[str, int | bool]) -> str:
    ms = int(value["ms"])
    if value["origin"] != _ORIGIN_HOST:
        return f"{ms:,} ms of the drive's own clock"
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")
    except (OverflowError, ValueError):
        return f"{ms:,} ms since 1970"
