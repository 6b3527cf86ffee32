"""What msgspec complains of, said without its types."""

from typing import Annotated

import msgspec
import pytest
from msgspec import Meta, Struct

from openpts.schema_words import in_words, without_indentation, words_and_place


class Row(Struct, forbid_unknown_fields=True):
    qd: int
    ms: float | None = None


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        ([{"qd": "a"}], list[Row], "expected a whole number, got a text, at [0].qd"),
        ({"qd": 1, "ms": "a"}, Row, "expected a number or nothing, got a text, at ms"),
        ({"qd": 1, "depth": 2}, Row, "object contains unknown field `depth`"),
        ({}, Row, "object missing required field `qd`"),
        (5, list[int], "expected a list, got a whole number"),
        ({"a": 1}, dict[int, int], "expected a whole number, got a text"),
        (0, Annotated[int, Meta(ge=1)], "expected a whole number >= 1"),
    ],
)
def test_types_are_said_in_words_with_the_place(value, kind, words) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert(value, kind)
    assert in_words(caught.value) == words


def test_descriptions_are_the_same_with_and_without_indentation() -> None:
    """Python 3.13 takes the indentation of docstrings away when it compiles them."""
    schemas = []
    for between in ("\n\n    ", "\n\n"):
        text = f"Rows.{between}Of all runs."
        row = msgspec.defstruct("Row", [("description", int)], namespace={"__doc__": text})
        schemas.append(without_indentation(msgspec.json.schema(list[row])))  # type: ignore[valid-type]
    assert schemas[0] == schemas[1]
    defined = schemas[0]["$defs"]["Row"]
    assert defined["description"] == "Rows.\n\nOf all runs."
    assert defined["properties"] == {"description": {"type": "integer"}}


def test_the_place_can_be_had_apart() -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert([1, "a"], list[int])
    assert words_and_place(caught.value) == ("expected a whole number, got a text", "[1]")


def test_an_abbreviation_stays_one() -> None:
    with pytest.raises(msgspec.DecodeError) as caught:
        msgspec.json.decode(b"{x", type=Row)
    assert in_words(caught.value).startswith("JSON is malformed")
