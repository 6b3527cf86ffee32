"""Compares the conditions of a run with those of the specification: the ledger of shortenings."""

import math
import re
from collections.abc import Iterator, Sequence, Set
from typing import Any, Final, Generic, TypeVar

from msgspec import Struct

from openpts.fields.conditions import Conditions
from openpts.fields.field import Field, fields_of
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.stimulus import ActiveRange
from openpts.vocabulary.verdict import Deviation
from openpts.vocabulary.workload import condition_text


class Rule(Struct, frozen=True):
    """A requirement on one field of the conditions, and what breaking it does to the results.

    ``field`` may lead into one of several: ``groups.1.duration_ns``. ``more_is_allowed``: only less than the
    standard's deviates. ``as_in`` is the field of the same conditions that this one has to be like, if it is
    not the standard's value that binds.
    """

    field: str
    rule_id: str
    clause: str
    effect: str
    more_is_allowed: bool = False
    as_in: str = ""

    @property
    def name(self) -> str:
        """The field of the conditions itself."""
        return self.field.split(".", 1)[0]

    def entry(self, used: Conditions, standard: Conditions) -> Deviation | None:
        """The entry of the ledger, if the conditions used break the rule."""
        ours = _value(used, self.field)
        theirs = _value(used, self.as_in) if self.as_in else _value(standard, self.field)
        if ours == theirs or (self.more_is_allowed and _is_more(ours, theirs)):
            return None
        required, text = _text_at(used, self.field, theirs), _text_at(used, self.field, ours)
        return Deviation(self.rule_id, self.clause, required, text, self.effect)


RULES_OF_ALL: Final = (
    Rule("time_scale", "PTS-GEN-01", "1.1", "nothing lasts, or is repeated, as the specification has it"),
    Rule("write_cache_enabled", "PTS-CACHE-01", "3.7", "a volatile cache takes writes, or does not"),
    Rule("active_range", "PTS-AR-01", "3.4", "over-provisioning in effect differs"),
    Rule("segments", "PTS-AR-01", "3.4", "fewer LBAs are accessed than the active range has"),
    Rule("data", "PTS-DAT-01", "3.5", "drives that compress or deduplicate do less work, or more"),
)
"""What binds every test; a test's own rule for the same field comes in place of it."""

_OTHER_TEST: Final = "figures compare only with those of runs that were made in the same way"


def deviations(used: Conditions, standard: Conditions, rules: Sequence[Rule]) -> tuple[Deviation, ...]:
    """One entry for each rule that the conditions used break; beyond the specification, for each change."""
    own = {rule.name for rule in rules}
    everything = (*(rule for rule in RULES_OF_ALL if rule.name not in own), *rules)
    entries = tuple(entry for rule in everything if (entry := rule.entry(used, standard)) is not None)
    if used.of_specification:
        return entries
    return (*entries, *_changes(used, standard, {rule.name for rule in everything}))


def _changes(used: Conditions, standard: Conditions, ruled: Set[str]) -> Iterator[Deviation]:
    """What a test of practice does in another way than openpts has defined it."""
    for name, field in fields_of(type(used)).items():
        if name in ruled or field.free or name in used.meaningless:
            continue
        required, text = (_named(name, getattr(one, name), field) for one in (standard, used))
        if text != required:
            yield Deviation("PTS-GEN-01", "1.1", required, text, _OTHER_TEST)


def _value(conditions: Conditions, field: str) -> Any:
    value: Any = conditions
    for key in field.split("."):
        value = value[int(key)] if key.isdigit() else getattr(value, key)
    return value


def shortened(used: Conditions, standard: Conditions) -> bool:
    """Whether durations, amounts or repetitions are below the standard's.

    Fewer rounds alone are not: they only matter where steady state is not reached, and the ledger has them.
    """
    pairs = zip(_amounts(used), _amounts(standard), strict=False)
    return used.time_scale < 1 or any(ours < theirs for ours, theirs in pairs)


def _amounts(conditions: Struct) -> Iterator[float]:
    """Durations and amounts, also those of wait states and access groups, in the order of the fields.

    One that ends nothing is more than any other.
    """
    unscaled = getattr(conditions, "unscaled", ())
    amounts = {name for name, field in fields_of(type(conditions)).items() if field.amount}
    for name in conditions.__struct_fields__:
        value = getattr(conditions, name)
        if isinstance(value, tuple) and name in amounts:
            yield len(value)
            for entry in value:
                yield from _amounts(entry)
        elif (name.endswith("_ns") and name not in unscaled) or name in amounts:
            yield math.inf if value is None else value


def _is_more(ours: Any, theirs: Any) -> bool:
    """Of several, all that the standard has, in whatever order, and others beside them."""
    return set(ours) >= set(theirs) if isinstance(ours, tuple) else bool(ours > theirs)


_UNIT: Final = re.compile(r"_(ns|bytes|pct)$")


def _named(name: str, value: object, field: Field) -> str:
    """A value that says what it is of."""
    if field.text:
        return _text(name, value, field)
    text = _UNIT.sub("", name).replace("_", " ")
    return f"{text}: {condition_text(name, value)}{' %' if name.endswith('_pct') else ''}"


def _text(name: str, value: object, field: Field) -> str:
    if callable(field.text):
        return field.text(value)
    return (field.text or "{}").format(condition_text(name, value))


def _text_at(conditions: Struct, path: str, value: object) -> str:
    """The value at the path, which may lead into one of several."""
    name, _, inside = path.partition(".")
    if inside:
        number, _, of_entry = inside.partition(".")
        text = _text_at(getattr(conditions, name)[int(number)], of_entry, value)
        return f"{name.replace('_', ' ').removesuffix('s')} {int(number) + 1}: {text}"
    return _text(name, value, fields_of(type(conditions))[name])


C = TypeVar("C", bound=Conditions)


class ByClass(Struct, frozen=True):
    """A value that the classes have apart."""

    enterprise: Any
    client: Any

    def of(self, drive_class: DriveClass) -> Any:
        """The value for a drive class."""
        return self.enterprise if drive_class is DriveClass.ENTERPRISE else self.client


WHOLE: Final = ActiveRange(0, 100)
RANGE_BY_CLASS: Final = ByClass(WHOLE, ActiveRange(0, 75))
RECOMMENDED_TC: Final = ByClass(4, 2)
RECOMMENDED_QD: Final = ByClass(32, 16)
_CACHE_BY_CLASS: Final = ByClass(enterprise=False, client=True)


class Standard(Generic[C]):
    """Called with a drive class and a seed, it makes conditions of ``kind`` with these values of fields.

    Without others, the volatile cache is off for the enterprise class, and the whole drive is active.
    """

    def __init__(self, kind: type[C], /, **values: Any) -> None:
        self._kind = kind
        self._values = {"write_cache_enabled": _CACHE_BY_CLASS, "active_range": WHOLE, **values}

    def __call__(self, drive_class: DriveClass, seed: int) -> C:
        """The conditions for a class."""
        of_class = {
            name: value.of(drive_class) if isinstance(value, ByClass) else value
            for name, value in self._values.items()
        }
        return self._kind(drive_class=drive_class, seed=seed, **of_class)
