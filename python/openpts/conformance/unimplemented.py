"""Requirements that openpts does not implement, or not wholly, with the reason: see unimplemented.toml."""

import tomllib
from functools import cache
from importlib import resources
from typing import Final

import msgspec

PARTLY: Final = "in part"
FOR_READER: Final = "for the reader"
_KINDS: Final = {
    "operator": "left to the operator",
    "reading": FOR_READER,
    "partly": PARTLY,
}


class Unimplemented(msgspec.Struct, frozen=True):
    """Why: ``kind`` is ``left to the operator``, ``for the reader`` or ``in part``."""

    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


@cache
def unimplemented() -> dict[str, Unimplemented]:
    """All of them by the requirement's ID."""
    file = resources.files("openpts.conformance") / "unimplemented.toml"
    tables = msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), dict[str, dict[str, str]])
    return {
        requirement_id: Unimplemented(_KINDS[kind], text)
        for kind, entries in tables.items()
        for requirement_id, text in entries.items()
    }
