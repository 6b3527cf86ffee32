"""Writes the tables of docs/logs.md from the declarations themselves: `python -m docs.log_tables`."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from openpts_nvme.logs.declaration import EntryList, Field, Log, declared_logs
from openpts_nvme.logs.words import unit_of

PAGE: Final = Path(__file__).with_name("logs.md")
BEGIN: Final = "<!-- tables: made by python -m docs.log_tables -->"
END: Final = "<!-- end of the tables -->"

_HEAD: Final = ("| Field | Bytes | Bits | Unit | Since | Remarks |", "|---|---|---|---|---|---|")


def tables() -> str:
    """All pages by number, as Markdown."""
    return "\n".join(line for log in declared_logs().values() for line in _of_log(log))


def _of_log(log: Log) -> Iterator[str]:
    what = "Feature" if log.is_feature else "Log"
    yield from (
        f"\n### {what} {log.id:02X}h: `{log.name}`\n",
        f"{log.title}, {log.length} bytes, of the {log.scope}.",
    )
    if log.guid:
        yield f"GUID {log.guid} at byte {log.guid_at}."
    if log.version_at is not None:
        oldest, newest = log.versions
        yield f"Version at byte {log.version_at}: {oldest} to {newest}."
    yield f"Source: {log.source}.\n"
    yield from _of_fields(log.fields, log.lists)


def _of_fields(fields: Sequence[Field], lists: Sequence[EntryList]) -> Iterator[str]:
    yield from _HEAD
    yield from map(_row, fields)
    yield ""
    for one in lists:
        apart = f"`{one.stride_in}`" if one.stride_in else str(one.stride)
        yield f"`{one.name}`: `{one.count_in}` entries from byte {one.at}, {apart} bytes apart.\n"
        yield from _of_fields(one.fields, one.lists)


def _row(field: Field) -> str:
    last = field.at + field.width - 1
    bits = "" if field.bits is None else _span(*reversed(field.bits))
    unit = unit_of(field) or ("" if field.kind == "number" else field.kind)
    cells = (f"`{field.name}`", _span(field.at, last), bits, unit, str(field.since or ""))
    return "| " + " | ".join((*cells, "; ".join(_remarks(field)))) + " |"


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _remarks(field: Field) -> Iterator[str]:
    if field.requirement:
        yield field.requirement
    if field.count is not None:
        step = f"{field.bit_stride} bits" if field.bit_stride else f"{field.stride} bytes"
        yield f"{field.count} of them, every {step}"
    if field.times != 1:
        yield f"in steps of {field.times:,}"
    if field.plus:
        yield f"0 is {field.plus}"
    if field.scale_in:
        yield f"in steps by `{field.scale_in}`"
    if field.none is not None:
        yield f"{field.none:X}h: none"
    if field.codes:
        yield ", ".join(f"{number} {word}" for number, word in enumerate(field.codes))
    if field.most is not None:
        yield f"at most {field.most}"


def with_tables(text: str) -> str:
    """The page with the current tables."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{tables()}\n{END}{after}"


def main() -> None:
    """Write the page."""
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
