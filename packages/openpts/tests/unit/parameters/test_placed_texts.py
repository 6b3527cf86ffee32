"""TOML and YAML with places: values against other readers, places against the text itself."""

import contextlib
import json
import string
import tomllib
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from openpts.config_files.schema_errors import Path, PlacedError, SourcePosition
from openpts.config_files.toml_text import read_toml
from openpts.parameters.yaml_text import read_yaml

TOML = """\
class = "client"  # a comment
[common]
"time scale" = "1/60"
a.b = [1, {x = 2}, [3,
  4]]
 [[wsat.workloads]]
 name = "é"
[[wsat.workloads]]
name = 'two'
  [wsat.workloads.inner]
  k = 1
é = 1
"""
TOML_PLACES = {
    ("class",): (1, 1),
    ("common",): (2, 2),
    ("common", "time scale"): (3, 1),
    ("common", "a"): (4, 1),
    ("common", "a", "b"): (4, 3),
    ("common", "a", "b", 0): (4, 8),
    ("common", "a", "b", 1, "x"): (4, 12),
    ("common", "a", "b", 2, 1): (5, 3),
    ("wsat", "workloads", 0, "name"): (7, 2),
    ("wsat", "workloads", 1): (8, 8),
    ("wsat", "workloads", 1, "name"): (9, 1),
    ("wsat", "workloads", 1, "inner", "k"): (11, 3),
}

YAML = """\
# a comment
class: client
common: {time scale: 1/60, "é": {x: 2}}
wsat:
  workloads:
    - name: one
    - oltp
    - {name: two,
       k: 3}
"""
YAML_PLACES = {
    ("class",): (2, 1),
    ("common",): (3, 1),
    ("common", "time scale"): (3, 10),
    ("common", "é"): (3, 28),
    ("common", "é", "x"): (3, 34),
    ("wsat", "workloads"): (5, 3),
    ("wsat", "workloads", 0): (6, 7),
    ("wsat", "workloads", 0, "name"): (6, 7),
    ("wsat", "workloads", 1): (7, 7),
    ("wsat", "workloads", 2, "k"): (9, 8),
}


@pytest.mark.parametrize(("path", "place"), TOML_PLACES.items(), ids=str)
def test_where_toml_says_what(path, place) -> None:
    text = TOML.replace("é = 1\n", "")
    assert read_toml(text).places[path] == SourcePosition(*place)


@pytest.mark.parametrize(("path", "place"), YAML_PLACES.items(), ids=str)
def test_where_yaml_says_what(path, place) -> None:
    assert read_yaml(YAML).places[path] == SourcePosition(*place)


def test_a_place_that_is_not_known_is_that_of_what_it_lies_in() -> None:
    text = read_yaml(YAML)
    assert text.place_of(("wsat", "workloads", 2, "missing", "deeper")) == text.places["wsat", "workloads", 2]
    assert text.place_of(("nowhere",)) == SourcePosition(1, 1)


def test_values_are_those_that_other_readers_find() -> None:
    text = TOML.replace("é = 1\n", "")
    assert read_toml(text).content == tomllib.loads(text)
    assert read_yaml(YAML).content == yaml.safe_load(YAML)


@pytest.mark.full_matrix(most=3)
@pytest.mark.parametrize(
    ("read", "text", "place", "says"),
    [
        (read_toml, "a = 1\nb = \n", (2, 5), "Invalid value"),
        (read_toml, "a = 1\na = 2\n", (2, 6), "overwrite"),
        (read_toml, "a = 1\nb", (2, 1), "Expected"),
        (read_toml, "a = " + "[" * 100_000, (1, 1), "too deep"),
        (read_yaml, "a: 1\nb: {\n", (3, 1), "expected"),
        (read_yaml, "a: 1\na: 2\n", (2, 1), "given twice"),
        (read_yaml, "a: &x 1\nb: *x\n", (1, 4), "alias"),
        (read_yaml, "a: &x [*x]\n", (1, 4), "alias"),
        (read_yaml, "? [1]\n: 2\n", (1, 3), "a key must be a word"),
        (read_yaml, "- 1\n", (1, 1), "not a table"),
        (read_yaml, "a: " + "[" * 100_000, (1, 1), "too deep"),
        (read_yaml, "a: 1\n---\nb: 2\n", (2, 1), "document"),
        (read_yaml, "a: !!python/object:os.system x\nb: [\n", (3, 1), "expected"),
    ],
)
def test_what_can_not_be_read_is_told_with_its_place(read, text, place, says) -> None:
    with pytest.raises(PlacedError, match=says) as caught:
        read(text)
    assert caught.value.place == SourcePosition(*place)


def test_a_tag_makes_no_object() -> None:
    assert read_yaml("a: !!python/object/apply:os.getcwd []\n").content == {"a": []}


@pytest.mark.parametrize("read", [read_toml, read_yaml])
@given(text=st.one_of(st.text(), st.text(alphabet="abé:=[]{},\"'\n -#&*!|>?%@1.")))
def test_any_text_is_read_or_refused(read, text) -> None:
    with contextlib.suppress(PlacedError):
        placed = read(text)
        assert set(placed.places) == set(_paths(placed.content))


WORDS = st.text(alphabet=string.ascii_letters + " é.\"'#:", max_size=5)
KEYS = WORDS.filter(bool)
CONTENTS: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    KEYS,
    st.recursive(
        st.integers(-9, 9) | st.booleans() | WORDS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
        max_leaves=8,
    ),
    max_size=4,
)


@given(content=CONTENTS)
def test_every_key_of_json_which_is_yaml_is_found_where_it_stands(content) -> None:
    text = json.dumps(content, indent=1, ensure_ascii=False)
    placed = read_yaml(text)
    assert placed.content == content
    lines = text.splitlines()
    for path, place in placed.places.items():
        if isinstance(path[-1], str):
            assert lines[place.line - 1][place.column - 1 :].startswith(
                json.dumps(path[-1], ensure_ascii=False)
            )


@given(content=CONTENTS)
def test_every_key_of_toml_is_found_where_it_stands(content) -> None:
    text = "".join(f"{_toml(key)} = {_toml(value)}\n" for key, value in content.items())
    placed = read_toml(text)
    assert placed.content == content
    lines = text.splitlines()
    for path, place in placed.places.items():
        if isinstance(path[-1], str):
            assert lines[place.line - 1][place.column - 1 :].startswith(_toml(path[-1]))


def _toml(value: Any) -> str:
    """Inline TOML, which strings, numbers and lists share with JSON."""
    match value:
        case dict():
            return "{" + ", ".join(f"{_toml(key)} = {_toml(inner)}" for key, inner in value.items()) + "}"
        case list():
            return "[" + ", ".join(_toml(inner) for inner in value) + "]"
        case _:
            return json.dumps(value)


def _paths(value: Any, path: Path = ()) -> list[Path]:
    """The way to each key and each entry of a list."""
    entries: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        entries = list(value.items())
    elif isinstance(value, list):
        entries = list(enumerate(value))
    return [way for key, inner in entries for way in ((*path, key), *_paths(inner, (*path, key)))]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('operator: "\\ud800"\n', SourcePosition(1, 11)),
        ('a:\n  - "x\\udfff"\n', SourcePosition(2, 5)),
        ('"\\udc00": 1\n', SourcePosition(1, 1)),
    ],
)
def test_half_a_surrogate_pair_in_yaml_is_refused_at_its_place(text, place) -> None:
    with pytest.raises(PlacedError, match="half a surrogate pair") as refused:
        read_yaml(text)
    assert refused.value.place == place


@pytest.mark.parametrize("read", [read_toml, read_yaml])
def test_a_number_of_thousands_of_digits_is_refused(read) -> None:
    sign = "=" if read is read_toml else ":"
    with pytest.raises(PlacedError):
        read(f"seed{sign} {'9' * 5000}\n")
