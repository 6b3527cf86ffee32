"""Requirements that checks and tests don't settle, or only in part, with the reason: see reasons.toml."""

import tomllib
from enum import StrEnum
from functools import cache
from importlib import resources

import msgspec


class ReasonKind(StrEnum):
    """Why a requirement is not settled, by the name of its table in reasons.toml."""

    OPERATOR = "operator"
    READER = "reader"
    RECORD = "record"
    PARTLY = "partly"


_TITLES = {
    ReasonKind.OPERATOR: "left to the operator",
    ReasonKind.READER: "for the reader",
    ReasonKind.RECORD: "not in the record",
    ReasonKind.PARTLY: "in part",
}


class Reason(msgspec.Struct, frozen=True):
    """The kind of the reason, and what openpts does instead, or lacks."""

    kind: ReasonKind
    text: str

    def __str__(self) -> str:
        return f"{_TITLES[self.kind]}: {self.text}"


@cache
def reasons() -> dict[str, Reason]:
    """All of them by the requirement's ID."""
    file = resources.files("openpts.conformance") / "reasons.toml"
    tables = msgspec.convert(
        tomllib.loads(file.read_text(encoding="utf-8")), dict[ReasonKind, dict[str, str]]
    )
    return {
        requirement_id: Reason(kind, text)
        for kind, entries in tables.items()
        for requirement_id, text in entries.items()
    }
