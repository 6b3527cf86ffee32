"""What commands print for other programs: objects whose first key, ``schema``, names form and version."""

from typing import Any, Self, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

_S = TypeVar("_S", bound=msgspec.Struct)


def filled(kind: type[_S], source: object = None, /, **others: Any) -> _S:
    """A struct with these values; its other fields are attributes of the same names of ``source``."""
    of = {name: getattr(source, name) for name in kind.__struct_fields__ if hasattr(source, name)} | others
    config = kind.__struct_config__
    if config.tag_field is not None:
        of[config.tag_field] = config.tag
    return msgspec.convert(of, kind, from_attributes=True)


class Document(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema"):
    """One form of output, ``openpts.NAME/VERSION`` by its tag; docs/interfaces.md says what may change.

    ``error`` and ``exit_code`` are those of a command that ends with one.
    """

    error: str | UnsetType = UNSET
    exit_code: int | UnsetType = UNSET

    @classmethod
    def of(cls, source: object = None, /, **others: Any) -> Self:
        """With these values; the other fields are the attributes of the same names of ``source``."""
        return filled(cls, source, **others)


class Failure(Document, frozen=True, kw_only=True, tag="openpts.error/1"):
    """All that a command prints that has nothing else to print."""

    error: str
    exit_code: int
