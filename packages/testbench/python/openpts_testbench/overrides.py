"""What a served drive shall answer otherwise than it would, from a file: bytes of pages, statuses, delays."""

import tomllib
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from openpts.errors import UsageError

_IDENTIFY, _GET_LOG_PAGE, _GET_FEATURES, _PROPERTY = 0x06, 0x02, 0x0A, 0x7F
_IO: Final = 0xFFFFFFFF
_PLACES: Final = {
    "identify": _IDENTIFY,
    "log": _GET_LOG_PAGE,
    "feature": _GET_FEATURES,
    "property": _PROPERTY,
}
_US_PER_MS: Final = 1000

Ordered = tuple[int, int | None, int, str, int, bytes]
"""As the Rust module takes it: opcode, number, answers left alone, kind of change, its number, its bytes."""


class Override(Struct, frozen=True, forbid_unknown_fields=True):
    """One change of the answers to ``identify``, ``log``, ``feature``, ``property``, ``command`` or ``io``.

    Exactly one of these names what is asked: a structure, a log, a feature with ``select``, the offset of a
    property, or the opcode of an admin or I/O command, of whatever number. ``page`` takes the whole answer's
    place, ``bytes`` those from ``at`` on, both in hexadecimal; of a feature, dword 0 comes before its data.
    ``status`` refuses, type and code in one number; ``delay_ms`` makes the answer late. The first ``after``
    answers stay as they are.
    """

    identify: int | None = None
    log: int | None = None
    feature: int | None = None
    property: int | None = None
    command: int | None = None
    io: int | None = None
    select: int = 0
    at: int = 0
    bytes: str = ""
    page: str = ""
    status: int | None = None
    delay_ms: float | None = None
    after: int = 0

    def ordered(self) -> Ordered:
        """What is ordered of the drive. Raises ValueError for what makes no sense."""
        named = [name for name in (*_PLACES, "command", "io") if getattr(self, name) is not None]
        if len(named) != 1:
            raise ValueError(f"name one of {', '.join(_PLACES)}, command and io, not {len(named)} of them")
        opcode, number = self._asked(named[0])
        changes: list[tuple[str, int, str]] = [
            (kind, value, text)
            for kind, value, text, is_given in (
                ("page", 0, self.page, bool(self.page)),
                ("bytes", self.at, self.bytes, bool(self.bytes)),
                ("status", self.status or 0, "", self.status is not None),
                ("delay", round((self.delay_ms or 0) * _US_PER_MS), "", self.delay_ms is not None),
            )
            if is_given
        ]
        if len(changes) != 1:
            raise ValueError(f"give one of page, bytes, status and delay_ms, not {len(changes)} of them")
        kind, value, text = changes[0]
        return opcode, number, self.after, kind, value, bytes.fromhex(text)

    def _asked(self, name: str) -> tuple[int, int | None]:
        value: int = getattr(self, name)
        if name == "io":
            return value, _IO
        if name == "command":
            return value, None
        return _PLACES[name], value | (self.select << 8 if name == "feature" else 0)


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    override: tuple[Override, ...] = ()


def read_overrides(path: Path) -> tuple[Ordered, ...]:
    """The changes in a TOML file of ``[[override]]`` tables; later ones win. Raises UsageError."""
    try:
        found = msgspec.convert(tomllib.loads(path.read_text()), _File)
        return tuple(each.ordered() for each in found.override)
    except OSError as error:
        raise UsageError(f"can't read {path}: {error.strerror}") from error
    except (ValueError, msgspec.ValidationError) as error:
        raise UsageError(f"can't use {path}: {error}") from error
