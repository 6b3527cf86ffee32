"""What a parameter is: a value in the operator's units, its limits, its help, and what it sets.

A parameter is written down once, as a field of the table of its test. Options, plan files and their schema
are made from that.
"""

import typing
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

_SETTING: Final = "setting"

Read = Callable[[str, Any], Any]
"""Turns a value into that of a field; the first argument is the parameter's name, for what is refused."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a parameter does to conditions.

    ``change`` takes the parameter's name as the operator wrote it, the value and the conditions, and raises
    UsageError where the value makes no sense. ``show`` is the value that conditions have, as on the command
    line; empty where they have none. ``field`` is what is changed.
    """

    field: str
    change: Callable[[str, Any, Any], Any]
    show: Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a test. ``type`` is that of a value in a plan file, with its limits."""

    name: str
    type: Any
    description: str
    setting: Setting

    @property
    def option(self) -> str:
        """Its name on the command line."""
        return f"--{self.name.replace('_', '-')}"


@cache
def parameters_of(table: type[Struct]) -> dict[str, Parameter]:
    """The parameters of a table, in the order in which they are applied."""
    found = {}
    for name, hint in typing.get_type_hints(table, include_extras=True).items():
        annotated = next(arg for arg in typing.get_args(hint) if arg is not msgspec.UnsetType)
        info = msgspec.inspect.type_info(annotated)
        assert isinstance(info, msgspec.inspect.Metadata)  # noqa: S101 tables have nothing else
        assert info.extra_json_schema is not None  # noqa: S101 narrows the type: `sets` and its kin put it there
        assert info.extra is not None  # noqa: S101 likewise
        found[name] = Parameter(name, annotated, info.extra_json_schema["description"], info.extra[_SETTING])
    order = list(table.__struct_fields__)
    return dict(sorted(found.items(), key=lambda item: order.index(item[0])))


def sets(field: str, description: str, read: Read, show: Callable[[Any], str] = str, **limits: Any) -> Meta:
    """The annotation of a parameter that sets one field; ``limits`` are those of msgspec.Meta."""

    def change(name: str, value: Any, conditions: Any) -> Any:
        return replace(conditions, **{field: read(name, value)})

    def shown(conditions: Any) -> str:
        value = getattr(conditions, field)
        return "" if value is None else show(value)

    return changes(Setting(field, change, shown), description, **limits)


def changes(setting: Setting, description: str, **limits: Any) -> Meta:
    """The annotation of a parameter that does more than to set a field."""
    return Meta(description=description, extra={_SETTING: setting}, **limits)


def as_it_is(_name: str, value: Any) -> Any:
    """A value that needs no reading."""
    return value
