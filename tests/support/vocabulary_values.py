"""Any value of any type of the vocabulary: what a test of storage must survive, whatever is added to it."""

import types
from collections.abc import Mapping
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st
from msgspec import UNSET, Struct, UnsetType

# What SQLite's INTEGER holds; all that is counted or timed in ns stays below.
INTEGERS = st.integers(0, 2**63 - 1)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
SCALARS = {
    bool: st.booleans(),
    int: INTEGERS,
    float: FLOATS,
    str: TEXTS,
    bytes: st.binary(max_size=40),
    type(None): st.none(),
    UnsetType: st.just(UNSET),
}


def values_of(kind: Any, **given: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Values of a scalar, a union, a tuple, a mapping, an enumeration, a struct or a dataclass.

    ``given`` replaces what fields of the outermost struct or dataclass may hold.
    """
    if kind in SCALARS:
        return SCALARS[kind]
    if get_origin(kind) in {Union, types.UnionType}:
        return st.one_of(*(values_of(member) for member in get_args(kind)))
    if get_origin(kind) is tuple:
        members = get_args(kind)
        if members[-1] is Ellipsis:
            return st.lists(values_of(members[0]), max_size=3).map(tuple)
        return st.tuples(*map(values_of, members))
    if get_origin(kind) in {dict, Mapping}:
        return st.dictionaries(*(values_of(member) for member in get_args(kind)), max_size=3)
    if get_origin(kind) is Literal:
        return st.sampled_from(get_args(kind))
    if issubclass(kind, Enum):
        return st.sampled_from(kind)
    hints = get_type_hints(kind)
    assert issubclass(kind, Struct), kind
    return st.builds(
        kind,
        **{name: given[name] if name in given else values_of(hints[name]) for name in kind.__struct_fields__},
    )
