"""The kinds of values that conditions have: their limits, their words, their place in the help."""

from enum import StrEnum
from typing import Annotated, Any, Final, Literal

from msgspec import Meta
from msgspec.structs import replace

from openpts.fields import readers
from openpts.fields.field import ValueType
from openpts.fields.parsing import amount_bytes
from openpts.fields.workload_table import WorkloadTable, WorkloadWord
from openpts.units import S_PER_YEAR

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
SECONDS_OR_NONE: Final = replace(SECONDS, read=readers.seconds_or_none_ns, limits={"ge": 0, "le": S_PER_YEAR})
MILLISECONDS: Final = ValueType(
    float,
    readers.milliseconds_ns,
    readers.milliseconds_text,
    "MS",
    {"gt": 0, "le": 1_000_000},
    ("_ns", "_ms"),
)
SIZE: Final = ValueType(str, readers.block_size_bytes, readers.size_text, "SIZE", units=("_bytes", ""))
AMOUNT: Final = replace(SIZE, read=amount_bytes)
SWITCH: Final = ValueType(bool, show=lambda value: "yes" if value else "no")
WORKLOAD: Final = ValueType(WorkloadWord | WorkloadTable, metavar="WORKLOAD")
ELEMENT: Final = ValueType(str, metavar="ELEMENT")
