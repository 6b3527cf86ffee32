"""Log pages by their declarations: read from a drive, decoded to values with units, encoded."""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, Final, Literal, TypeAlias
from uuid import UUID

import msgspec
from msgspec import Struct

from openpts.device.nvme_admin import (
    NvmeCommandError,
    identify_controller,
    identify_uuid_list,
    read_log,
    set_feature,
)
from openpts_drives.health.nvme_health import ocp_uuid_index

Kind = Literal["number", "text", "uuid", "hex", "stamp"]


class LogField(Struct, frozen=True, forbid_unknown_fields=True):
    """One field: its place in bytes, its unit in the name.

    It has ``width`` bytes, little-endian, from byte ``at``, or of them ``bits``, the highest and the lowest;
    a single bit is a boolean. A value is ``(raw * times + plus) / per``, and None if raw is ``none``.
    ``count`` fields follow at ``stride`` bytes or at ``bit_stride`` bits; strides may go down. ``since`` is
    the first version of the page that has it. ``least`` and ``most`` bound what a drive can mean, in the unit
    of the name; beyond ``codes`` a number is reserved. Where ``scale_in`` names a field, ``per_by`` has
    ``per`` for its numbers.
    """

    name: str
    at: int
    width: int
    requirement: str = ""
    bits: tuple[int, int] | None = None
    kind: Kind = "number"
    times: int = 1
    plus: int = 0
    per: int = 1
    scale_in: str | None = None
    per_by: dict[int, int] = {}
    none: int | None = None
    since: int = 0
    count: int | None = None
    stride: int = 0
    bit_stride: int = 0
    codes: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = None

    @property
    def is_flag(self) -> bool:
        """Whether its value is a boolean."""
        return self.bits is not None and self.bits[0] == self.bits[1]

    def place(self, index: int) -> tuple[int, int, int]:
        """First byte, lowest bit and number of bits of one of its repeats."""
        low, bits = (self.bits[1], self.bits[0] - self.bits[1] + 1) if self.bits else (0, 8 * self.width)
        return self.at + index * self.stride, low + index * self.bit_stride, bits


class EntryList(Struct, frozen=True, forbid_unknown_fields=True):
    """Entries of one form from byte ``at`` of the page or of the entry around them.

    ``count_in`` is the field around them that has their number, at most ``most``. They are ``stride`` bytes
    apart, or as many more as the field ``stride_in`` says, of the entry if it has it, else of what is around
    it.
    """

    name: str
    at: int
    count_in: str
    most: int
    stride: int
    fields: tuple[LogField, ...]
    stride_in: str | None = None
    lists: tuple["EntryList", ...] = ()


class Log(Struct, frozen=True, forbid_unknown_fields=True):
    """A log page, or the data of a feature: number, names, size, what identifies it, and its fields.

    ``length`` is its size in bytes, or that of what is ahead of its lists; ``length_in`` is the field that
    has the size of all. ``ocp``: it is OCP's page of this number, which the UUID index selects. ``ascending``
    are fields of which each must be above the one before.
    """

    id: int
    name: str
    title: str
    source: str
    length: int
    scope: Literal["controller", "subsystem", "endurance group"]
    fields: tuple[LogField, ...]
    is_feature: bool = False
    ocp: bool = False
    guid: str | None = None
    guid_at: int = 0
    version_at: int | None = None
    version_bytes: int = 2
    versions: tuple[int, int] = (0, 0)
    length_in: str | None = None
    ascending: tuple[str, ...] = ()
    lists: tuple[EntryList, ...] = ()

    @property
    def guid_bytes(self) -> bytes | None:
        """The GUID as it is in the page: least significant byte first."""
        return bytes.fromhex(self.guid)[::-1] if self.guid else None

    def fields_of(self, version: int) -> tuple[LogField, ...]:
        """Fields that a page of this version has."""
        return tuple(one for one in self.fields if one.since <= version)


@cache
def declared_logs() -> dict[str, Log]:
    """All declared pages by name, in the order of their numbers; the data of features last."""
    tables = resources.files("openpts_nvme.logs").joinpath("tables")
    texts = [one.read_text(encoding="utf-8") for one in tables.iterdir() if one.name.endswith(".toml")]
    logs = [msgspec.convert(tomllib.loads(text), Log, strict=False) for text in texts]
    return {log.name: log for log in sorted(logs, key=lambda log: (log.is_feature, log.id, log.name))}


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


def encode_feature(log: Log, values: Mapping[str, Value]) -> bytes:
    """The data of a feature, all fields of which are numbers and flags; those without a value are zeros.

    Raises LogError if a value does not fit in its field, or if there is no such field.
    """
    if unknown := sorted(set(values) - {field.name for field in log.fields}):
        raise LogError(f"{log.title} has no field {unknown[0]}")
    data = bytearray(log.length)
    for field in log.fields:
        value = values.get(field.name, 0)
        repeats: Sequence[Value] = value if isinstance(value, Sequence) else [value]
        for index, one in enumerate(repeats):
            raw, rest = divmod(one - field.plus, field.times) if field.name in values else (0, 0)
            at, low, width = field.place(index)
            if rest or not 0 <= raw < 1 << width or index >= (field.count or 1):
                raise LogError(f"{field.name}: {one} does not fit in {width} bits, in steps of {field.times}")
            here = slice(at, at + field.width)
            data[here] = (int.from_bytes(data[here], "little") | raw << low).to_bytes(field.width, "little")
    return bytes(data)


# What every controller gives at once; and no more is read of a page that says how long it is
_PIECE_BYTES: Final = 4096
_MOST_BYTES: Final = 1 << 20


class DriveLog(Struct, frozen=True):
    """A page as a drive gave it, and by which UUID index; ``page`` is None where ``refused`` says why.

    Index 0 is no particular vendor.
    """

    log: Log
    uuid_index: int
    data: bytes = b""
    page: LogPage | None = None
    refused: str = ""


def decoded(log: Log, uuid_index: int, data: bytes) -> DriveLog:
    """The bytes of a page; what its declaration refuses is a text."""
    try:
        return DriveLog(log, uuid_index, data, decode(log, data))
    except LogError as error:
        return DriveLog(log, uuid_index, data, refused=str(error))


class LogReader:
    """Log pages of an open NVMe drive, OCP's by their UUID index. Raises NvmeCommandError."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self.controller = identify_controller(fd)
        self.uuid_index = 0
        if self.controller.has_uuid_list:
            self.uuid_index = ocp_uuid_index(identify_uuid_list(fd))

    def read(self, log: Log) -> DriveLog:
        """A page, up to 1 MiB of it, and decoded; a refusal by drive or declaration is a text."""
        index = self.uuid_index if log.ocp else 0

        def part(offset: int, length: int) -> bytes:
            asked = -(-length // 4) * 4
            group = int(log.scope == "endurance group")
            return read_log(
                *(self._fd, log.id, asked),
                uuid_index=index,
                offset=offset,
                endurance_group=group,
                retain_events=True,
            )[:length]

        try:
            data = part(0, log.length)
            whole = min(whole_bytes(log, data), _MOST_BYTES)
            for at in range(len(data), whole, _PIECE_BYTES):
                data += part(at, min(_PIECE_BYTES, whole - at))
        except NvmeCommandError as error:
            return DriveLog(log, index, refused=f"the drive refuses it: {error}")
        return decoded(log, index, data)

    def configure(self, log: Log, values: dict[str, Value]) -> int:
        """Set a declared feature on a target of the guard, and return the UUID index that the drive took.

        It is OCP's, as the specification asks, or 0 for a drive that refuses that one.
        Raises NvmeCommandError, LogError.
        """
        data = encode_feature(log, values)
        try:
            set_feature(self._fd, log.id, 0, data=data, uuid_index=self.uuid_index)
        except NvmeCommandError:
            if not self.uuid_index:
                raise
            set_feature(self._fd, log.id, 0, data=data)
            return 0
        return self.uuid_index
