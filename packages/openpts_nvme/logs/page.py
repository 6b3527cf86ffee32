"""Bytes of a page to values with units, by its declaration."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias
from uuid import UUID

from msgspec import Struct

from openpts_nvme.logs.declaration import EntryList, Log, LogField

# The stamp of NVM Express: 48 bits of ms, synch, origin; all ones where there is none
_STAMP_MS_BITS: Final = 48
NO_STAMP: Final = 2**64 - 1
SYNCH_BIT: Final = 48
ORIGIN_BITS: Final = slice(49, 52)
_ORIGINS: Final = 8

# of a field: int, float, bool, str, a stamp's parts, None, or a list of them; of a list: a mapping for each
# entry
Value: TypeAlias = Any


class LogError(ValueError):
    """Bytes are not this page, or values do not fit in it; the text says why."""


class LogPage(Struct, frozen=True):
    """A page that was decoded: values by name, lists of entries as lists of values.

    ``impossible`` has the reason for each field whose number can't be, by name; it is not among the values,
    and None where it is one of several. A page that is newer than its declaration is decoded as the newest
    that is known.
    """

    log: Log
    version: int
    values: dict[str, Value]
    impossible: dict[str, str]


def decode(log: Log, data: bytes) -> LogPage:
    """Values of a page. Raises LogError if it is too short, another page, or has lists that can't be read."""
    if len(data) < log.length:
        raise LogError(f"{_called(log)} has {log.length} bytes, not {len(data)}")
    if data[: log.length] == b"\xff" * log.length:
        raise LogError(f"{_called(log)}: all bytes are FFh, as of a device whose link is gone")
    if (guid := log.guid_bytes) is not None and data[log.guid_at : log.guid_at + len(guid)] != guid:
        found = data[log.guid_at : log.guid_at + len(guid)][::-1].hex().upper()
        raise LogError(f"{_called(log)} has GUID {log.guid}, not {found}: it is the page of another vendor")
    version = _version(log, data)
    reader = _PageReader(data, {})
    values = reader.fields(log.fields_of(version), 0, "")
    values |= reader.lists(log.lists, range(len(data)), values, "")
    _check_order(log, values, reader.impossible)
    return LogPage(log, version, values, reader.impossible)


def whole_bytes(log: Log, head: bytes) -> int:
    """Size in bytes of the whole page, whose first ``log.length`` are ``head``."""
    fields = {one.name: one for one in log.fields}
    if log.length_in is not None:
        return max(log.length, raw(fields[log.length_in], head, 0))
    ends = [
        one.at + one.stride * min(one.most, raw(fields[one.count_in], head, 0) + fields[one.count_in].plus)
        for one in log.lists
    ]
    return max([log.length, *ends])


def _called(log: Log) -> str:
    return f"{'feature' if log.is_feature else 'log page'} {log.id:02X}h ({log.name})"


def _version(log: Log, data: bytes) -> int:
    if log.version_at is None:
        return log.versions[1]
    version = int.from_bytes(data[log.version_at : log.version_at + log.version_bytes], "little")
    if version < log.versions[0]:
        oldest = log.versions[0]
        raise LogError(f"{_called(log)} is of version {version}: the oldest that was published is {oldest}")
    return version


class _PageReader(Struct, frozen=True):
    """Bytes of a page, and the reasons for what can't be in them by the names of fields."""

    data: bytes
    impossible: dict[str, str]

    def fields(self, fields: Sequence[LogField], base: int, prefix: str) -> dict[str, Value]:
        """Values of the fields of what begins at byte ``base``."""
        values: dict[str, Value] = {}
        scales = {one.name: raw(one, self.data, base) for one in fields if one.codes and one.count is None}
        for field in fields:
            repeats: list[Value] = []
            for index in range(field.count or 1):
                called = prefix + field.name + ("" if field.count is None else f"[{index}]")
                try:
                    repeats.append(_decode_one(field, raw(field, self.data, base, index), scales))
                except LogError as error:
                    self.impossible[called] = str(error)
                    repeats.append(None)
            if field.count is not None:
                values[field.name] = repeats
            elif prefix + field.name not in self.impossible:
                values[field.name] = repeats[0]
        return values

    def lists(
        self, lists: Sequence[EntryList], room: range, around: Mapping[str, Value], prefix: str
    ) -> dict[str, Value]:
        """Entries by the name of their list, none of which reaches beyond ``room``."""
        found: dict[str, Value] = {}
        for one in lists:
            count, at = around.get(one.count_in), room.start + one.at
            if not isinstance(count, int) or count > one.most:
                raise LogError(f"{one.name}: {one.count_in} must be a number up to {one.most}, not {count}")
            entries: list[dict[str, Value]] = []
            for index in range(count):
                called = f"{prefix}{one.name}[{index}]."
                if at + _end_of(one.fields) > room.stop:
                    raise LogError(f"{one.name}: {count} do not fit in {len(room)} bytes")
                entry = self.fields(one.fields, at, called)
                end = at + stride(one, entry, around)
                within = range(at, min(end, room.stop))
                entries.append(entry | self.lists(one.lists, within, entry, called))
                at = end
            found[one.name] = entries
        return found


def stride(one: EntryList, entry: Mapping[str, Value], around: Mapping[str, Value]) -> int:
    """Bytes from an entry to the next. Raises LogError if they are fewer than the entry has."""
    if one.stride_in is None:
        return one.stride
    found: Value = entry.get(one.stride_in, around.get(one.stride_in))
    if not isinstance(found, int) or found < one.stride:
        raise LogError(f"{one.name}: {one.stride_in} is {found}, an entry has {one.stride} bytes")
    return found


def _end_of(fields: Sequence[LogField]) -> int:
    return max(one.at + one.width + one.stride * ((one.count or 1) - 1) for one in fields)


def raw(field: LogField, data: bytes, base: int, index: int = 0) -> int:
    """What is in a field, or in one of its repeats, of what begins at byte ``base``."""
    at, low, bits = field.place(index)
    number = int.from_bytes(data[base + at : base + at + field.width], "little")
    return number >> low & (1 << bits) - 1


def _decode_one(field: LogField, raw: int, scales: Mapping[str, int]) -> Value:
    if raw == field.none:
        return None
    match field.kind:
        case "text":
            return _ascii(raw.to_bytes(field.width, "little"))
        case "hex":
            return raw.to_bytes(field.width, "little").hex().upper()
        case "uuid":
            return None if raw == 0 else str(UUID(bytes=raw.to_bytes(field.width, "little")))
        case "stamp":
            return _stamp(raw)
        case "number":
            return _number(field, raw, scales)


def _number(field: LogField, raw: int, scales: Mapping[str, int]) -> Value:
    if field.is_flag:
        return bool(raw)
    per = field.per if field.scale_in is None else field.per_by.get(scales[field.scale_in])
    if per is None:
        return None
    if field.codes and raw >= len(field.codes):
        raise LogError(f"{raw} is reserved: the largest with a meaning is {len(field.codes) - 1}")
    value = raw * field.times + field.plus
    _check_bounds(field, value)
    return value if per == 1 else value / per


def _check_bounds(field: LogField, value: int) -> None:
    if field.most is not None and value > field.most:
        raise LogError(f"{value} can't be: at most {field.most}")
    if field.least is not None and value < field.least:
        raise LogError(f"{value} can't be: at least {field.least}")


def _ascii(data: bytes) -> str:
    """ASCII without what fills it up. Raises LogError for anything that is not text."""
    if len(data) == 1 and data[0] == 0:
        return ""
    text = data.rstrip(b"\0").rstrip(b" ")
    if any(not 0x20 <= byte < 0x7F for byte in text):
        raise LogError(f"{text.hex().upper()} is not ASCII")
    return text.decode("ascii")


def _stamp(raw: int) -> dict[str, int | bool] | None:
    if raw == NO_STAMP:
        return None
    if raw >> ORIGIN_BITS.stop:
        raise LogError(f"{raw:016X}h is not a stamp: bits that are reserved are set")
    return {
        "ms": raw & (1 << _STAMP_MS_BITS) - 1,
        "may_have_stopped": bool(raw >> SYNCH_BIT & 1),
        "origin": raw >> ORIGIN_BITS.start & _ORIGINS - 1,
    }


def _check_order(log: Log, values: dict[str, Value], impossible: dict[str, str]) -> None:
    ordered: list[Value] = [values.get(name) for name in log.ascending]
    if any(one is None for one in ordered):
        return
    for name, before, after in zip(log.ascending[1:], ordered, ordered[1:], strict=False):
        if after <= before:
            impossible[name] = f"{after} can't be: it must be above {before}, the one before"
            values.pop(name, None)
