"""Values to the bytes of any page, by its declaration: the other way round than openpts goes."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from openpts_nvme.logs.page import (
    NO_STAMP,
    ORIGIN_BITS,
    SYNCH_BIT,
    EntryList,
    Log,
    LogError,
    LogField,
    Value,
    stride,
)

# a float as near to a whole number is one
_ROUNDING: Final = 1e-6


def encode(log: Log, values: Mapping[str, Value], version: int | None = None) -> bytes:
    """The page with these values, of the newest version or of ``version``; fields without a value are zeros.

    Numbers of entries and sizes follow from the entries where they are not among the values. Raises LogError
    if a value does not fit in its field, or if there is no such field.
    """
    version = log.versions[1] if version is None else version
    fields = log.fields_of(version)
    _check_names(values, fields, log.lists, "")
    length, filled = _sized(values, log.lists, log.length)
    if log.length_in is not None:
        length = max(length, filled.setdefault(log.length_in, length))
    data = bytearray(length)
    if (guid := log.guid_bytes) is not None:
        data[log.guid_at : log.guid_at + len(guid)] = guid
    if log.version_at is not None:
        data[log.version_at : log.version_at + log.version_bytes] = version.to_bytes(
            log.version_bytes, "little"
        )
    _encode_fields(fields, filled, data, 0)
    _encode_lists(log.lists, filled, data, 0)
    return bytes(data)


def _check_names(
    values: Mapping[str, Value], fields: Sequence[LogField], lists: Sequence[EntryList], where: str
) -> None:
    unknown = sorted(set(values) - {one.name for one in fields} - {one.name for one in lists})
    if unknown:
        raise LogError(f"no field {where}{unknown[0]} in a page of this version")


def _sized(
    values: Mapping[str, Value], lists: Sequence[EntryList], least: int
) -> tuple[int, dict[str, Value]]:
    """Bytes that values with their lists take, and the values with numbers of entries and sizes filled in."""
    filled, length = dict(values), least
    for one in lists:
        entries: Sequence[Mapping[str, Value]] = filled.get(one.name, ())
        filled.setdefault(one.count_in, len(entries))
        own = {field.name for field in one.fields}
        at, sized = one.at, []
        if one.stride_in is not None and one.stride_in not in own:
            filled.setdefault(one.stride_in, one.stride)
        for entry in entries:
            _check_names(entry, one.fields, one.lists, f"{one.name}.")
            size, full = _sized(entry, one.lists, one.stride)
            if one.stride_in in own:
                size = full.setdefault(one.stride_in, size)
            elif one.stride_in is not None:
                size = filled[one.stride_in]
            sized.append(full)
            at += size
        filled[one.name] = sized
        length = max(length, at)
    return length, filled


def _encode_lists(
    lists: Sequence[EntryList], around: Mapping[str, Value], data: bytearray, base: int
) -> None:
    for one in lists:
        at = base + one.at
        for entry in around[one.name]:
            _encode_fields(one.fields, entry, data, at)
            _encode_lists(one.lists, entry, data, at)
            at += stride(one, entry, around)


def _encode_fields(
    fields: Sequence[LogField], values: Mapping[str, Value], data: bytearray, base: int
) -> None:
    for field in fields:
        value: Value = values.get(field.name)
        if value is None and (field.name not in values or (field.none is None and field.kind != "stamp")):
            continue
        repeats: Sequence[Value] = [value] if field.count is None else value
        for index, one in enumerate(repeats):
            raw = _raw_of(field, one, values)
            at, low, width = field.place(index)
            if not 0 <= raw < 1 << width or index >= (field.count or 1):
                raise LogError(f"{field.name}: {one} does not fit in {width} bits")
            here = slice(base + at, base + at + field.width)
            number = int.from_bytes(data[here], "little") | raw << low
            data[here] = number.to_bytes(field.width, "little")


def _raw_of(field: LogField, value: Value, values: Mapping[str, Value]) -> int:
    if value is None:
        return NO_STAMP if field.kind == "stamp" else field.none or 0
    match field.kind:
        case "text":
            filled = str(value).encode("ascii", "replace")
            if len(filled) > field.width:
                raise LogError(f"{field.name}: {value!r} has more than {field.width} characters")
            return int.from_bytes(filled, "little")
        case "hex":
            return int.from_bytes(bytes.fromhex(value), "little")
        case "uuid":
            return int.from_bytes(UUID(value).bytes, "little")
        case "stamp":
            stopped, origin = int(value["may_have_stopped"]), int(value["origin"])
            return int(value["ms"]) | stopped << SYNCH_BIT | origin << ORIGIN_BITS.start
        case "number":
            per = field.per
            if field.scale_in is not None:
                per = field.per_by.get(values.get(field.scale_in, 0), 1)
            raw, rest = divmod(round(value * per) - field.plus, field.times)
            if rest or abs(round(value * per) - value * per) > _ROUNDING:
                raise LogError(f"{field.name}: {value} is between two steps of the field")
            return int(raw)
