"""What commands print for other programs: objects whose first key, ``schema``, names form and version."""

from typing import Any, Self

import msgspec
from msgspec import UNSET, UnsetType


class Document(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema"):
    """One form of output, ``openpts.NAME/VERSION`` by its tag; docs/interfaces.md says what may change.

    ``error`` and ``exit_code`` are those of a command that ends with one.
    """

    error: str | UnsetType = UNSET
    exit_code: int | UnsetType = UNSET

    @classmethod
    def of(cls, source: object = None, **others: Any) -> Self:
        """With these values; the other fields are the attributes of the same names of ``source``."""
        names = (name for name in cls.__struct_fields__ if hasattr(source, name))
        taken = {name: getattr(source, name) for name in names}
        of = {**taken, **others, "schema": cls.__struct_config__.tag}
        return msgspec.convert(of, cls, from_attributes=True)


class Failure(Document, frozen=True, kw_only=True, tag="openpts.error/1"):
    """All that a command prints that has nothing else to print."""

    error: str
    exit_code: int
