"""What a condition of a test is called, its kind, how an operator gives it, how the ledger words it.

A condition is written down once, as the annotation of its field: ``qd: Annotated[int, Field("Queue depth",
...)]``. Options, plan files with their schema, the rows of the set-up page and the texts of the ledger are
made of that.
"""

import dataclasses
import inspect
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, Final, Literal, Self

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from openpts.fields import readers
from openpts.fields.parsing import amount_bytes
from openpts.fields.readers import WorkloadTable, WorkloadWord
from openpts.units import NS_PER_MS, NS_PER_S, S_PER_YEAR

_REST: Final = "-- "
"""In front of the name of an argument: it is all that comes behind ``--``."""

Change = Callable[[str, Any, Any], Any]
"""Takes the parameter's name as the operator wrote it, the value and the conditions; returns the new ones.

Raises UsageError where the value makes no sense.
"""


class ValueType(Struct, frozen=True, eq=False):
    """Values of one unit: how an operator writes them.

    ``type`` is that of a value in a plan file and ``limits`` are those of msgspec.Meta; ``read`` makes the
    field's value of it, with the parameter's name for what is refused, and ``show`` the reverse, as on the
    command line. ``metavar`` is the value's placeholder in the help. ``units`` are those at the end of the
    field's name and of the parameter's: ``rest_ns`` is given as ``rest_seconds``. ``beside`` makes of a value
    that names files one that does so from anywhere, if it is written in a file in that folder.
    """

    type: Any
    read: Callable[[str, Any], Any] = lambda _name, value: value
    show: Callable[[Any], str] = str
    metavar: str | None = "N"
    limits: Mapping[str, Any] = msgspec.field(default_factory=dict)
    units: tuple[str, str] = ("", "")
    beside: Callable[[Any, str], Any] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """One condition of a test, or what conditions depend on.

    ``label`` is its name on the set-up page; empty where that page shows it elsewhere. With ``help`` and
    ``kind`` an operator may set it, under ``name`` if that is not the field's in the operator's unit;
    ``field`` is the field that it sets, of a condition its own. ``change`` and ``show`` are given where the
    value is not simply that of the field; ``show`` is the value of conditions as on the command line, empty
    where there is none. ``text`` words its value for the ledger, with the value in braces. ``amount``: less
    of it is a shorter test. ``free`` says why a change is no deviation, where no rule of the test has it.
    ``rare``: it is for plan files; the command line takes it as well, but its help does not list it.
    ``section`` is that of the help which has what most runs need; others are shown by ``--help-all`` alone.
    ``argument``: the command line takes it as its first argument, under that name in the help, and not as an
    option; with -- in front of it, all words behind -- are its value.
    """

    label: str
    help: str = ""
    kind: ValueType | None = None
    _: KW_ONLY
    name: str = ""
    field: str = ""
    examples: Sequence[Any] = ()
    change: Change | None = None
    show: Callable[[Any], str] | None = None
    text: str | Callable[[Any], str] = ""
    amount: bool = False
    free: str = ""
    rare: bool = False
    section: str = ""
    argument: str = ""

    @property
    def is_rest(self) -> bool:
        """Whether its value is all that comes behind ``--`` on the command line: words of a command."""
        return self.argument.startswith(_REST)

    @property
    def option(self) -> str:
        """The name on the command line."""
        if self.is_rest:
            return self.argument.removeprefix(_REST).partition(" ")[0]
        return self.argument or f"--{self.name.replace('_', '-')}"

    @property
    def value(self) -> ValueType:
        """How an operator writes its values, of one that may be set."""
        assert self.kind is not None  # noqa: S101 narrows the type: a field that is offered has one
        return self.kind

    @property
    def type(self) -> Any:
        """The type of a value in a plan file, with its limits and its description."""
        examples = list(self.examples) or None
        return Annotated[self.value.type, Meta(description=self.help, examples=examples, **self.value.limits)]

    def but(self, **changes: Any) -> Self:
        """The same condition as another test has it."""
        return dataclasses.replace(self, **changes)

    def applied(self, name: str, value: Any, conditions: Any) -> Any:
        """The conditions with the value. Raises UsageError, with ``name``, where it makes no sense."""
        if self.change is not None:
            return self.change(name, value, conditions)
        return replace(conditions, **{self.field: self.value.read(name, value)})

    def shown(self, conditions: Any) -> str:
        """The value that conditions have."""
        if self.show is not None:
            return self.show(conditions)
        value = getattr(conditions, self.field)
        return "" if value is None else self.value.show(value)


@cache
def fields_of(conditions: type[Struct]) -> dict[str, Field]:
    """What is said of each field, in the order of the conditions."""
    hints = typing.get_type_hints(conditions, include_extras=True)
    notes = {name: getattr(hints[name], "__metadata__", ()) for name in conditions.__struct_fields__}
    return {name: one for name, all_ in notes.items() for one in all_ if isinstance(one, Field)}


@cache
def parameters_of(conditions: type[Struct]) -> dict[str, Field]:
    """What an operator may set by its name, in the order in which it is applied and listed.

    A class has its own behind those of the class that it extends: as ``parameters`` lists them, where ``...``
    is what isn't named there, or else its fields that have a help.
    """
    bases = [base for base in reversed(conditions.__mro__) if issubclass(base, Struct)]
    listed = [entry for base in bases for entry in _listed(base)]
    found = [
        _named(entry, fields_of(conditions)[entry]) if isinstance(entry, str) else entry for entry in listed
    ]
    unused: frozenset[str] = getattr(conditions, "unused", frozenset())
    return {one.name: one for one in found if one.field not in unused}


def _listed(base: type[Struct]) -> Iterator[str | Field]:
    listed = vars(base).get("parameters", (...,))
    for entry in listed:
        if entry is ...:
            fields, own = fields_of(base), inspect.get_annotations(base)
            yield from (name for name in own if name in fields and fields[name].help and name not in listed)
        else:
            yield entry


def _named(field: str, one: Field) -> Field:
    ours, theirs = one.value.units
    return one.but(name=one.name or field.removesuffix(ours) + theirs, field=field)


_MOST_VALUES: Final = 64


def _number_text(value: float) -> str:
    return f"{value:.12g}"


def count(least: int, most: int) -> ValueType:
    """A whole number of things."""
    return ValueType(int, show=_number_text, limits={"ge": least, "le": most})


def number(metavar: str = "N", **limits: float) -> ValueType:
    """A number that needn't be whole."""
    return ValueType(float, show=_number_text, metavar=metavar, limits=limits)


def percent(**limits: float) -> ValueType:
    """A share in per cent."""
    return number("PCT", **limits)


def one_of(*words: StrEnum) -> ValueType:
    """One of these words."""
    kind = type(words[0])
    return ValueType(Literal[tuple(map(str, words))], lambda _name, word: kind(word), metavar=None)


def listed(entry: ValueType, *, least: int = 1, most: int = _MOST_VALUES) -> ValueType:
    """Values in an order, each there once; on the command line they stand between commas."""

    def read(name: str, values: list[Any]) -> tuple[Any, ...]:
        return readers.without_repeats(name, tuple(entry.read(name, value) for value in values))

    def beside(values: list[Any], folder: str) -> list[Any]:
        return values if entry.beside is None else [entry.beside(value, folder) for value in values]

    return ValueType(
        list[Annotated[entry.type, Meta(**entry.limits)] if entry.limits else entry.type],  # type: ignore[misc]
        read,
        lambda values: ",".join(entry.show(value) for value in values),
        f"{entry.metavar},...",
        {"min_length": least, "max_length": most},
        entry.units,
        beside,
    )


THREADS: Final = count(1, 1024)
DEPTH: Final = count(1, 4096)
ROUNDS: Final = count(1, 10_000)
FILLS: Final = number(gt=0, le=1000)
FILLS_OR_NONE: Final = ValueType(
    Annotated[float, Meta(gt=0, le=1000)] | Literal["none"],
    lambda _name, value: None if value == "none" else value,
    lambda value: "none" if value is None else _number_text(value),
    "N|none",
)
PASSES: Final = number(ge=0, le=1000)
WHOLE_PERCENT: Final = ValueType(int, metavar="PCT", limits={"ge": 0, "le": 100})
SECONDS: Final = ValueType(
    float,
    readers.seconds_ns,
    readers.seconds_text,
    "SECONDS",
    {"ge": 0.001, "le": S_PER_YEAR},
    ("_ns", "_seconds"),
)
SECONDS_OR_NONE: Final = replace(
    SECONDS, read=lambda _name, seconds: round(seconds * NS_PER_S), limits={"ge": 0, "le": S_PER_YEAR}
)
MILLISECONDS: Final = ValueType(
    float,
    lambda _name, milliseconds: max(1, round(milliseconds * NS_PER_MS)),
    lambda duration_ns: f"{duration_ns / NS_PER_MS:.9g}",
    "MS",
    {"gt": 0, "le": 1_000_000},
    ("_ns", "_ms"),
)
SIZE: Final = ValueType(str, readers.block_size_bytes, readers.size_text, "SIZE", units=("_bytes", ""))
AMOUNT: Final = replace(SIZE, read=amount_bytes)
SWITCH: Final = ValueType(bool, show=lambda value: "yes" if value else "no")
WORKLOAD: Final = ValueType(WorkloadWord | WorkloadTable, metavar="WORKLOAD")
ELEMENT: Final = ValueType(str, metavar="ELEMENT")
