"""What the tables of fields say: a log, its fields and its lists of entries."""

import tomllib
from functools import cache
from importlib import resources
from typing import Literal

import msgspec
from msgspec import Struct

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
